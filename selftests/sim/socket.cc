// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/abi/sock.h, played: locks, sleeping and waking, and the system calls.
#include "socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernel/abi/tcp.h"
#include "trace.hpp"
#include "work_queue.hpp"

namespace sim {

// ---- Wait queues --------------------------------------------------------------------------------

WaitQueue::Place WaitQueue::add(const Entry &entry)
{
	if (entry.exclusive)
		return entries_.insert(entries_.end(), entry);
	return entries_.insert(entries_.begin(), entry);
}

bool WaitQueue::has_hook(const smc_wake_hook *hook) const
{
	return std::any_of(entries_.begin(), entries_.end(),
			   [hook](const Entry &entry) { return entry.hook == hook; });
}

void WaitQueue::remove_hook(const smc_wake_hook *hook)
{
	entries_.remove_if([hook](const Entry &entry) { return entry.hook == hook; });
}

void WaitQueue::wake(u32 events, bool all)
{
	Fiber *waker = scheduler().current();
	const bool was_in_hook = waker != nullptr && waker->in_hook;
	bool one_exclusive = false;

	if (waker != nullptr)
		waker->in_hook = true;
	for (auto at = entries_.begin(); at != entries_.end();) {
		const auto place = at++;

		if (place->hook != nullptr) {
			if (place->fn(place->hook))
				entries_.erase(place);
		} else if ((place->events & events) != 0 &&
			   (all || !(place->exclusive && one_exclusive))) {
			one_exclusive = one_exclusive || place->exclusive;
			scheduler().wake(place->fiber);
		}
	}
	if (waker != nullptr)
		waker->in_hook = was_in_hook;
}

} // namespace sim

using namespace sim;

// ---- State beside the socket --------------------------------------------------------------------

void *smc_sock_state(struct socket *sock)
{
	return sock->state;
}

void *smc_sock_publish_state(struct socket *sock, void *state)
{
	if (sock->state == nullptr)
		sock->state = state;
	return sock->state;
}

void smc_sock_clear_state(struct socket *sock)
{
	sock->state = nullptr;
}

int smc_sock_ss(const struct socket *sock)
{
	return sock->ss;
}

void smc_sock_set_ss(struct socket *sock, int state)
{
	sock->ss = state;
}

bool smc_sock_nonblock(const struct socket *sock)
{
	return sock->nonblock;
}

void smc_sock_fall(struct socket *sock)
{
	sock->ours = false;
}

void smc_sock_make_plain(struct socket *new_sock)
{
	new_sock->ours = false;
}

// ---- The sock -----------------------------------------------------------------------------------

struct sock *smc_sock_sk(const struct socket *sock)
{
	return sock->sk;
}

net *smc_sk_net(const struct sock *sk)
{
	return sk->net;
}

void smc_sk_hold(struct sock *sk)
{
	sk->references++;
}

void smc_sk_put(struct sock *sk)
{
	if (--sk->references > 0)
		return;
	if (sk->references < 0 || !sk->dead)
		fail("a sock loses its last reference too early");
	socket_counts().socks--;
	delete sk;
}

void smc_sk_lock(struct sock *sk)
{
	Fiber *fiber = scheduler().current();

	if (fiber == nullptr || fiber->is_atomic() || !fiber->held.empty())
		sim::fail("the sock's lock is taken under another");
	// A user may keep it for ever, and there are so many work items at a time.
	if (in_work_item() && sk->socket != nullptr && sk->socket->of_user)
		fail("%s waits for a lock that a user may keep", fiber->name.c_str());
	scheduler().maybe_yield();
	if (sk->owner == fiber)
		fail("the sock is locked twice");
	while (sk->owner != nullptr)
		scheduler().yield();
	sk->owner = fiber;
}

bool smc_sk_try_lock(struct sock *sk, bool patient)
{
	Fiber *fiber = scheduler().current();
	const u64 until_us = scheduler().now_us() + (patient ? 1000 : 0);

	if (fiber == nullptr || fiber->is_atomic() || !fiber->held.empty())
		sim::fail("the sock's lock is taken under another");
	scheduler().maybe_yield();
	if (sk->owner == fiber)
		fail("the sock is locked twice");
	while (sk->owner != nullptr && scheduler().now_us() < until_us)
		scheduler().sleep_us(50);
	if (sk->owner != nullptr)
		return false;
	sk->owner = fiber;
	return true;
}

void smc_sk_unlock(struct sock *sk)
{
	if (sk->owner != scheduler().current())
		fail("the sock is unlocked by another");
	sk->owner = nullptr;
	scheduler().maybe_yield();
}

int smc_sk_state(const struct sock *sk)
{
	return sk->state;
}

bool smc_sk_is_shut(const struct sock *sk)
{
	return sk->shut_rcv || sk->shut_snd;
}

