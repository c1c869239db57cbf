// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/cdc.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wire/golden.hpp"
#include "wire/hex.hpp"

namespace smc::wire {
namespace {

using testing::Bytes;
using testing::first;
using testing::hex;
using testing::to_hex;
using testing::with;

Bytes encoded_cdc(const Cdc &cdc)
{
	Bytes out(kCdcSize, std::byte{0xa5});
	encode(cdc, std::span<std::byte, kCdcSize>(out));
	return out;
}

TEST(Cdc, OfLinuxIsReadAndWritten)
{
	const Cdc data{.sequence = 1, .token = Token{1}, .producer = {.count = 6}};
	EXPECT_EQ(*decode_cdc(hex(golden::kCdcData)), data);
	const Cdc urgent{.sequence = 3,
			 .token = Token{1},
			 .producer = {.count = 9},
			 .consumer = {.count = 6},
			 .producer_flags = {.urgent_pending = true, .urgent_present = true}};
	EXPECT_EQ(*decode_cdc(hex(golden::kCdcUrgent)), urgent);
	const auto blocked = decode_cdc(hex(golden::kCdcBlocked));
	ASSERT_TRUE(blocked);
	EXPECT_EQ(blocked->producer, (CdcCursor{.wrap = 1, .count = 9}));
	EXPECT_TRUE(blocked->producer_flags.write_blocked);
	EXPECT_TRUE(decode_cdc(hex(golden::kCdcDoneClosed))->state_flags.sending_done);
	EXPECT_TRUE(decode_cdc(hex(golden::kCdcDoneClosed))->state_flags.closed);
	EXPECT_TRUE(decode_cdc(hex(golden::kCdcAborted))->state_flags.aborted);
	for (const auto text : golden::kCdcMessages) {
		const Bytes message = hex(text);
		ASSERT_TRUE(is_cdc(message));
		EXPECT_EQ(to_hex(encoded_cdc(*decode_cdc(message))), text);
	}
}

TEST(Cdc, EachFieldHasItsPlace)
{
	const Cdc cdc{.sequence = 0x0102,
		      .token = Token{0x03040506},
		      .producer = {.wrap = 0x0708, .count = 0x090a0b0c},
		      .consumer = {.wrap = 0x0d0e, .count = 0x0f101112},
		      .producer_flags = {.failover_validation = true},
		      .state_flags = {.aborted = true}};
	const Bytes message = hex("fe2c 0102 03040506 0000 0708 090a0b0c 0000 0d0e 0f101112 08 20"
				  "000000000000000000000000000000000000");
	EXPECT_EQ(encoded_cdc(cdc), message);
	EXPECT_EQ(*decode_cdc(message), cdc);
}

TEST(Cdc, RingAndOfferAreInTheReservedBytes)
{
	Cdc cdc{.sequence = 1, .token = Token{2}, .ring = 0x11};
	const std::string head = "fe2c 0001 00000002 0000 0000 00000000 0000 0000 00000000 00 00";

	const Bytes plain = hex(head + "11 00 00 000000 00000000 0000000000000000");
	EXPECT_EQ(encoded_cdc(cdc), plain);
	EXPECT_EQ(*decode_cdc(plain), cdc);
	cdc.offer = RingOffer{.rkey = Rkey{0x12131415},
			      .rmb_address = 0x161718191a1b1c1d,
			      .rmbe_index = 0x1e,
			      .size = BufferSize{5}};
	const Bytes offering = hex(head + "11 85 1e 000000 12131415 161718191a1b1c1d");
	EXPECT_EQ(encoded_cdc(cdc), offering);
	EXPECT_EQ(*decode_cdc(offering), cdc);
}

TEST(Cdc, FlagsAreSingleBits)
{
	const auto producer = [](std::uint8_t byte) { return ProducerFlags::from_byte(byte); };
	EXPECT_TRUE(producer(0x80).write_blocked);
	EXPECT_TRUE(producer(0x40).urgent_pending);
	EXPECT_TRUE(producer(0x20).urgent_present);
	EXPECT_TRUE(producer(0x10).update_requested);
	EXPECT_TRUE(producer(0x08).failover_validation);
	EXPECT_TRUE(StateFlags::from_byte(0x80).sending_done);
	EXPECT_TRUE(StateFlags::from_byte(0x40).closed);
	EXPECT_TRUE(StateFlags::from_byte(0x20).aborted);
	for (int byte = 0; byte < 256; byte++) {
		const auto bits = static_cast<std::uint8_t>(byte);
		EXPECT_EQ(producer(bits).to_byte(), bits & 0xf8);
		EXPECT_EQ(StateFlags::from_byte(bits).to_byte(), bits & 0xe0);
	}
}

TEST(Cdc, RefusesWhatIsNone)
{
	const Bytes good = hex(golden::kCdcData);
	for (std::size_t size = 0; size < good.size(); size++)
		EXPECT_EQ(decode_cdc(first(good, size)).error(), CdcError::kTruncated);
	EXPECT_EQ(decode_cdc(with(good, 0, 0xfd)).error(), CdcError::kBadType);
	for (const std::uint8_t length : {0, 43, 45, 255})
		EXPECT_EQ(decode_cdc(with(good, 1, length)).error(), CdcError::kBadLength);
	EXPECT_FALSE(is_cdc({}));
	EXPECT_FALSE(is_cdc(hex(golden::kConfirmRkeyRequest)));
}

TEST(Cdc, IgnoresWhatIsBehindIt)
{
	Bytes longer = hex(golden::kCdcUrgent);
	longer.resize(100, std::byte{0xff});
	EXPECT_EQ(*decode_cdc(longer), *decode_cdc(hex(golden::kCdcUrgent)));
}

TEST(CdcError, HasANameForEach)
{
	const std::set<std::string_view> names = {
		name(CdcError::kTruncated), name(CdcError::kBadType), name(CdcError::kBadLength)};
	EXPECT_EQ(names.size(), 3U);
	EXPECT_EQ(name(static_cast<CdcError>(99)), "unknown");
}

} // namespace
} // namespace smc::wire
