// SPDX-License-Identifier: GPL-2.0-only
#include "calls.hpp"

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {
namespace {

// Time passes on other processors meanwhile: a caller that repeats a call gets on.
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
	return sock->ours ? smc_op_sendmsg(smc_sock_state(sock), sock, &msg, msg.length_bytes,
					   msg.flags, false)
			  : smc_tcp_ops_sendmsg(sock, &msg, msg.length_bytes);
}

int sys_receive(struct socket *sock, msghdr &msg)
{
	enter_kernel();
	if (sock->nonblock)
		msg.flags |= SMC_MSG_DONTWAIT;
	return sock->ours ? smc_op_recvmsg(smc_sock_state(sock), sock, &msg, msg.length_bytes,
					   msg.flags)
			  : smc_tcp_ops_recvmsg(sock, &msg, msg.length_bytes,
						static_cast<int>(msg.flags));
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

// As kernel/sock_option.c: TCP first, then the module.
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
		// A grace period, for functions that TCP calls.
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

// A socket that fell back later keeps the module's release(); one that was plain from its accept()
// on never used the module.
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
