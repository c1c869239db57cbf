// SPDX-License-Identifier: GPL-2.0-only
//
// Two connections joined by a simulated reliable wire. An End owns what an endpoint would: a send
// buffer, the ring that the peer writes, a send queue of limited length. The wire executes what was
// posted, in order and when the test says so: data, messages and completions can each be late. As
// on a reliable queue pair nothing is lost or reordered.
//
// The payload is copied out of the send buffer when the wire executes the write, so that a send
// buffer that is freed too early shows as corruption.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/connection/connection.hpp"

namespace smc::connection::test {

// A message as it arrives.
struct Arrived {
	CursorMessage message;
	bool compact = false; // it came as `brief`
	CompactMessage brief{};
	unsigned link = 0; // the number of the link that carried it
};

// The connection has something to send now.
inline bool can_transmit(const Connection &connection)
{
	TransmitPlan plan;

	return connection.plan_transmit(plan);
}

struct End {
	explicit End(const Config &config)
		: sndbuf(config.sndbuf_size_bytes), rmb(config.rmb_size_bytes)
	{
		EXPECT_TRUE(connection.init(config));
	}

	// --- The application --------------------------------------------------------------------

	// Appends as much of `data` as fits; returns how many bytes that were.
	std::size_t append(std::string_view data, SendHint hint = SendHint::kNormal)
	{
		std::size_t done = 0;
		const auto max_bytes = static_cast<std::uint32_t>(data.size());
		const bool borrowed = connection.send_quantum_bytes() == 0;

		for (const ring::Segment &segment :
		     borrowed ? connection.borrowed_segments(max_bytes)
			      : connection.write_segments(max_bytes)) {
			std::memcpy(sndbuf.data() + segment.offset_bytes, data.data() + done,
				    segment.length_bytes);
			done += segment.length_bytes;
		}
		connection.produce(static_cast<std::uint32_t>(done), hint);
		return done;
	}
	std::size_t send(std::string_view data, SendHint hint = SendHint::kNormal)
	{
		const std::size_t done = append(data, hint);
		transmit();
		return done;
	}
	std::string peek(std::uint32_t max_bytes = UINT32_MAX, std::uint32_t skip_bytes = 0) const
	{
		return text(connection.read_segments(max_bytes, skip_bytes));
	}
	std::string text(const ring::Segments &segments) const
	{
		std::string data;
		for (const ring::Segment &segment : segments)
			data.append(rmb.data() + segment.offset_bytes, segment.length_bytes);
		return data;
	}
	// Offers a ring of that size to the peer.
	bool offer(std::uint32_t size_bytes)
	{
		if (!connection.offer_ring(size_bytes))
			return false;
		next_rmb.assign(size_bytes, '\xee');
		transmit();
		return true;
	}
	// Reads without sending the update that may be due.
	std::string read(std::uint32_t max_bytes = UINT32_MAX)
	{
		std::string data = peek(max_bytes);
		update_wanted = connection.consume(static_cast<std::uint32_t>(data.size()));
		return data;
	}
	std::string receive(std::uint32_t max_bytes = UINT32_MAX)
	{
		std::string data = read(max_bytes);
		if (update_wanted)
			transmit();
		return data;
	}

	// --- The transport ----------------------------------------------------------------------

	// Posts everything that is to be sent; returns the number of plans.
	int transmit()
	{
		int plans = 0;
		TransmitPlan plan;
		if (connection.ring_change_due())
			connection.change_peer_ring();
		while (connection.plan_transmit(plan)) {
			if (posted.size() >= send_queue_limit) {
				waits_for_room = true;
				break;
			}
			EXPECT_LE(plan.write_count, TransmitPlan::kMaxWrites);
			if (!link_is_dead)
				posted.push_back(plan);
			last_plan = plan;
			connection.commit_transmit(plan);
			if (plan.signal && complete_early && !link_is_dead)
				completions.push_back(plan.marker);
			plans++;
			EXPECT_LT(plans, 1000);
			if (plans >= 1000)
				break;
		}
		return plans;
	}

