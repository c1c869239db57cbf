// SPDX-License-Identifier: GPL-2.0-only
#include "core/connection/cdc_mapping.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "connection/two_ends.hpp"
#include "core/wire/cdc.hpp"

namespace smc::connection::test {
namespace {

bool same(const CursorMessage &a, const CursorMessage &b)
{
	return a.sequence == b.sequence && a.token == b.token && a.producer == b.producer &&
	       a.consumer == b.consumer && a.producer_flags == b.producer_flags &&
	       a.state_flags == b.state_flags;
}

constexpr CursorMessage kEverything{.sequence = 0xfffe,
				    .token = 0xdeadbeef,
				    .producer = {1, 2},
				    .consumer = {3, 4},
				    .producer_flags = 0xf8,
				    .state_flags = 0xe0};

TEST(CdcMappingTest, ThereAndBack)
{
	EXPECT_TRUE(same(from_wire(to_wire(kEverything)), kEverything));
	for (unsigned bit = 0; bit < 8; bit++) {
		CursorMessage message{};
		message.producer_flags = static_cast<std::uint8_t>(0xf8 & (1u << bit));
		message.state_flags = static_cast<std::uint8_t>(0xe0 & (1u << bit));
		EXPECT_TRUE(same(from_wire(to_wire(message)), message));
	}
}

TEST(CdcMappingTest, FlagsHaveTheMeaningOfTheWire)
{
	using wire::ProducerFlags;
	using wire::StateFlags;
	EXPECT_EQ((ProducerFlags{.write_blocked = true}.to_byte()), producer_flag::kWriteBlocked);
	EXPECT_EQ((ProducerFlags{.urgent_pending = true}.to_byte()), producer_flag::kUrgentPending);
	EXPECT_EQ((ProducerFlags{.urgent_present = true}.to_byte()), producer_flag::kUrgentPresent);
	EXPECT_EQ((ProducerFlags{.update_requested = true}.to_byte()),
		  producer_flag::kConsumerUpdateWanted);
	EXPECT_EQ((ProducerFlags{.failover_validation = true}.to_byte()),
		  producer_flag::kFailoverValidation);
	EXPECT_EQ((StateFlags{.sending_done = true}.to_byte()), state_flag::kSendingDone);
	EXPECT_EQ((StateFlags{.closed = true}.to_byte()), state_flag::kClosed);
	EXPECT_EQ((StateFlags{.aborted = true}.to_byte()), state_flag::kAborted);
}

using Bytes = std::array<std::uint8_t, wire::kCdcSize>;

Bytes bytes_of(const CursorMessage &message)
{
	std::array<std::byte, wire::kCdcSize> out{};
	wire::encode(to_wire(message), out);
	Bytes bytes{};
	for (std::size_t i = 0; i < bytes.size(); i++)
		bytes[i] = std::to_integer<std::uint8_t>(out[i]);
	return bytes;
}

// The messages that the kernel's own module was seen to send for the same calls.
TEST(CdcMappingTest, SameBytesAsCaptured)
{
	Config config = plain_config();
	config.sndbuf_size_bytes = 131072;
	config.rmb_size_bytes = 65536;
	config.peer_rmb_size_bytes = 65536;
	config.peer_token = 1;

	Pair data{config};
	data.a.send("6bytes");
	EXPECT_EQ(bytes_of(data.a.last_plan.message),
		  (Bytes{0xfe, 0x2c, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6}));

	Pair urgent{config};
	urgent.b.send("answer");
	urgent.wire.settle();
	EXPECT_EQ(urgent.a.receive(), "answer");
	urgent.a.send("6bytes");
	urgent.wire.settle();
	urgent.a.connection.request_completion();
	urgent.a.transmit();
	urgent.a.send("ur!", SendHint::kUrgent);
	EXPECT_EQ(bytes_of(urgent.a.last_plan.message),
		  (Bytes{0xfe, 0x2c, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0,    0,
			 0,    0,    9, 0, 0, 0, 0, 0, 0, 0, 6, 0x60, 0}));

	Pair full{config};
	full.a.send("x");
	full.a.send(std::string(70000, 'x'));
	EXPECT_EQ(bytes_of(full.a.last_plan.message),
		  (Bytes{0xfe, 0x2c, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1,    0,
			 0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0}));
}

} // namespace
} // namespace smc::connection::test