int smc_sk_error(const struct sock *sk)
{
	return sk->err;
}

int smc_sk_take_error(struct sock *sk)
{
	return -std::exchange(sk->err, 0);
}

void smc_sk_report_error(struct sock *sk, int err)
{
	sk->err = err;
	smc_sk_wake(sk, SMC_POLL_ERR);
}

long smc_sk_sndtimeo(const struct sock *, bool nonblock)
{
	return nonblock ? 0 : 1L << 40;
}

long smc_sk_rcvtimeo(const struct sock *, bool nonblock)
{
	return nonblock ? 0 : 1L << 40;
}

size_t smc_sk_rcvlowat(const struct sock *sk, bool waitall, size_t len)
{
	const size_t lowat =
		waitall ? len : std::min<size_t>(static_cast<size_t>(sk->rcvlowat), len);
	return lowat != 0 ? lowat : 1;
}

bool smc_sk_linger(const struct sock *sk, long *timeout_jiffies)
{
	*timeout_jiffies = sk->linger_ms;
	return sk->linger;
}

bool smc_process_exiting()
{
	return scheduler().current()->exiting;
}

u32 smc_sk_asked_sndbuf_bytes(const struct sock *sk)
{
	return sk->sndbuf_bytes;
}

u32 smc_sk_asked_rcvbuf_bytes(const struct sock *sk)
{
	return sk->rcvbuf_bytes;
}

u32 smc_sk_rcvbuf_limit_bytes(const struct sock *sk)
{
	return sk->rcvbuf_bytes != 0 ? 0 : 6U << 20;
}

bool smc_sk_nodelay(const struct sock *sk)
{
	return sk->nodelay;
}

bool smc_sk_corked(const struct sock *sk)
{
	return sk->corked;
}

bool smc_sk_urgent_inline(const struct sock *sk)
{
	return sk->urgent_inline;
}

u32 smc_sk_peek_offset(const struct sock *)
{
	return 0;
}

void smc_sk_move_peek_offset(struct sock *, u32, bool) {}

bool smc_sk_has_queued_error(const struct sock *)
{
	return false;
}

u32 smc_sk_max_backlog(const struct sock *sk)
{
	return sk->backlog;
}

// ---- Sleeping and waking ------------------------------------------------------------------------

// A jiffy is a millisecond here.
int smc_sk_sleep(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		 bool exclusive)
{
	Fiber *fiber = scheduler().current();

	if (*timeo_jiffies == 0)
		return -EAGAIN;
	if (sk->owner != fiber)
		fail("a wait without the sock's lock");
	struct socket *sock = sk->socket;
	scheduler().prepare();
	const auto place = sock->queue.add({.fiber = fiber, .exclusive = exclusive});
	int ret = 0;
	const bool there = ready(arg);
	if (!there && (fiber->signalled || world().fault(world().knobs.signal))) {
		ret = -EINTR;
	} else if (!there) {
		const u64 before_us = scheduler().now_us();
		std::optional<u64> deadline_us;
		if (*timeo_jiffies < 1L << 30)
			deadline_us = before_us + static_cast<u64>(*timeo_jiffies) * 1000;
		smc_sk_unlock(sk);
		if (!scheduler().block(deadline_us))
			*timeo_jiffies = 0;
		else if (deadline_us)
			*timeo_jiffies = std::max<long>(
				0, *timeo_jiffies -
					   static_cast<long>((scheduler().now_us() - before_us) /
							     1000));
		smc_sk_lock(sk);
	}
	sock->queue.remove(place);
	return ret;
}

int smc_sk_sleep_for_data(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg)
{
	return smc_sk_sleep(sk, timeo_jiffies, ready, arg, false);
}

int smc_sk_wait(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
		bool exclusive)
{
	int ret = 0;

	while (ret == 0 && !ready(arg))
		ret = smc_sk_sleep(sk, timeo_jiffies, ready, arg, exclusive);
	return ret;
}

void smc_sk_wake(struct sock *sk, u32 events)
{
	scheduler().maybe_yield();
	if (sk->socket != nullptr)
		sk->socket->queue.wake(events);
}

void smc_sk_set_nospace(struct sock *) {}

void smc_poll_register(file *, struct socket *, poll_table_struct *) {}

void smc_sk_sigurg(struct sock *) {}

namespace {

struct Hook {
	struct socket *sock;
	bool (*fn)(smc_wake_hook *hook);
};

Hook &played(smc_wake_hook *hook)
{
	return *reinterpret_cast<Hook *>(hook->opaque);
}

} // namespace

void smc_wake_hook_init(smc_wake_hook *hook, struct socket *sock, bool (*fn)(smc_wake_hook *hook))
{
	played(hook) = {.sock = sock, .fn = fn};
}

