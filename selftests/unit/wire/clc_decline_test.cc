// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <gtest/gtest.h>

#include <set>

#include "wire/golden.hpp"
#include "wire/handmade.hpp"
#include "wire/hex.hpp"

namespace smc::wire {
namespace {

using testing::Bytes;
using testing::encoded;
using testing::first;
using testing::hex;
using testing::id_from_hex;
using testing::to_hex;
using testing::with;
using testing::with_be16;

ClcError refused(const Bytes &message)
{
	const auto decoded = decode_decline(message);
	EXPECT_FALSE(decoded) << to_hex(message);
	return decoded ? static_cast<ClcError>(255) : decoded.error();
}

TEST(Decline, OfVersion1)
{
	const Decline decline{
		.version = 1, .reason = DeclineReason::kNoSmcDev, .os = ClcOs::kUnknown};
	EXPECT_EQ(*decode_decline(hex(handmade::kDeclineV1)), decline);
	EXPECT_EQ(encoded(decline), hex(handmade::kDeclineV1));
}

TEST(Decline, OfVersion2)
{
	const Decline decline{.version = 2,
			      .peer_id = id_from_hex<PeerId>("0ca3525400000001"),
			      .reason = DeclineReason::kTimeoutCl,
			      .os = ClcOs::kLinux};
	EXPECT_EQ(*decode_decline(hex(golden::kDecline)), decline);
	EXPECT_EQ(to_hex(encoded(decline)), golden::kDecline);
}

TEST(Decline, OutOfSync)
{
	const Decline decline{.version = 2,
			      .out_of_sync = true,
			      .peer_id = id_from_hex<PeerId>("0001525400000001"),
			      .reason = DeclineReason::kSyncErr,
			      .os = ClcOs::kZos,
			      .more_reasons = {1, 2, 3, 4}};
	EXPECT_EQ(*decode_decline(hex(handmade::kDeclineV2OutOfSync)), decline);
	EXPECT_EQ(encoded(decline), hex(handmade::kDeclineV2OutOfSync));
}

TEST(Decline, KeepsReasonsThatHaveNoName)
{
	const auto decoded = decode_decline(with_be16(hex(golden::kDecline), 16, 0xdead));
	ASSERT_TRUE(decoded);
	EXPECT_EQ(static_cast<std::uint32_t>(decoded->reason), 0xdead0000U);
	EXPECT_EQ(name(decoded->reason), "UNKNOWN");
}

// Linux ignores it, too: the message is a Decline all the same.
TEST(Decline, TrailerDoesNotMatter)
{
	EXPECT_TRUE(decode_decline(with(hex(golden::kDecline), 43, 0)));
}

TEST(Decline, HasOneOfTwoLengths)
{
	const Bytes v2 = hex(golden::kDecline);
	for (std::size_t size = 0; size < v2.size(); size++)
		EXPECT_EQ(refused(first(v2, size)), ClcError::kTruncated);
	for (std::size_t size = kClcHeaderSize; size < v2.size(); size++) {
		if (size == 28)
			continue;
		EXPECT_EQ(refused(with_be16(first(v2, size), 5, static_cast<std::uint16_t>(size))),
			  ClcError::kBadLength);
	}
	Bytes longer = with_be16(v2, 5, 45);
	longer.push_back({});
	EXPECT_EQ(refused(longer), ClcError::kBadLength);
	EXPECT_EQ(refused(hex(golden::kAcceptLater)), ClcError::kBadType);
}

// The version does not tell the length: Linux 5.10 to 5.15 only know the shorter one, with version
// 2.
TEST(Decline, LengthAndVersionAreNotTheSame)
{
	const Decline as_v1{.version = 1,
			    .peer_id = id_from_hex<PeerId>("0001525400000001"),
			    .reason = DeclineReason::kSyncErr,
			    .os = ClcOs::kUnknown};
	const auto longer = decode_decline(with(hex(handmade::kDeclineV2OutOfSync), 7, 0x10));
	ASSERT_TRUE(longer);
	EXPECT_EQ(*longer, as_v1);

	const Decline as_v2{
		.version = 2, .reason = DeclineReason::kNoSmcDev, .os = ClcOs::kUnknown};
	const auto shorter = decode_decline(with(hex(handmade::kDeclineV1), 7, 0x20));
	ASSERT_TRUE(shorter);
	EXPECT_EQ(*shorter, as_v2);
}

TEST(Decline, NeedsRoom)
{
	for (std::size_t size = 0; size < 44; size++) {
		Bytes out(size);
		ASSERT_EQ(encode(Decline{}, out), 0U);
	}
	Bytes out(28);
	EXPECT_EQ(encode(Decline{.version = 1}, out), 28U);
}

TEST(Decline, RefusesWhatNoMessageCanCarry)
{
	EXPECT_TRUE(encoded(Decline{.version = 0}).empty());
	EXPECT_TRUE(encoded(Decline{.version = 16}).empty());
	EXPECT_TRUE(encoded(Decline{.os = static_cast<ClcOs>(16)}).empty());
}

TEST(DeclineReason, NamesAreThoseOfTheProtocol)
{
	constexpr std::array kReasons = {
		DeclineReason::kNone,       DeclineReason::kMem,        DeclineReason::kTimeoutCl,
		DeclineReason::kTimeoutAl,  DeclineReason::kCnfErr,     DeclineReason::kPeerNoSmc,
		DeclineReason::kIpsec,      DeclineReason::kNoSmcDev,   DeclineReason::kNoSmcdDev,
		DeclineReason::kNoSmcrDev,  DeclineReason::kNoIsm2Supp, DeclineReason::kNoV2Ext,
		DeclineReason::kNoV2dExt,   DeclineReason::kNoSeid,     DeclineReason::kNoSmcd2Dev,
		DeclineReason::kNoUeid,     DeclineReason::kReleaseErr, DeclineReason::kMaxConnErr,
		DeclineReason::kMaxLinkErr, DeclineReason::kModeUnsupp, DeclineReason::kRmbeEc,
		DeclineReason::kOptUnsupp,  DeclineReason::kDiffPrefix, DeclineReason::kGetVlanErr,
		DeclineReason::kIsmVlanErr, DeclineReason::kNoActLink,  DeclineReason::kNoSrvLink,
		DeclineReason::kVersMismat, DeclineReason::kMaxDmb,     DeclineReason::kNoRoute,
		DeclineReason::kNoIndirect, DeclineReason::kSyncErr,    DeclineReason::kPeerDecl,
		DeclineReason::kIntErr,     DeclineReason::kErrRtok,    DeclineReason::kErrRdyLnk,
		DeclineReason::kErrRegBuf,
	};
	std::set<std::string_view> names;
	std::set<DeclineReason> values;
	for (const DeclineReason reason : kReasons) {
		values.insert(reason);
		names.insert(name(reason));
	}
	EXPECT_EQ(values.size(), 37U);
	EXPECT_EQ(names.size(), values.size());
	EXPECT_FALSE(names.contains("UNKNOWN"));
	EXPECT_EQ(name(DeclineReason::kNoSmcDev), "NOSMCDEV");
	EXPECT_EQ(static_cast<std::uint32_t>(DeclineReason::kNoUeid), 0x03030008U);
	EXPECT_EQ(name(static_cast<DeclineReason>(1)), "UNKNOWN");
}

} // namespace
} // namespace smc::wire