	Connection connection;
	std::vector<char> sndbuf;
	std::vector<char> rmb;
	std::vector<char> next_rmb;             // that is on offer
	std::deque<TransmitPlan> posted;        // not executed yet
	std::deque<Arrived> arrived;            // messages to this end, not handled yet
	std::deque<TransmitMarker> completions; // of this end's messages, not handled yet
	std::size_t send_queue_limit = SIZE_MAX;
	TransmitPlan last_plan{};
	bool update_wanted = false;
	bool waits_for_room = false; // the send queue was full
	bool complete_early = false; // completions do not wait for the data to be read
	bool hears_quickly = false;  // Connection::hear_quickly(), where it may
	std::uint32_t heard_quickly = 0;
	unsigned link = 0;         // the number of the link that it uses
	bool link_is_dead = false; // what is posted is lost
};

class Wire {
public:
	Wire(End &a, End &b) : a_(a), b_(b) {}

	// Executes the oldest plan that `from` has posted.
	bool carry(End &from)
	{
		if (from.posted.empty())
			return false;
		End &to = &from == &a_ ? b_ : a_;
		const TransmitPlan plan = from.posted.front();
		from.posted.pop_front();
		std::uint32_t bytes = 0;
		std::vector<char> &ring =
			plan.message.ring == to.connection.ring() ? to.rmb : to.next_rmb;
		for (const WriteSegment &write : plan.write_segments()) {
			EXPECT_GT(write.length_bytes, 0u);
			EXPECT_LE(write.sndbuf_offset_bytes + write.length_bytes,
				  from.sndbuf.size());
			EXPECT_LE(write.peer_offset_bytes + write.length_bytes, ring.size());
			std::memcpy(ring.data() + write.peer_offset_bytes,
				    from.sndbuf.data() + write.sndbuf_offset_bytes,
				    write.length_bytes);
			bytes += write.length_bytes;
		}
		// Or they are repeated ones.
		EXPECT_TRUE(bytes == plan.write_bytes || plan.write_bytes == 0);
		to.arrived.push_back({plan.message, plan.compact, plan.brief, from.link});
		if (plan.signal && !from.complete_early)
			from.completions.push_back(plan.marker);
		if (from.waits_for_room) {
			from.waits_for_room = false;
			from.transmit();
		}
		return true;
	}
	// The link dies. Of what each end has posted the first so many arrive, and the writes of
	// the next one; the rest is lost. Of the completions so many are lost.
	void lose_link(End &from, std::size_t arrive, bool part, std::size_t completions_lost)
	{
		End &to = &from == &a_ ? b_ : a_;

		while (arrive-- > 0 && !from.posted.empty())
			(void)carry(from);
		if (part && !from.posted.empty()) {
			const std::size_t completions = from.completions.size();

			(void)carry(from);
			to.arrived.pop_back();
			while (from.completions.size() > completions)
				from.completions.pop_back();
		}
		from.posted.clear();
		from.waits_for_room = false;
		while (completions_lost-- > 0 && !from.completions.empty())
			from.completions.pop_back();
		from.link_is_dead = true;
	}
	// The end has taken in what the old link has brought, and goes on over the next one.
	static void move(End &end)
	{
		end.link++;
		end.link_is_dead = false;
		end.connection.fail_over();
		end.transmit();
	}
	// Hands the oldest message to `to`.
	Verdict deliver(End &to)
	{
		EXPECT_LE(to.arrived.front().link, to.link);
		const Arrived arrived = to.arrived.front();
		to.arrived.pop_front();
		Verdict verdict = arrived.compact ? hear(to, arrived.brief)
						  : to.connection.on_cdc(arrived.message);
		EXPECT_EQ(verdict.violation, Violation::kNone);
		if (verdict.has(event::kNewRing))
			to.rmb = std::exchange(to.next_rmb, {});
		if (arrived.message.offers_ring)
			take_offer(to);
		if (arrived.compact && to.connection.state() == State::kActive) {
			const Diagnostics now = to.connection.diagnostics();
			EXPECT_EQ(now.rx_producer, arrived.message.producer);
			EXPECT_EQ(now.rx_consumer, arrived.message.consumer);
			EXPECT_EQ(now.rx_producer_flags, arrived.message.producer_flags);
		}
		if (verdict.has(event::kUrgent))
			to.connection.store_urgent(static_cast<std::uint8_t>(
				to.rmb.at(to.connection.urgent_offset_bytes())));
		EXPECT_FALSE(to.connection.broken());
		return verdict;
	}
	// As an endpoint does it, or by the general way.
	static Verdict hear(End &to, const CompactMessage &message)
	{
		if (to.hears_quickly) {
			const std::uint16_t events = to.connection.hear_quickly(message);

			if (events != 0) {
				to.heard_quickly++;
				return {.events = events};
			}
		}
		return to.connection.on_cdc(message);
	}
	Verdict complete(End &end)
	{
		const TransmitMarker marker = end.completions.front();
		end.completions.pop_front();
		const Verdict verdict = end.connection.on_transmit_complete(marker);
		EXPECT_FALSE(end.connection.broken());
		return verdict;
	}