void smc_wake_hook_add(smc_wake_hook *hook)
{
	if (!played(hook).sock->queue.has_hook(hook))
		(void)played(hook).sock->queue.add({.hook = hook, .fn = played(hook).fn});
}

void smc_wake_hook_remove(smc_wake_hook *hook)
{
	played(hook).sock->queue.remove_hook(hook);
	scheduler().maybe_yield();
}

// ---- Messages -----------------------------------------------------------------------------------

namespace {

size_t whole(const msghdr *msg, size_t len)
{
	const size_t left = std::min(msg->length_bytes, msg->fault_at_bytes) - msg->done_bytes;
	return std::min(left, len);
}

} // namespace

u32 smc_msg_flags(const msghdr *msg)
{
	return msg->flags;
}

size_t smc_msg_copy_from(msghdr *msg, void *to, size_t len)
{
	const size_t n = whole(msg, len);

	if (scheduler().current()->is_atomic())
		fail("a copy from the user in atomic context");
	scheduler().maybe_yield();
	if (msg->fetch)
		msg->fetch();
	std::memcpy(to, msg->from + msg->done_bytes, n);
	msg->done_bytes += n;
	return n;
}

size_t smc_msg_copy_to(msghdr *msg, const void *from, size_t len)
{
	const size_t n = whole(msg, len);

	if (scheduler().current()->is_atomic())
		fail("a copy to the user in atomic context");
	scheduler().maybe_yield();
	std::memcpy(msg->to + msg->done_bytes, from, n);
	msg->done_bytes += n;
	return n;
}

void smc_msg_no_name(msghdr *) {}

bool smc_msg_control_is_good(struct sock *, msghdr *)
{
	return true;
}

void smc_msg_add_flags(msghdr *, u32) {}

bool smc_msg_wants_inq(const struct sock *, const msghdr *)
{
	return false;
}

void smc_msg_put_inq(const struct sock *, msghdr *, u32) {}

int smc_zerocopy_begin(struct sock *, const msghdr *, size_t, smc_zerocopy **)
{
	return 0;
}

void smc_zerocopy_end(smc_zerocopy *, bool) {}

int smc_sk_stream_error(struct sock *sk, u32, int err)
{
	if (err == -EPIPE) {
		const int pending = smc_sk_take_error(sk);
		return pending != 0 ? pending : err;
	}
	return err;
}

int smc_sk_receive_closed(struct sock *sk)
{
	if (sk->err != 0)
		return smc_sk_take_error(sk);
	return sk->shut_rcv ? 0 : -ENOTCONN;
}

int smc_put_user_int(int value, unsigned long arg)
{
	*reinterpret_cast<int *>(arg) = value;
	return 0;
}

long smc_splice_read_copy(struct socket *, s64 *, pipe_inode_info *, size_t, unsigned int)
{
	return -EINVAL;
}

// ---- System calls -------------------------------------------------------------------------------

