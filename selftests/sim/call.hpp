// SPDX-License-Identifier: GPL-2.0-only
//
// Call: both ends of a connection by SMC, in the hands of one process.
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

	// What the client's send() says.
	int send(size_t bytes, u32 flags = 0)
	{
		const std::vector<u8> buffer(bytes);
		msghdr msg{.flags = flags, .from = buffer.data(), .length_bytes = bytes};

		return sys_send(client_, msg);
	}
	// The same as the server, from memory that has to be fetched first.
	int send_back(size_t bytes, const std::function<void()> &fetch = {})
	{
		const std::vector<u8> buffer(bytes);
		msghdr msg{.from = buffer.data(), .length_bytes = bytes, .fetch = fetch};

		return sys_send(server_, msg);
	}
	void cork() { sys_cork(client_, true); }
	// What send() was told that more follows: nothing does.
	void push() { smc_op_push(client_); }
	// The server reads as much.
	void receive(size_t bytes)
	{
		std::vector<u8> buffer(bytes);
		msghdr msg{.flags = SMC_MSG_WAITALL, .to = buffer.data(), .length_bytes = bytes};
		const int n = sys_receive(server_, msg);

		if (n != static_cast<int>(bytes))
			fail("script: recv() says %d, not %zu", n, bytes);
	}
	// What the end of either finds.
	int find(bool server)
	{
		u8 byte;
		msghdr msg{.flags = SMC_MSG_DONTWAIT, .to = &byte, .length_bytes = 1};

		return sys_receive(server ? server_ : client_, msg);
	}
	// The server gives back a byte that it was not shown.
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
	// The server's TCP connection.
	void tcp_is(int state)
	{
		if (server_->sk->state != state)
			fail("script: TCP is in state %d, not %d", server_->sk->state, state);
	}
	// Until nothing more goes into it; how much went.
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
	// Polls, as the server, what went wrong.
	void is_reset()
	{
		if ((sys_poll(server_) & SMC_POLL_ERR) == 0)
			fail("script: nobody tells the peer that its data is lost");
	}
	void close_client() { sys_close(std::exchange(client_, nullptr)); }
	void close_server() { sys_close(std::exchange(server_, nullptr)); }
	void shut_client()
	{
		if (sys_shutdown(client_, 1) != 0)
			fail("script: shutdown() fails");
	}
	void break_off_tcp() { client_->sk->connection->break_off(); }
	// What an operator sees of both ends: tx is what one tells, rx what it was told.
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

// How many ends there are.
[[nodiscard]] inline s64 connections_of(const net *host)
{
	return host->stats[SMC_STAT_CONN_NEW] - host->stats[SMC_STAT_CONN_FREE];
}

} // namespace sim
