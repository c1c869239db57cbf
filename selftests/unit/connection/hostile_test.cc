// SPDX-License-Identifier: GPL-2.0-only
//
// A peer that sends anything. Every range that the connection hands out stays in its buffer, all
// accounts stay right, and no check for our own bugs fires.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "connection/seeds.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection {
namespace {

class Attack {
public:
	explicit Attack(std::uint32_t seed) : random_(seed)
	{
		const std::uint32_t sizes[]{64, 100, 16352, 16384, ring::kMaxSizeBytes};
		config_ = {.sndbuf_size_bytes = sizes[below(5)],
			   .rmb_size_bytes = sizes[below(5)],
			   .peer_rmb_size_bytes = sizes[below(5)],
			   .autocorking_size_bytes = below(2) * 65536,
			   .completion_frees_sndbuf = below(2) == 0,
			   .compact = true};
		EXPECT_TRUE(connection_.init(config_));
		(void)connection_.set_urgent_inline(below(2) == 0);
	}

	void run()
	{
		for (int step = 0; step < 2000; step++) {
			switch (below(8)) {
			case 0: write(); break;
			case 1: read(); break;
			case 2: transmit(); break;
			case 3: complete(); break;
			case 4: rarely(); break;
			default: attack(); break;
			}
			check();
			if (::testing::Test::HasFailure())
				return;
		}
	}

	std::uint32_t violations() const { return violations_; }
	std::uint32_t accepted() const { return accepted_; }

private:
	std::uint32_t below(std::uint32_t bound)
	{
		return static_cast<std::uint32_t>(random_() % bound);
	}
	bool one_in(std::uint32_t n) { return below(n) == 0; }

	void write()
	{
		const std::uint32_t bytes = below(config_.sndbuf_size_bytes) + 1;
		std::uint32_t there = 0;
		for (const ring::Segment &segment : connection_.write_segments(bytes)) {
			ASSERT_LT(segment.offset_bytes, config_.sndbuf_size_bytes);
			ASSERT_LE(segment.length_bytes,
				  config_.sndbuf_size_bytes - segment.offset_bytes);
			there += segment.length_bytes;
		}
		ASSERT_EQ(there, std::min(bytes, connection_.sndbuf_free_bytes()));
		connection_.produce(there, static_cast<SendHint>(below(3)));
	}
	// A reader may still copy what it was shown when messages arrive. Until it is done nothing
	// else reads, takes the urgent byte or closes.
	void read()
	{
		if (shown_bytes_ != 0) {
			(void)connection_.consume(std::exchange(shown_bytes_, 0));
			return;
		}
		std::uint32_t there = 0;
		for (const ring::Segment &segment :
		     connection_.read_segments(below(config_.rmb_size_bytes) + 1)) {
			ASSERT_LT(segment.offset_bytes, config_.rmb_size_bytes);
			ASSERT_LE(segment.length_bytes,
				  config_.rmb_size_bytes - segment.offset_bytes);
			there += segment.length_bytes;
		}
		ASSERT_LE(there, connection_.readable_bytes());
		shown_bytes_ = there;
		if (one_in(2))
			return;
		(void)connection_.consume(std::exchange(shown_bytes_, 0));
		(void)connection_.take_urgent(one_in(2));
		(void)connection_.at_mark();
	}
	void transmit()
	{
		TransmitPlan plan;
		for (int i = 0; i < 4 && connection_.plan_transmit(plan); i++) {
			ASSERT_LE(plan.write_count, TransmitPlan::kMaxWrites);
			std::uint32_t bytes = 0;
			for (const WriteSegment &write : plan.write_segments()) {
				ASSERT_GT(write.length_bytes, 0u);
				ASSERT_LT(write.sndbuf_offset_bytes, config_.sndbuf_size_bytes);
				ASSERT_LE(write.length_bytes,
					  config_.sndbuf_size_bytes - write.sndbuf_offset_bytes);
				ASSERT_LT(write.peer_offset_bytes, config_.peer_rmb_size_bytes);
				ASSERT_LE(write.length_bytes,
					  config_.peer_rmb_size_bytes - write.peer_offset_bytes);
				bytes += write.length_bytes;
			}
			ASSERT_EQ(bytes, plan.write_bytes);
			ASSERT_LE(bytes, connection_.peer_window_bytes());
			connection_.commit_transmit(plan);
			newest_ = plan.marker;
		}
	}
	void complete()
	{
		if (newest_.message_number != 0)
			connection_.on_transmit_complete(newest_);
	}
	void rarely()
	{
		switch (below(60)) {
		case 0: connection_.shutdown_write(); break;
		case 1:
			shown_bytes_ = 0;
			connection_.close();
			break;
		case 2: connection_.abort(); break;
		case 3: connection_.transport_lost(); break;
		case 4: connection_.give_up_withheld_data(); break;
		case 5: connection_.announce_urgent(one_in(2)); break;
		case 6: connection_.give_up(); break;
		default:
			connection_.set_corked(one_in(2));
			connection_.request_completion();
			if (one_in(20) && shown_bytes_ == 0)
				(void)connection_.set_urgent_inline(one_in(2));
			break;
		}
	}