	// Delivers everything under way in both directions, and does what the owner of a connection
	// does. Returns the events at each end.
	struct Events {
		std::uint16_t a = 0;
		std::uint16_t b = 0;
	};
	Events settle()
	{
		Events events;
		for (int round = 0; round < 100000; round++) {
			bool moved = carry(a_) || carry(b_);
			moved |= settle_end(a_, events.a);
			moved |= settle_end(b_, events.b);
			if (!moved)
				return events;
		}
		ADD_FAILURE() << "the two ends never stop talking";
		return events;
	}

private:
	// The offer is still there, or the end that made it has heard that it is used.
	void take_offer(End &end)
	{
		const End &other = &end == &a_ ? b_ : a_;
		const auto size_bytes = static_cast<std::uint32_t>(other.next_rmb.size());

		if (end.connection.wants_peer_ring(size_bytes))
			end.connection.take_peer_ring(size_bytes);
		end.transmit();
	}
	bool settle_end(End &end, std::uint16_t &events)
	{
		Verdict verdict;
		if (!end.arrived.empty())
			verdict = deliver(end);
		else if (!end.completions.empty())
			verdict = complete(end);
		else
			return false;
		events |= verdict.events;
		if (can_transmit(end.connection))
			end.transmit();
		return true;
	}

	End &a_;
	End &b_;
};

inline Config plain_config()
{
	return {.sndbuf_size_bytes = 16384,
		.rmb_size_bytes = 16384,
		.peer_rmb_size_bytes = 16384,
		.autocorking_size_bytes = 65536,
		.local_token = 0x1111,
		.peer_token = 0x2222};
}

// Two ends of the same shape and the wire between them.
struct Pair {
	explicit Pair(const Config &config = plain_config()) : Pair(config, mirrored(config)) {}
	Pair(const Config &config_a, const Config &config_b) : a(config_a), b(config_b), wire(a, b)
	{
	}
	Pair(const Pair &) = delete;
	Pair &operator=(const Pair &) = delete;

	static Config mirrored(Config config)
	{
		std::swap(config.rmb_size_bytes, config.peer_rmb_size_bytes);
		std::swap(config.local_token, config.peer_token);
		return config;
	}

	End a;
	End b;
	Wire wire;
};

// Both ends have lost the link with everything on it, and go on.
inline void lose_all(Pair &pair)
{
	for (End *end : {&pair.a, &pair.b}) {
		pair.wire.lose_link(*end, 0, false, SIZE_MAX);
		Wire::move(*end);
	}
}

} // namespace smc::connection::test