namespace sim {
namespace {

// Other processors do not stand still meanwhile: whoever asks again and again gets an answer.
void enter_kernel()
{
	scheduler().yield();
}

} // namespace

struct socket *sys_socket(net *host)
{
	socket_counts().sockets++;
	socket_counts().socks++;
	auto *sock = new struct socket;
	sock->sk = new struct sock(host);
	sock->sk->socket = sock;
	sock->ours = true;
	sock->of_user = true;
	return sock;
}

int sys_connect(struct socket *sock, net *host, u16 port)
{
	enter_kernel();
	sockaddr address{.host = host, .port = port};
	const int flags = sock->nonblock ? 00004000 : 0;

	return sock->ours ? smc_op_connect(sock, &address, sizeof(address), flags)
			  : smc_tcp_ops_connect(sock, &address, sizeof(address), flags);
}

int sys_connect_crossed(struct socket *sock, struct socket *other, bool one_sided)
{
	enter_kernel();
	sockaddr address{.host = other->sk->net, .meets = other->sk, .one_sided = one_sided};

	return sock->ours ? smc_op_connect(sock, &address, sizeof(address), 0)
			  : smc_tcp_ops_connect(sock, &address, sizeof(address), 0);
}

int sys_disconnect(struct socket *sock)
{
	enter_kernel();
	sockaddr address{.family = 0};

	return sock->ours ? smc_op_connect(sock, &address, sizeof(address), 0)
			  : smc_tcp_ops_connect(sock, &address, sizeof(address), 0);
}

int sys_listen(struct socket *sock, u16 port, int backlog)
{
	enter_kernel();
	sock->sk->port = port;
	return sock->ours ? smc_op_listen(sock, backlog) : smc_tcp_ops_listen(sock, backlog);
}

int sys_accept(struct socket *sock, struct socket **child)
{
	enter_kernel();
	auto *fresh = new struct socket;
	fresh->ours = true;
	fresh->of_user = true;
	socket_counts().sockets++;
	const int ret = smc_op_accept(sock, fresh, sock->nonblock ? 00004000 : 0, false);
	if (ret == 0) {
		*child = fresh;
		return 0;
	}
	// As the kernel releases a socket whose accept() failed.
	sys_close(fresh);
	return ret;
}

int sys_send(struct socket *sock, msghdr &msg)
{
	enter_kernel();
	if (sock->nonblock)
		msg.flags |= SMC_MSG_DONTWAIT;
	return sock->ours ? smc_op_sendmsg(sock, &msg, msg.length_bytes)
			  : smc_tcp_ops_sendmsg(sock, &msg, msg.length_bytes);
}

int sys_receive(struct socket *sock, msghdr &msg)
{
	enter_kernel();
	if (sock->nonblock)
		msg.flags |= SMC_MSG_DONTWAIT;
	const auto flags = static_cast<int>(msg.flags);
	return sock->ours ? smc_op_recvmsg(sock, &msg, msg.length_bytes, flags)
			  : smc_tcp_ops_recvmsg(sock, &msg, msg.length_bytes, flags);
}

u32 sys_poll(struct socket *sock)
{
	enter_kernel();
	return sock->ours ? smc_op_poll(nullptr, sock, nullptr)
			  : smc_tcp_ops_poll(nullptr, sock, nullptr);
}

bool sys_poll_wait(struct socket *sock, u32 events)
{
	Fiber *fiber = scheduler().current();
	const u32 wanted = events | SMC_POLL_ERR | SMC_POLL_HUP;

	scheduler().prepare();
	const auto place = sock->queue.add({.fiber = fiber, .events = wanted});
	bool there;
	while (!(there = (sys_poll(sock) & wanted) != 0) && !fiber->signalled)
		(void)scheduler().block();
	sock->queue.remove(place);
	return there;
}

int sys_shutdown(struct socket *sock, int how)
{
	enter_kernel();
	sock->calls++;
	const int ret = sock->ours ? smc_op_shutdown(sock, how) : smc_tcp_ops_shutdown(sock, how);
	sock->calls--;
	return ret;
}

// As kernel/sock_ops.c: TCP first, then the module.
void sys_cork(struct socket *sock, bool on)
{
	enter_kernel();
	smc_sk_lock(sock->sk);
	sock->sk->corked = on;
	smc_sk_unlock(sock->sk);
	if (sock->ours)
		(void)smc_op_option(sock, SMC_OPTION_CORK);
}

constexpr u64 kGrace_us = 100;

bool sys_leave(struct socket *sock)
{
	enter_kernel();
	if (sock->ours && smc_op_option(sock, SMC_OPTION_ULP) != 0)
		return false;
	smc_sk_lock(sock->sk);
	const bool first = !sock->left;
	if (first) {
		smc_op_stop_limiting(sock->state);
		// A grace period, for those who are asked on behalf of TCP.
		if (scheduler().random().one_in(2))
			scheduler().sleep_us(kGrace_us);
	}
	sock->left = true;
	smc_sk_unlock(sock->sk);
	if (first)
		smc_op_leave(sock->state);
	return true;
}

void sys_rcvlowat(struct socket *sock, int bytes)
{
	enter_kernel();
	smc_sk_lock(sock->sk);
	sock->sk->rcvlowat = bytes;
	// As kernel/sock_ops.c.
	if (sock->ours && smc_op_keep_rcvlowat(sock, bytes))
		sock->sk->rcvlowat = 1;
	smc_sk_unlock(sock->sk);
}

void sys_nodelay(struct socket *sock)
{
	enter_kernel();
	smc_sk_lock(sock->sk);
	sock->sk->nodelay = true;
	smc_sk_unlock(sock->sk);
	if (sock->ours)
		(void)smc_op_option(sock, SMC_OPTION_NODELAY);
}

int sys_ioctl(struct socket *sock, unsigned int command, int *value)
{
	enter_kernel();
	const auto arg = reinterpret_cast<unsigned long>(value);
	return sock->ours ? smc_op_ioctl(sock, command, arg)
			  : smc_tcp_ops_ioctl(sock, command, arg);
}

// A socket that fell later on keeps the module's release(); one that was plain from its accept() on
// never had anything to do with the module.
void sys_close(struct socket *sock)
{
	enter_kernel();
	while (sock->calls != 0)
		scheduler().yield();
	if (sock->ours || sock->state != nullptr)
		(void)smc_op_release(sock);
	else
		(void)smc_tcp_ops_release(sock);
	if (sock->state != nullptr || !sock->queue.empty())
		fail("a socket is closed with something left in it");
	socket_counts().sockets--;
	delete sock;
}

bool sys_uses_smc(const struct socket *sock)
{
	return sock->ours;
}

u64 connection_id(const struct socket *sock)
{
	return sock->sk->connection->id();
}

} // namespace sim