	ring::Cursor cursor(ring::Cursor now, std::uint32_t size_bytes)
	{
		switch (below(6)) {
		case 0:
			return {static_cast<std::uint16_t>(random_()),
				static_cast<std::uint32_t>(random_())};
		case 1:
			return {static_cast<std::uint16_t>(now.wrap + below(4) - 1),
				below(size_bytes)};
		case 2: return ring::retreat(now, below(size_bytes), size_bytes);
		case 3: return ring::advance(now, below(size_bytes) + 1, size_bytes);
		case 4: return ring::advance(now, below(20), size_bytes);
		default: return now;
		}
	}
	void attack_compactly()
	{
		const Diagnostics now = connection_.diagnostics();
		CompactMessage message{.written_bytes = below(config_.rmb_size_bytes / 4 + 1),
				       .consumed_bytes = below(20),
				       .wrapped = one_in(4),
				       .write_blocked = one_in(2)};
		if (one_in(10))
			message.written_bytes = static_cast<std::uint32_t>(random_());
		if (one_in(10))
			message.consumed_bytes = static_cast<std::uint32_t>(random_());
		judge(connection_.on_cdc(message), now, static_cast<std::uint16_t>(sequence_ + 1));
	}
	void attack()
	{
		if (one_in(3)) {
			attack_compactly();
			return;
		}
		const Diagnostics now = connection_.diagnostics();
		CursorMessage message{.sequence = static_cast<std::uint16_t>(sequence_ + below(3)),
				      .producer = cursor(now.rx_producer, config_.rmb_size_bytes),
				      .consumer =
					      cursor(now.rx_consumer, config_.peer_rmb_size_bytes)};
		if (one_in(10))
			message.sequence = static_cast<std::uint16_t>(random_());
		if (one_in(2))
			message.producer_flags = static_cast<std::uint8_t>(random_());
		if (!one_in(50)) // after a violation the check lets more through
			message.producer_flags &=
				static_cast<std::uint8_t>(~producer_flag::kFailoverValidation);
		if (one_in(100))
			message.state_flags = static_cast<std::uint8_t>(random_());

		judge(one_in(10) ? connection_.on_cursors(message) : connection_.on_cdc(message),
		      now, message.sequence);
	}
	void judge(const Verdict &verdict, const Diagnostics &now, std::uint16_t sequence)
	{
		if (!verdict.ok()) {
			EXPECT_EQ(verdict.events, 0);
			const Diagnostics after = connection_.diagnostics();
			EXPECT_EQ(after.rx_producer, now.rx_producer);
			EXPECT_EQ(after.rx_consumer, now.rx_consumer);
			EXPECT_EQ(after.rx_state_flags, now.rx_state_flags);
			violations_++;
			if (one_in(500))
				connection_.abort();
			return;
		}
		accepted_++;
		sequence_ = sequence;
		if (verdict.has(event::kUrgent)) {
			ASSERT_LT(connection_.urgent_offset_bytes(), config_.rmb_size_bytes);
			if (one_in(4))
				(void)connection_.set_urgent_inline(one_in(2));
			connection_.store_urgent(1);
		}
	}

	void check()
	{
		const Diagnostics now = connection_.diagnostics();
		ASSERT_FALSE(connection_.broken());
		ASSERT_LT(now.rx_producer.count, config_.rmb_size_bytes);
		ASSERT_LT(now.tx_consumer.count, config_.rmb_size_bytes);
		ASSERT_LT(now.rx_consumer.count, config_.peer_rmb_size_bytes);
		ASSERT_LT(now.tx_producer.count, config_.peer_rmb_size_bytes);
		ASSERT_LT(now.tx_finished.count, config_.sndbuf_size_bytes);
		ASSERT_LE(connection_.readable_bytes(), config_.rmb_size_bytes);
		ASSERT_LE(connection_.sndbuf_free_bytes(), config_.sndbuf_size_bytes);
		ASSERT_LE(connection_.unsent_bytes(), config_.sndbuf_size_bytes);
		ASSERT_LE(connection_.peer_window_bytes(), config_.peer_rmb_size_bytes);
		ASSERT_LE(connection_.high_water_bytes(), config_.rmb_size_bytes);
		(void)connection_.at_eof();
	}

	std::mt19937 random_;
	Config config_;
	Connection connection_;
	TransmitMarker newest_{};
	std::uint32_t shown_bytes_ = 0;
	std::uint16_t sequence_ = 0;
	std::uint32_t violations_ = 0;
	std::uint32_t accepted_ = 0;
};

TEST(HostileTest, AnythingAtAll)
{
	const test::Seeds seeds{400};
	std::uint64_t violations = 0;
	std::uint64_t accepted = 0;
	for (std::uint32_t seed = seeds.first; seed <= seeds.last; seed++) {
		SCOPED_TRACE("SMC_SEED=" + std::to_string(seed));
		Attack attack{seed};
		attack.run();
		if (HasFailure())
			return;
		violations += attack.violations();
		accepted += attack.accepted();
	}
	// The attack must get past the first check, and be caught.
	const std::uint64_t attacks = seeds.last - seeds.first + 1;
	EXPECT_GT(violations, 5 * attacks);
	EXPECT_GT(accepted, 5 * attacks);
}

} // namespace
} // namespace smc::connection
