// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <iterator>

#include "core/wire/cdc.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/llc.hpp"
#include "effort.hpp"
#include "wire/golden.hpp"
#include "wire/handmade.hpp"
#include "wire/hex.hpp"

// Each message with every value of every byte: decoding stays in bounds (the sanitizers check), and
// a message that it accepts encodes to the same meaning. In a kernel, with each bit of every byte
// flipped.
namespace smc::wire {
namespace {

using testing::Bytes;
using testing::encoded;
using testing::hex;
using testing::to_hex;

template <class Decode>
bool comes_back(const Bytes &message, Decode decode)
{
	const auto decoded = decode(message);
	if (!decoded)
		return false;
	const Bytes again = encoded(*decoded);
	const auto decoded_again = decode(again);
	EXPECT_TRUE(decoded_again) << to_hex(message) << "\n" << to_hex(again);
	if (decoded_again) {
		EXPECT_EQ(*decoded_again, *decoded) << to_hex(message) << "\n" << to_hex(again);
	}
	return true;
}

bool clc_comes_back(const Bytes &message)
{
	(void)clc_frame(message);
	const auto type = clc_type(message);
	if (!type)
		return false;
	switch (*type) {
	case ClcType::kProposal: return comes_back(message, decode_proposal);
	case ClcType::kAccept: return comes_back(message, decode_accept);
	case ClcType::kConfirm: return comes_back(message, decode_confirm);
	case ClcType::kDecline: return comes_back(message, decode_decline);
	}
	return false;
}

bool llc_comes_back(const Bytes &message)
{
	return comes_back(message, decode_llc);
}

// Runs check on all variations; returns how many of them it accepted.
template <class Check>
std::size_t vary(Bytes message, Check check)
{
	EXPECT_TRUE(check(message)) << to_hex(message);
	std::size_t accepted = 0;
	for (std::byte &byte : message) {
		const std::byte kept = byte;
		for (const unsigned mask : testing::kByteMasks) {
			byte = kept ^ static_cast<std::byte>(mask);
			accepted += check(message) ? 1 : 0;
		}
		byte = kept;
	}
	return accepted;
}

TEST(Mutation, Clc)
{
	for (const auto text : golden::kClcMessages)
		EXPECT_GT(vary(hex(text), clc_comes_back), 0U);
	for (const auto text : handmade::kClcMessages)
		EXPECT_GT(vary(hex(text), clc_comes_back), 0U);
}

TEST(Mutation, Llc)
{
	for (const auto text : golden::kLlcMessages)
		EXPECT_GT(vary(hex(text), llc_comes_back), 0U);
	for (const auto text : handmade::kLlcMessages)
		EXPECT_GT(vary(hex(text), llc_comes_back), 0U);
}

TEST(Mutation, Cdc)
{
	const auto check = [](const Bytes &message) {
		const auto decoded = decode_cdc(message);
		if (!decoded)
			return false;
		Bytes again(kCdcSize);
		encode(*decoded, std::span<std::byte, kCdcSize>(again));
		EXPECT_EQ(*decode_cdc(again), *decoded);
		return true;
	};
	// Only type and length decide that.
	for (const auto text : golden::kCdcMessages)
		EXPECT_EQ(vary(hex(text), check), 42 * std::size(testing::kByteMasks) + 2U);
}

} // namespace
} // namespace smc::wire
