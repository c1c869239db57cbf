// SPDX-License-Identifier: GPL-2.0-only
//
// The kernel's sockets, as far as the module can see: struct socket with its wait queue, and the
// sock under it with its side of a TCP connection.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "kernel/abi/sock.h"
#include "kernel/abi/types.h"
#include "scheduler.hpp"
#include "wait_queue.hpp"
#include "world.hpp"

namespace sim {

class TcpConnection;

} // namespace sim

// Where to connect to.
struct sockaddr {
	u16 family = 2;
	net *host = nullptr;
	u16 port = 0;
	// The peer connects to us, too. @one_sided: the first one's SYN is lost, and the second one
	// takes its SYN-ACK for a server's.
	struct sock *meets = nullptr;
	bool one_sided = false;
};

struct socket {
	struct sock *sk = nullptr;
	void *state = nullptr;
	int ss = SMC_SS_UNCONNECTED;
	bool ours = false; // ops are the module's
	bool left = false; // ops are TCP's, after it has fallen
	bool nonblock = false;
	bool of_user = false; // has a descriptor; else it is one of the module's own
	int calls = 0;        // of others; the last close() waits for them
	sim::WaitQueue queue;
};

struct sock {
	explicit sock(struct net *host) : net(host), memory_group(host->memory_group) {}

	struct net *net;
	u64 memory_group; // its cgroup
	int references = 1;
	int state = SMC_TCP_CLOSE;
	int err = 0;
	bool offers_smc = false; // syn_smc
	bool crossed = false;    // a SYN has come in place of a SYN-ACK
	bool peer_showed = true; // the option on that SYN
	bool shut_rcv = false;
	bool shut_snd = false;
	bool dead = false; // the user's side is closed
	struct socket *socket = nullptr;

	// The lock.
	sim::Fiber *owner = nullptr;

	// Options.
	bool nodelay = false;
	bool corked = false;
	bool urgent_inline = false;
	bool marked = false; // SO_MARK: not its address alone says how it is routed
	bool linger = false;
	u32 linger_ms = 0;
	u32 sndtimeo_ms = 0; // 0: for ever
	u32 rcvtimeo_ms = 0;
	u32 sndbuf_bytes = 0;
	u32 rcvbuf_bytes = 0;
	int rcvlowat = 1;

	// Listener.
	u16 port = 0;
	u32 backlog = 0;
	bool refuses_smc = false; // smc_hs_congested() says so
	std::deque<struct sock *> children;

	// Connection.
	struct sock *meets = nullptr; // who connects to us while we connect to it
	std::string received;         // and not yet read
	sockaddr attempted;           // by the last connect() with the option
	bool ack_waits = false;       // a client's, which the next message carries
	std::shared_ptr<sim::TcpConnection> connection;
	unsigned side = 0; // 0: client, 1: server
};

namespace sim {

// Sockets and socks that are alive, but for the last one.
struct SocketCounts {
	long sockets = 0;
	long socks = 0;
	long wrapped = 0; // sockets that were ever made for a child's handshake
};
[[nodiscard]] SocketCounts &socket_counts();
// One without a socket.
[[nodiscard]] struct sock *new_sock(net *host);

// Sleepers on the sock.
void wake(struct sock *sk, u32 events);
// All of them, as sk_state_change().
void wake_all(struct sock *sk, u32 events);

} // namespace sim
