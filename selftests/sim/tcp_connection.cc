// SPDX-License-Identifier: GPL-2.0-only
#include "tcp_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "clc_observer.hpp"
#include "kernel/abi/control.h"
#include "scheduler.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace sim {
namespace {

u64 connections_made;
std::map<std::pair<u32, u32>, std::weak_ptr<TcpConnection>> by_sequence;

// Knobs: eid_changes. Host b itself knows the first EID alone.
std::string from_host_b(std::string bytes)
{
	constexpr std::size_t kLaterAccept = 108;
	constexpr std::size_t kEid = 64;

	if (bytes.size() == kLaterAccept && bytes.compare(kEid, SMC_EID_LEN, eid_of_hosts()) == 0)
		bytes.replace(kEid, SMC_EID_LEN, eid_of_hosts(1));
	return bytes;
}

void to_host_b(std::string &received)
{
	const std::size_t at = received.find(eid_of_hosts(1));

	if (at != std::string::npos)
		received.replace(at, SMC_EID_LEN, eid_of_hosts());
}

} // namespace

std::function<void(std::string &)> &clc_forger()
{
	static std::function<void(std::string &)> forger;
	return forger;
}

u64 tcp_latency_us()
{
	const Knobs &knobs = world().knobs;
	Random &random = scheduler().random();

	if (world().fault(knobs.tcp_stall)) {
		const u64 stalled_us = random.between(100'000, 8'000'000);
		note("TCP stalls for %llu ms", stalled_us / 1000);
		return stalled_us;
	}
	return 1 + random.below(knobs.latency_us);
}

TcpConnection::TcpConnection(u64 id, struct sock *client, const net &server)
	: id_(id), ends_{client, nullptr}, addresses_{client->net->address, server.address}
{
	Random &random = scheduler().random();

	for (unsigned side = 0; side < 2; side++) {
		sent_[side] = static_cast<u32>(random.next());
		received_[1 - side] = sent_[side];
	}
	if (random.one_in(world().knobs.middlebox))
		received_[random.below(2)] += 1 + static_cast<u32>(random.below(1000));
}

std::shared_ptr<TcpConnection> new_connection(struct sock *client, const net &server)
{
	return std::make_shared<TcpConnection>(++connections_made, client, server);
}

void TcpConnection::send(unsigned from, Segment kind, std::string bytes)
{
	const unsigned to = 1 - from;
	const u64 time_us = std::max(last_us_[to], scheduler().now_us() + tcp_latency_us());
	auto self = ends_[from] != nullptr ? ends_[from]->connection : nullptr;

	if (self == nullptr && ends_[to] != nullptr)
		self = ends_[to]->connection;
	if (self == nullptr)
		return;
	if (kind == Segment::kData && observer != nullptr)
		observer->sent(from, bytes);
	if (kind == Segment::kData && world().fault(world().knobs.tcp_reset)) {
		note("tcp-%llu: reset by the network", id_);
		kind = Segment::kReset;
		bytes.clear();
		// Both sides get it; a side that did not, and sends nothing, would wait for ever.
		scheduler().at(time_us, [self, from] { self->deliver(from, Segment::kReset, {}); });
	}
	segments_[from][static_cast<size_t>(kind)]++;
	last_us_[to] = time_us;
	sent_[from] += static_cast<u32>(bytes.size());
	scheduler().at(time_us, [self, to, kind, bytes = std::move(bytes)] {
		self->deliver(to, kind, bytes);
	});
}

void TcpConnection::break_off()
{
	note("tcp-%llu: reset by the network", id_);
	for (const unsigned from : {0U, 1U})
		send(from, Segment::kReset, {});
}

void remember_sequence(const std::shared_ptr<TcpConnection> &connection)
{
	by_sequence[{connection->sequence_sent(0), connection->sequence_sent(1)}] = connection;
}

std::shared_ptr<TcpConnection> connection_by_sequence(u32 client, u32 server)
{
	const auto found = by_sequence.find({client, server});

	return found != by_sequence.end() ? found->second.lock() : nullptr;
}

void TcpConnection::deliver(unsigned to, Segment kind, const std::string &bytes)
{
	struct sock *sk = ends_[to];

	// The other end is gone.
	if (sk == nullptr || sk->dead || sk->state == SMC_TCP_CLOSE) {
		if (kind == Segment::kData && ends_[1 - to] != nullptr)
			send(to, Segment::kReset, {});
		return;
	}
	switch (kind) {
	case Segment::kData:
		// In pieces, now and then: a reader must not count on whole messages.
		sk->received += bytes;
		if (to == 1 && world().knobs.eid_changes)
			to_host_b(sk->received);
		received_[to] += static_cast<u32>(bytes.size());
		// As tcp_data_ready().
		if (sk->received.size() >= static_cast<size_t>(sk->rcvlowat))
			wake(sk, SMC_POLL_IN);
		break;
	case Segment::kFin:
		if (sk->state == SMC_TCP_ESTABLISHED)
			sk->state = SMC_TCP_CLOSE_WAIT;
		sk->shut_rcv = true;
		wake_all(sk, SMC_POLL_IN | SMC_POLL_RDHUP);
		break;
	case Segment::kReset:
		note("tcp-%llu: reset arrives at side %u", id_, to);
		die(sk, sk->state == SMC_TCP_CLOSE_WAIT ? EPIPE : ECONNRESET);
		break;
	}
}

void die(struct sock *sk, int err)
{
	if (err != 0)
		sk->err = err;
	sk->state = SMC_TCP_CLOSE;
	sk->shut_rcv = sk->shut_snd = true;
	wake_all(sk, SMC_POLL_IN | SMC_POLL_OUT | SMC_POLL_ERR | SMC_POLL_HUP | SMC_POLL_RDHUP);
}

void reset_connection(struct sock *sk, int err)
{
	if (sk->connection != nullptr && sk->state != SMC_TCP_CLOSE)
		sk->connection->send(sk->side, Segment::kReset, {});
	die(sk, err);
}

int receive_now(struct sock *sk, void *buf, size_t len, bool peek)
{
	const size_t n = std::min(len, sk->received.size());

	if (n != 0) {
		std::memcpy(buf, sk->received.data(), n);
		if (!peek)
			sk->received.erase(0, n);
		return static_cast<int>(n);
	}
	if (sk->err != 0)
		return smc_sk_take_error(sk);
	if (sk->shut_rcv)
		return 0;
	if (sk->state == SMC_TCP_CLOSE)
		return -ENOTCONN;
	return -EAGAIN;
}

int send_now(struct sock *sk, const void *buf, size_t len)
{
	if (sk->err != 0)
		return smc_sk_take_error(sk);
	if (sk->shut_snd || sk->state == SMC_TCP_CLOSE)
		return -EPIPE;
	// In pieces: a reader must not count on whole messages.
	std::string message(static_cast<const char *>(buf), len);
	if (sk->side == 1 && world().knobs.eid_changes)
		message = from_host_b(std::move(message));
	const char *bytes = message.data();
	Random &random = scheduler().random();
	for (size_t at = 0; at < len;) {
		size_t n = len - at;
		if (random.one_in(3))
			n = 1 + random.below(n);
		sk->connection->send(sk->side, Segment::kData, {bytes + at, n});
		at += n;
	}
	return static_cast<int>(len);
}

} // namespace sim
