// SPDX-License-Identifier: GPL-2.0-only
//
// A TCP connection: two ends, and the bytes under way between them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "socket.hpp"

namespace sim {

class ClcObserver;

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
	// How many @side has sent so far.
	[[nodiscard]] u32 segments(unsigned side, Segment kind) const
	{
		return segments_[side][static_cast<size_t>(kind)];
	}
	void set_end(unsigned side, struct sock *sk) { ends_[side] = sk; }
	[[nodiscard]] struct sock *end(unsigned side) const { return ends_[side]; }

	std::shared_ptr<ClcObserver> observer; // follows its messages

private:
	void deliver(unsigned to, Segment kind, const std::string &bytes);

	u64 id_;
	struct sock *ends_[2] = {};
	const std::array<u8, 4> addresses_[2];
	u64 last_us_[2] = {}; // order is kept
	u32 sent_[2] = {};
	u32 received_[2] = {};
	std::array<u32, 3> segments_[2] = {}; // by Segment
};

[[nodiscard]] std::shared_ptr<TcpConnection> new_connection(struct sock *client, const net &server);
// From now on it can be found by its sequence numbers.
void remember_sequence(const std::shared_ptr<TcpConnection> &connection);
// The one that began with these, unless a middlebox changes them.
[[nodiscard]] std::shared_ptr<TcpConnection> connection_by_sequence(u32 client, u32 server);

// A middlebox that changes each CLC message sent over TCP; none at first.
[[nodiscard]] std::function<void(std::string &message)> &clc_forger();

// Resets the connection of @sk; the other end gets the reset.
void reset_connection(struct sock *sk, int err);

// The sock has no connection any more, and an error unless @err is 0.
void die(struct sock *sk, int err);

// As tcp_recvmsg() that does not block: bytes, 0 at the end, or -errno.
int receive_now(struct sock *sk, void *buf, size_t len, bool peek);
// Bytes, or -errno.
int send_now(struct sock *sk, const void *buf, size_t len);

// Delay of a segment.
[[nodiscard]] u64 tcp_latency_us();

} // namespace sim
