// SPDX-License-Identifier: GPL-2.0-only
//
// Sockets as the kernel has them, as far as the module can see: struct socket with its wait queue,
// and the sock under it with its side of a TCP connection.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "kernel/abi/sock.h"
#include "kernel/abi/types.h"
#include "scheduler.hpp"
#include "world.hpp"

namespace sim {

// Who sleeps on a socket, or wants to hear of its wakeups.
class WaitQueue {
public:
	struct Entry {
		Fiber *fiber = nullptr;
		u32 events = ~0u; // a poller hears of these alone
		bool exclusive = false;
		smc_wake_hook *hook = nullptr;
		bool (*fn)(smc_wake_hook *) = nullptr;
	};
	using Place = std::list<Entry>::iterator;

	Place add(const Entry &entry);
	void remove(Place place) { entries_.erase(place); }
	[[nodiscard]] bool has_hook(const smc_wake_hook *hook) const;
	void remove_hook(const smc_wake_hook *hook);
	// All of them, but one alone of those that are exclusive unless @all.
	void wake(u32 events, bool all = false);
	[[nodiscard]] bool empty() const { return entries_.empty(); }

private:
	std::list<Entry> entries_;
};

class TcpConnection;
class ClcObserver;

} // namespace sim

// Where to connect to.
struct sockaddr {
	u16 family = 2;
	net *host = nullptr;
	u16 port = 0;
	// Where the peer connects to us, too. @one_sided: the first one's SYN is lost, and the
	// second one takes its SYN-ACK for a server's.
	struct sock *meets = nullptr;
	bool one_sided = false;
};

// One call's buffers.
struct msghdr {
	u32 flags = 0;
	const u8 *from = nullptr;
	u8 *to = nullptr;
	size_t length_bytes = 0;
	size_t done_bytes = 0;
	size_t fault_at_bytes = ~size_t{0}; // memory of the user's ends there
	std::function<void()> fetch{};      // before each copy from it: may sleep
};

struct socket {
	struct sock *sk = nullptr;
	void *state = nullptr;
	int ss = SMC_SS_UNCONNECTED;
	bool ours = false; // ops are the module's
	bool left = false; // ops are TCP's, after it has fallen
	bool nonblock = false;
	bool of_user = false; // has a descriptor; else it is one of the module's own
	int calls = 0;        // of others, that the last close() waits for, as a file's reference
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
	bool linger = false;
	u32 linger_ms = 0;
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
	std::shared_ptr<sim::TcpConnection> connection;
	unsigned side = 0; // 0: client, 1: server
};

namespace sim {

enum class Segment : u8 {
	kData,
	kFin,
	kReset,
};

// Two ends and what is under way between them.
class TcpConnection {
public:
	TcpConnection(u64 id, struct sock *client, const net &server);

	[[nodiscard]] u64 id() const { return id_; }
	[[nodiscard]] const std::array<u8, 4> &address(unsigned side) const
	{
		return addresses_[side];
	}
	// Sequence numbers of the next byte, as @side sees them.
	[[nodiscard]] u32 sequence_sent(unsigned side) const { return sent_[side]; }
	[[nodiscard]] u32 sequence_received(unsigned side) const { return received_[side]; }
	void send(unsigned from, Segment kind, std::string bytes);
	// The network resets it, at both ends.
	void break_off();
	void set_end(unsigned side, struct sock *sk) { ends_[side] = sk; }
	[[nodiscard]] struct sock *end(unsigned side) const { return ends_[side]; }

	std::shared_ptr<ClcObserver> observer; // looks at what goes over it

private:
	void deliver(unsigned to, Segment kind, const std::string &bytes);

	u64 id_;
	struct sock *ends_[2] = {};
	const std::array<u8, 4> addresses_[2];
	u64 last_us_[2] = {}; // order is kept
	u32 sent_[2] = {};
	u32 received_[2] = {};
};

// ---- What processes do to sockets ---------------------------------------------------------------

struct socket *sys_socket(net *host);
int sys_connect(struct socket *sock, net *host, u16 port);
// Of two sockets that connect to each other; the one that does so first waits for the other one.
int sys_connect_crossed(struct socket *sock, struct socket *other, bool one_sided);
// connect() to AF_UNSPEC; it was connected.
int sys_disconnect(struct socket *sock);
int sys_listen(struct socket *sock, u16 port, int backlog);
int sys_accept(struct socket *sock, struct socket **child);
int sys_send(struct socket *sock, msghdr &msg);
int sys_receive(struct socket *sock, msghdr &msg);
u32 sys_poll(struct socket *sock);
// Sleeps until one of @events is there. False: a signal came.
bool sys_poll_wait(struct socket *sock, u32 events);
int sys_shutdown(struct socket *sock, int how);
// setsockopt(TCP_ULP) for a layer that there is not. True: the socket has left us for TCP for good.
bool sys_leave(struct socket *sock);
void sys_cork(struct socket *sock, bool on);
void sys_nodelay(struct socket *sock);
void sys_rcvlowat(struct socket *sock, int bytes);
int sys_ioctl(struct socket *sock, unsigned int command, int *value);
void sys_close(struct socket *sock);
[[nodiscard]] bool sys_uses_smc(const struct socket *sock);
[[nodiscard]] u64 connection_id(const struct socket *sock);

// Sockets and socks that are alive.
struct SocketCounts {
	long sockets = 0;
	long socks = 0;
};
[[nodiscard]] SocketCounts &socket_counts();

// The one that began with these, if nobody changes them on the way.
[[nodiscard]] std::shared_ptr<TcpConnection> connection_by_sequence(u32 client, u32 server);

// Somebody on the way who changes each CLC message that is sent over TCP; none at first.
[[nodiscard]] std::function<void(std::string &message)> &clc_forger();

// TCP resets a connection, by its number, whoever has it.
void reset_connection(struct sock *sk, int err);

} // namespace sim
