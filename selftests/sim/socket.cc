// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/abi/sock.h, simulated: state, locks, sleeping and waking.
#include "socket.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "kernel/abi/mem.h"
#include "memory.hpp"
#include "trace.hpp"
#include "work_queue.hpp"

namespace sim {

SocketCounts &socket_counts()
{
	static SocketCounts counts;
	return counts;
}

struct sock *new_sock(net *host)
{
	socket_counts().socks++;
	return new struct sock(host);
}

void wake(struct sock *sk, u32 events)
{
	if (sk->socket != nullptr)
		sk->socket->queue.wake(events);
}

void wake_all(struct sock *sk, u32 events)
{
	if (sk->socket != nullptr)
		sk->socket->queue.wake(events, true);
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
	// A user may hold it for ever, and the number of work items is limited.
	if (in_work_item() && sk->socket != nullptr && sk->socket->of_user)
		fail("%s waits for a lock that a user may keep", fiber->name.c_str());
	scheduler().maybe_yield();
	if (sk->owner == fiber)
		fail("the sock is locked twice");
	while (sk->owner != nullptr)
		scheduler().yield();
	sk->owner = fiber;
}

// Nobody spins for it here: it is the sock's lock, held by one who must not sleep.
bool smc_sk_try_lock_briefly(struct sock *sk, bool patient)
{
	if (!smc_sk_try_lock(sk, patient))
		return false;
	scheduler().current()->spinlocks++;
	begin_reading();
	return true;
}

void smc_sk_keep_lock(struct sock *sk)
{
	if (sk->owner != scheduler().current())
		fail("the sock's lock is kept by another");
	end_reading();
	scheduler().current()->spinlocks--;
	scheduler().maybe_yield();
}

void smc_sk_unlock_briefly(struct sock *sk)
{
	end_reading();
	scheduler().current()->spinlocks--;
	smc_sk_unlock(sk);
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

bool smc_sk_is_broken(const struct sock *sk)
{
	return sk->err != 0 || sk->state == SMC_TCP_CLOSE;
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

constexpr long kForEver_jiffies = 1L << 40;

long smc_sk_sndtimeo(const struct sock *sk, bool nonblock)
{
	const long set_jiffies = sk->sndtimeo_ms != 0 ? sk->sndtimeo_ms : kForEver_jiffies;

	return nonblock ? 0 : set_jiffies;
}

long smc_sk_rcvtimeo(const struct sock *sk, bool nonblock)
{
	const long set_jiffies = sk->rcvtimeo_ms != 0 ? sk->rcvtimeo_ms : kForEver_jiffies;

	return nonblock ? 0 : set_jiffies;
}

long smc_timeo_left(long timeo_jiffies, u64 began_ms)
{
	if (timeo_jiffies == kForEver_jiffies)
		return timeo_jiffies;
	return std::max(timeo_jiffies - static_cast<long>(smc_now_ms() - began_ms), 0L);
}

static size_t low_water_bytes(const struct sock *sk, bool waitall, size_t len)
{
	const size_t lowat =
		waitall ? len : std::min<size_t>(static_cast<size_t>(sk->rcvlowat), len);
	return lowat != 0 ? lowat : 1;
}

void smc_sk_receive_options(const struct sock *sk, const msghdr *, bool waitall, size_t len,
			    smc_receive_options *options)
{
	*options = {.low_water_bytes = low_water_bytes(sk, waitall, len),
		    .urgent_inline = sk->urgent_inline,
		    .moves_peek_offset = false,
		    .wants_inq = false};
}

void smc_sk_poll_options(const struct sock *sk, smc_poll_options *options)
{
	*options = {.low_water_bytes = low_water_bytes(sk, false, ~size_t{0}),
		    .died = smc_sk_state(sk) == SMC_TCP_CLOSE,
		    .error = smc_sk_error(sk) != 0};
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

u32 smc_sk_sndbuf_limit_bytes(const struct sock *sk)
{
	return sk->sndbuf_bytes != 0 ? 0 : 4U << 20;
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

u32 smc_sk_max_backlog(const struct sock *sk)
{
	return sk->backlog;
}

// ---- Sleeping and waking ------------------------------------------------------------------------

namespace {

// @events: what wakes it. A jiffy is a millisecond here.
int sleep_once(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg,
	       bool exclusive, u32 events, bool locked = true, std::function<bool()> concerns = {})
{
	Fiber *fiber = scheduler().current();

	if (*timeo_jiffies == 0)
		return -EAGAIN;
	if ((sk->owner == fiber) != locked)
		fail(locked ? "a wait without the sock's lock" : "a wait with the sock's lock");
	struct socket *sock = sk->socket;
	scheduler().prepare();
	const auto place = sock->queue.add({.fiber = fiber,
					    .events = events,
					    .exclusive = exclusive,
					    .concerns = std::move(concerns)});
	int ret = 0;
	const bool there = ready(arg);
	if (!there && (fiber->signalled || world().fault(world().knobs.signal))) {
		ret = -EINTR;
	} else if (!there) {
		const u64 before_us = scheduler().now_us();
		std::optional<u64> deadline_us;
		fiber->sleeps++;
		if (*timeo_jiffies < 1L << 30)
			deadline_us = before_us + static_cast<u64>(*timeo_jiffies) * 1000;
		if (locked)
			smc_sk_unlock(sk);
		if (!scheduler().block(deadline_us))
			*timeo_jiffies = 0;
		else if (deadline_us)
			*timeo_jiffies = std::max<long>(
				0, *timeo_jiffies -
					   static_cast<long>((scheduler().now_us() - before_us) /
							     1000));
		if (locked)
			smc_sk_lock(sk);
	}
	sock->queue.remove(place);
	return ret;
}

} // namespace

int smc_sk_sleep(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
		 bool (*concerns)(void *arg), void *arg, bool exclusive)
{
	return sleep_once(sk, timeo_jiffies, ready, arg, exclusive, ~0U, /*locked=*/true,
			  [=] { return concerns(arg); });
}

int smc_sk_await_data(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg)
{
	return sleep_once(sk, timeo_jiffies, ready, arg, false, ~SMC_POLL_OUT, false);
}

int smc_sk_wait_for_room(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg), void *arg)
{
	int ret = 0;

	while (ret == 0 && !ready(arg))
		ret = sleep_once(sk, timeo_jiffies, ready, arg, false,
				 ~(SMC_POLL_IN | SMC_POLL_PRI));
	return ret;
}

int smc_sk_wait(struct sock *sk, long *timeo_jiffies, bool (*ready)(void *arg),
		bool (*concerns)(void *arg), void *arg)
{
	int ret = 0;

	while (ret == 0 && !ready(arg))
		ret = sleep_once(sk, timeo_jiffies, ready, arg, false, ~0U, /*locked=*/true,
				 [=] { return concerns == nullptr || concerns(arg); });
	return ret;
}

void smc_sk_wake(struct sock *sk, u32 events)
{
	scheduler().maybe_yield();
	if (sk->socket != nullptr)
		sk->socket->queue.wake(events);
}

void smc_sk_set_nospace(struct sock *) {}

// Nobody polls here.
void smc_sk_busy_poll_by(struct sock *, u32) {}

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

// ---- TCP's answers
// --------------------------------------------------------------------------------

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
