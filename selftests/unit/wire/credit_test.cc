// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "core/wire/cdc.hpp"
#include "core/wire/credit.hpp"
#include "core/wire/iwarp.hpp"

namespace smc::wire {
namespace {

TEST(CreditTest, ThereAndBack)
{
	std::array<std::byte, kCreditSize> message;

	for (const std::uint32_t taken : {0U, 1U, 0x01020304U, 0xffffffffU}) {
		for (const bool question : {false, true}) {
			const Credit credit{taken, taken + 3, question};

			encode(credit, message);
			EXPECT_EQ(decode_credit(message), credit);
		}
	}
	encode(Credit{0x01020304, 0x05060708, true}, message);
	EXPECT_EQ(message[2], std::byte{0x80});
	EXPECT_EQ(message[4], std::byte{1});
	EXPECT_EQ(message[7], std::byte{4});
	EXPECT_EQ(message[11], std::byte{8});
}

TEST(CreditTest, IsNoOtherMessage)
{
	std::array<std::byte, kCreditSize> message;

	encode(Credit{.taken = 7}, message);
	EXPECT_FALSE(is_cdc(message));
	EXPECT_FALSE(decode_credit(ByteSpan{message}.first(kCreditSize - 1)));
	message[1] = std::byte{45};
	EXPECT_FALSE(decode_credit(message));
	message[1] = std::byte{44};
	// Every other type: CDC's, those of LLC in both versions.
	for (unsigned type = 0; type < 256; type++) {
		message[0] = std::byte{static_cast<unsigned char>(type)};
		EXPECT_EQ(decode_credit(message).has_value(), type == 0x7c) << type;
	}
}

TEST(IwarpHelloTest, LiesOnTheWireAsItIsSaid)
{
	const IwarpHello hello = iwarp_hello(Mac{{1, 2, 3, 4, 5, 6}}, Qpn{0x102030}, Qpn{0x405060});
	const std::array<std::uint8_t, 24> want{'S', 'M',  'C',  'W',  1, 0,    0,    0,
						1,   2,    3,    4,    5, 6,    0,    0,
						0,   0x10, 0x20, 0x30, 0, 0x40, 0x50, 0x60};

	EXPECT_EQ(std::memcmp(&hello, want.data(), want.size()), 0);
	EXPECT_EQ(kIwarpKeySize, 20u);
}

} // namespace
} // namespace smc::wire
