// SPDX-License-Identifier: GPL-2.0-only
//
// Call: both ends of an SMC connection, used by one process.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/control.h"
#include "scheduler.hpp"
#include "shell/socket/smc_socket.hpp"
#include "tcp_connection.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace sim {

inline constexpr u16 kScriptPort = 8;

class Call {
public:
	Call(net *from, net *to, bool corked = false)
	{
		struct socket *listener = sys_socket(to);

		client_ = sys_socket(from);
		if (corked)
			sys_cork(client_, true);
		if (sys_listen(listener, kScriptPort, 1) != 0 ||
		    sys_connect(client_, to, kScriptPort) != 0 ||
		    sys_accept(listener, &server_) != 0)
			fail("script: no connection");
		sys_close(listener);
		if (!sys_uses_smc(client_) || !sys_uses_smc(server_))
			fail("script: a connection by TCP");
	}
	~Call()
	{
		if (client_ != nullptr)
			close_client();
		if (server_ != nullptr)
			close_server();
	}
	Call(const Call &) = delete;
	Call &operator=(const Call &) = delete;

	// The result of the client's send(), from memory that may have to be fetched first.
	int send(size_t bytes, u32 flags = 0, const std::function<void()> &fetch = {})
	{
		const std::vector<u8> buffer(bytes);
		msghdr msg{.flags = flags,
			   .from = buffer.data(),
			   .length_bytes = bytes,
			   .fetch = fetch};

		return sys_send(client_, msg);
	}
	// The same at the server.
	int send_back(size_t bytes, const std::function<void()> &fetch = {})
	{
		const std::vector<u8> buffer(bytes);
		msghdr msg{.from = buffer.data(), .length_bytes = bytes, .fetch = fetch};

		return sys_send(server_, msg);
	}
	void cork() { sys_cork(client_, true); }
	// Takes MSG_MORE back.
	void push() { smc_op_push(client_); }
	// The server reads so many bytes.
	void receive(size_t bytes)
	{
		std::vector<u8> buffer(bytes);
		msghdr msg{.flags = SMC_MSG_WAITALL, .to = buffer.data(), .length_bytes = bytes};
		const int n = sys_receive(server_, msg);

		if (n != static_cast<int>(bytes))
			fail("script: recv() says %d, not %zu", n, bytes);
	}
	// The error, or the end, that either end finds, or comes to.
	int find(bool server, u32 flags = SMC_MSG_DONTWAIT)
	{
		u8 byte;
		msghdr msg{.flags = flags, .to = &byte, .length_bytes = 1};

		return sys_receive(server ? server_ : client_, msg);
	}
	// The server consumes a byte without having read it.
	void break_contract() { smc::shell::SmcSocket::of(server_)->connection()->consume(1); }
	// As the server.
	void nothing_is_wrong(u32 wrong)
	{
		const u32 events = sys_poll(server_);

		if ((events & wrong) != 0)
			fail("script: poll() says %#x", events);
	}
	void end_is_clean()
	{
		u8 byte = 0;
		msghdr msg{.to = &byte, .length_bytes = 1};
		const int n = sys_receive(server_, msg);

		if (n != 0)
			fail("script: recv() says %d at the end", n);
		nothing_is_wrong(SMC_POLL_ERR);
	}
	[[nodiscard]] u32 client_events() { return sys_poll(client_); }
	// Sleeps until one of @events is set. False: a signal came.
	[[nodiscard]] bool client_polls(u32 events) { return sys_poll_wait(client_, events); }
	// The server's TCP connection.
	void tcp_is(int state)
	{
		if (server_->sk->state != state)
			fail("script: TCP is in state %d, not %d", server_->sk->state, state);
	}
	// Until it takes no more; returns how many bytes went.
	size_t fill()
	{
		constexpr u64 kMoment_us = 100'000;
		size_t total = 0;

		for (;;) {
			const int n = send(4096, SMC_MSG_DONTWAIT);
			if (n <= 0)
				break;
			total += static_cast<size_t>(n);
			scheduler().sleep_us(kMoment_us);
		}
		return total;
	}
	// Poll bits of the server's end.
	void is_reset()
	{
		if ((sys_poll(server_) & SMC_POLL_ERR) == 0)
			fail("script: nobody tells the peer that its data is lost");
	}
	[[nodiscard]] const std::shared_ptr<TcpConnection> &tcp() const
	{
		return client_->sk->connection;
	}
	void linger(u32 time_ms)
	{
		client_->sk->linger = true;
		client_->sk->linger_ms = time_ms;
	}
	void close_client() { sys_close(std::exchange(client_, nullptr)); }
	void close_server() { sys_close(std::exchange(server_, nullptr)); }
	void shut_client()
	{
		if (sys_shutdown(client_, 1) != 0)
			fail("script: shutdown() fails");
	}
	void break_off_tcp() { client_->sk->connection->break_off(); }
	// What sock_diag shows of both ends: one's tx has to match the other's rx.
	[[nodiscard]] smc_sock_info client() const { return snapshot(client_->sk); }
	[[nodiscard]] smc_sock_info server() const { return snapshot(server_->sk); }

private:
	static smc_sock_info snapshot(const struct sock *sk)
	{
		smc_sock_info info{};
		u64 cursor = 0;

		while (smc_ctl_sock_next(sk->net, &cursor, &info) == 1) {
			smc_sk_put(info.sk);
			if (info.sk == sk)
				return info;
		}
		fail("script: a socket is not listed");
	}

	struct socket *client_ = nullptr;
	struct socket *server_ = nullptr;
};

// Number of ends.
[[nodiscard]] inline s64 connections_of(const net *host)
{
	return host->stats[SMC_STAT_CONN_NEW] - host->stats[SMC_STAT_CONN_FREE];
}

} // namespace sim
