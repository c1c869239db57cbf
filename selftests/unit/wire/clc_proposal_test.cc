// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <gtest/gtest.h>

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
using testing::padded;
using testing::to_hex;
using testing::with;
using testing::with_be16;

Proposal golden_21()
{
	Proposal proposal;
	proposal.mode_v2 = ClcMode::kR;
	proposal.v2.release = 1;
	EXPECT_TRUE(proposal.v2.eids.push_back({padded("SMCV2-TEST-UEID")}));
	proposal.v2.roce_gid = gid_from_ipv4({10, 9, 0, 2});
	proposal.v2.max_conns = 255;
	proposal.v2.max_links = 2;
	proposal.v2.feature_mask = kFeatureEmulatedIsm;
	return proposal;
}

Proposal everything()
{
	Proposal proposal;
	proposal.mode_v1 = ClcMode::kBoth;
	proposal.mode_v2 = ClcMode::kBoth;
	proposal.peer_id = id_from_hex<PeerId>("0001525400000001");
	proposal.gid = id_from_hex<Gid>("fe80000000000000505400fffe000001");
	proposal.mac = id_from_hex<Mac>("525400000001");
	proposal.smcd_v1 = {.device = {.gid = IsmGid{0x1122334455667788}, .chid = Chid{0x0102}},
			    .vendor_oui = {0xaa, 0xbb, 0xcc},
			    .vendor_options = {1, 2, 3, 4, 5}};
	proposal.prefixes.ipv4 = {.network = {10, 9, 0, 0}, .length = 24};
	EXPECT_TRUE(proposal.prefixes.ipv6.push_back(
		{.network = {0x20, 0x01, 0x0d, 0xb8}, .length = 64}));
	proposal.v2.release = 1;
	proposal.v2.seid_present = true;
	EXPECT_TRUE(proposal.v2.eids.push_back({padded("ONE")}));
	EXPECT_TRUE(proposal.v2.eids.push_back({padded("TWO")}));
	proposal.v2.roce_gid = gid_from_ipv4({10, 9, 0, 2});
	proposal.v2.max_conns = 16;
	proposal.v2.max_links = 2;
	proposal.v2.feature_mask = 1;
	proposal.smcd_v2.system_eid = {padded("IBM-SYSS-ISMSEID0000000012345678")};
	EXPECT_TRUE(proposal.smcd_v2.devices.push_back(
		{.gid = IsmGid{0x8877665544332211}, .chid = Chid{0x0203}}));
	EXPECT_TRUE(
		proposal.smcd_v2.devices.push_back({.gid = IsmGid{0x42}, .chid = Chid{0xffff}}));
	return proposal;
}

Proposal largest()
{
	Proposal proposal = everything();
	while (!proposal.prefixes.ipv6.full())
		EXPECT_TRUE(proposal.prefixes.ipv6.push_back({.network = {0x20}, .length = 9}));
	while (!proposal.v2.eids.full())
		EXPECT_TRUE(proposal.v2.eids.push_back({padded("MORE")}));
	while (!proposal.smcd_v2.devices.full())
		EXPECT_TRUE(proposal.smcd_v2.devices.push_back({}));
	return proposal;
}

ClcError refused(const Bytes &message)
{
	const auto decoded = decode_proposal(message);
	EXPECT_FALSE(decoded) << to_hex(message);
	return decoded ? static_cast<ClcError>(255) : decoded.error();
}

// --- What Linux sends ----------------------------------------------------------------------

TEST(Proposal, OfLinux612IsReadAndWritten)
{
	EXPECT_EQ(*decode_proposal(hex(golden::kProposal21)), golden_21());
	EXPECT_EQ(to_hex(encoded(golden_21())), golden::kProposal21);
}

TEST(Proposal, OfLinux61IsReadAndWritten)
{
	Proposal proposal = golden_21();
	proposal.v2.release = 0;
	proposal.v2.max_conns = 0;
	proposal.v2.max_links = 0;
	proposal.v2.feature_mask = 0;
	EXPECT_EQ(*decode_proposal(hex(golden::kProposal20)), proposal);
	EXPECT_EQ(to_hex(encoded(proposal)), golden::kProposal20);
}

TEST(Proposal, WithEverythingIsReadAndWritten)
{
	EXPECT_EQ(*decode_proposal(hex(handmade::kProposalV2All)), everything());
	EXPECT_EQ(encoded(everything()), hex(handmade::kProposalV2All));
}

TEST(Proposal, OfVersion1IsReadAndWritten)
{
	Proposal proposal;
	proposal.version = 1;
	proposal.mode_v1 = ClcMode::kBoth;
	proposal.peer_id = id_from_hex<PeerId>("0001525400000001");
	proposal.gid = id_from_hex<Gid>("fe80000000000000505400fffe000001");
	proposal.mac = id_from_hex<Mac>("525400000001");
	proposal.smcd_v1.device.gid = IsmGid{0x1122334455667788};
	proposal.prefixes.ipv4 = {.network = {10, 9, 0, 0}, .length = 24};
	EXPECT_EQ(*decode_proposal(hex(handmade::kProposalV1Both)), proposal);
	EXPECT_EQ(encoded(proposal), hex(handmade::kProposalV1Both));
}

TEST(Proposal, OfVersion1MayLackTheSmcdArea)
{
	const auto decoded = decode_proposal(hex(handmade::kProposalV1));
	ASSERT_TRUE(decoded);
	EXPECT_EQ(decoded->version, 1);
	EXPECT_EQ(decoded->mode_v1, ClcMode::kR);
	EXPECT_EQ(decoded->mode_v2, ClcMode::kNone);
	EXPECT_EQ(decoded->smcd_v1, SmcdV1Area{});
	EXPECT_EQ(decoded->prefixes.ipv4.length, 24);
	ASSERT_EQ(decoded->prefixes.ipv6.size(), 1U);
	EXPECT_EQ(decoded->prefixes.ipv6[0].length, 64);
	// With the area, as Linux sends it; the meaning is the same.
	const Bytes again = encoded(*decoded);
	EXPECT_EQ(again.size(), 109U);
	EXPECT_EQ(*decode_proposal(again), *decoded);
}

// Four bytes that are too few for an area are skipped.
TEST(Proposal, OfVersion1MayHaveAnyOffsetUpTo40)
{
	Bytes message = hex(handmade::kProposalV1);
	const Bytes gap(4, std::byte{0x77});
	message.insert(message.begin() + 40, gap.begin(), gap.end());
	message = with_be16(with_be16(message, 38, 4), 5, 0x49);
	EXPECT_EQ(*decode_proposal(message), *decode_proposal(hex(handmade::kProposalV1)));
}

TEST(Proposal, VersionNibbleAbove2ReadsLike2)
{
	const auto decoded = decode_proposal(with(hex(golden::kProposal21), 7, 0xf2));
	ASSERT_TRUE(decoded);
	Proposal expected = golden_21();
	expected.version = 15;
	EXPECT_EQ(*decoded, expected);
	EXPECT_EQ(encoded(expected)[7], std::byte{0xf2});
}

// --- Encoding ------------------------------------------------------------------------------

TEST(Proposal, LargestIs652Bytes)
{
	const Bytes message = encoded(largest());
	EXPECT_EQ(message.size(), kClcEncodedSizeMax);
	EXPECT_EQ(*decode_proposal(message), largest());
	Bytes exact(kClcEncodedSizeMax);
	EXPECT_EQ(encode(largest(), exact), kClcEncodedSizeMax);
	EXPECT_EQ(exact, message);
}

TEST(Proposal, NeedsRoom)
{
	for (std::size_t size = 0; size < kClcEncodedSizeMax; size++) {
		Bytes out(size);
		ASSERT_EQ(encode(largest(), out), 0U) << size;
	}
}

TEST(Proposal, OfferingNothingStillHasTheSmcdArea)
{
	Proposal nothing;
	const Bytes message = encoded(nothing);
	EXPECT_EQ(message.size(), 84U);
	EXPECT_EQ(*decode_proposal(message), nothing);
}

TEST(Proposal, CombinationsComeBack)
{
	constexpr std::array kModes = {ClcMode::kR, ClcMode::kD, ClcMode::kNone, ClcMode::kBoth};
	for (const ClcMode v1 : kModes) {
		for (const ClcMode v2 : kModes) {
			Proposal proposal = everything();
			proposal.mode_v1 = v1;
			proposal.mode_v2 = v2;
			if (v1 == ClcMode::kNone)
				proposal.prefixes = {};
			if (v2 == ClcMode::kNone)
				proposal.v2 = {};
			if (!offers_d(v2))
				proposal.smcd_v2 = {};
			const auto decoded = decode_proposal(encoded(proposal));
			ASSERT_TRUE(decoded);
			EXPECT_EQ(*decoded, proposal);
		}
	}
}

// Linux reads byte 7 of a missing prefix area and wants at most 8 in it.
TEST(Proposal, WithoutPrefixesPassesLinuxsTestOfTheirCount)
{
	Proposal proposal = golden_21();
	for (const std::uint64_t gid : {0x0ULL, 0x8ULL, 0x9ULL, 0xffffffffffffffffULL}) {
		proposal.smcd_v1.device.gid = IsmGid{gid};
		const Bytes message = encoded(proposal);
		const unsigned offset = std::to_integer<unsigned>(message[38]) << 8 |
					std::to_integer<unsigned>(message[39]);
		ASSERT_LE(offset, 40U);
		EXPECT_LE(std::to_integer<unsigned>(message[40 + offset + 7]), 8U);
		EXPECT_EQ(*decode_proposal(message), proposal);
	}
}

TEST(Proposal, RefusesWhatNoMessageCanCarry)
{
	Proposal proposal = golden_21();
	proposal.version = 0;
	EXPECT_TRUE(encoded(proposal).empty());
	proposal.version = 16;
	EXPECT_TRUE(encoded(proposal).empty());
	proposal.version = 1; // with something in version 2
	EXPECT_TRUE(encoded(proposal).empty());
	proposal.mode_v2 = ClcMode::kNone; // with nothing
	EXPECT_TRUE(encoded(proposal).empty());
	proposal.mode_v1 = ClcMode::kR;
	EXPECT_EQ(encoded(proposal).size(), 92U);
	proposal = golden_21();
	proposal.v2.release = 16;
	EXPECT_TRUE(encoded(proposal).empty());
}

TEST(ClcMode, SaysWhatIsOffered)
{
	for (const bool r : {false, true}) {
		for (const bool d : {false, true}) {
			EXPECT_EQ(offers_r(clc_mode(r, d)), r);
			EXPECT_EQ(offers_d(clc_mode(r, d)), d);
		}
	}
}

// --- Refusing ------------------------------------------------------------------------------

TEST(Proposal, CutShortIsRefusedAtEveryLength)
{
	for (const auto text :
	     {golden::kProposal21, handmade::kProposalV1, handmade::kProposalV2All}) {
		const Bytes whole = hex(text);
		for (std::size_t size = 0; size < whole.size(); size++) {
			EXPECT_EQ(refused(first(whole, size)), ClcError::kTruncated);
			if (size < kClcHeaderSize)
				continue;
			// The same with a length that fits: the content is missing.
			const auto length = static_cast<std::uint16_t>(size);
			(void)refused(with_be16(first(whole, size), 5, length));
			Bytes ended = with_be16(first(whole, size), 5, length);
			if (size < kClcHeaderSize + kClcTrailerSize)
				continue;
			std::copy_n(whole.begin(), 4, ended.end() - 4);
			(void)refused(ended);
		}
	}
}

TEST(Proposal, HeaderMustBeRight)
{
	const Bytes good = hex(golden::kProposal21);
	EXPECT_EQ(refused(with(good, 0, 0)), ClcError::kBadEyecatcher);
	EXPECT_EQ(refused(with(good, 4, 2)), ClcError::kBadType);
	EXPECT_EQ(refused(with(good, 7, 0x02)), ClcError::kBadVersion);
	EXPECT_EQ(refused(with(good, 155, 0)), ClcError::kBadTrailer);
	Bytes longer = good;
	longer.push_back({});
	EXPECT_EQ(refused(longer), ClcError::kBadLength);
	EXPECT_TRUE(decode_proposal(with(good, 155, 0xc4))); // the other eyecatcher
	EXPECT_TRUE(decode_proposal(with(good, 3, 0xc4)));
}

TEST(Proposal, OfVersion1MustOfferSomething)
{
	EXPECT_EQ(refused(with(hex(handmade::kProposalV1), 7, 0x12)), ClcError::kBadMode);
}

TEST(Proposal, OfVersion1HasAnExactLength)
{
	const Bytes good = hex(handmade::kProposalV1);
	Bytes longer = with_be16(good, 5, 70);
	longer.insert(longer.end() - 4, std::byte{0});
	EXPECT_EQ(refused(longer), ClcError::kBadLength);
	EXPECT_EQ(refused(with(good, 47, 0)), ClcError::kBadLength);
	EXPECT_EQ(refused(with(good, 47, 2)), ClcError::kBadLength);
}

TEST(Proposal, OfVersion1BoundsItsOffset)
{
	const Bytes good = hex(handmade::kProposalV1);
	EXPECT_EQ(refused(with_be16(good, 38, 41)), ClcError::kBadOffset);
	EXPECT_EQ(refused(with_be16(good, 38, 0xffff)), ClcError::kBadOffset);
	EXPECT_EQ(refused(with_be16(good, 38, 40)), ClcError::kBadLength);
	EXPECT_EQ(refused(with_be16(good, 38, 24)), ClcError::kBadLength);
	// SMC-D needs its area.
	EXPECT_EQ(refused(with(good, 7, 0x11)), ClcError::kBadOffset);
	EXPECT_EQ(refused(with_be16(hex(handmade::kProposalV1Both), 38, 0)), ClcError::kBadOffset);
}

TEST(Proposal, PrefixesMustBeWhereTheyBelong)
{
	const Bytes good = hex(handmade::kProposalV2All);
	for (const std::uint16_t offset : {0, 39, 41, 0xffff})
		EXPECT_EQ(refused(with_be16(good, 38, offset)), ClcError::kBadOffset);
	// A prefix area that does not exist is not checked.
	EXPECT_TRUE(decode_proposal(with_be16(hex(golden::kProposal21), 38, 40)));
	EXPECT_EQ(refused(with_be16(hex(golden::kProposal21), 38, 41)), ClcError::kBadOffset);
}

TEST(Proposal, HasAtMostEightOfEachList)
{
	const Bytes good = encoded(largest());
	EXPECT_EQ(refused(with(good, 87, 9)), ClcError::kBadCount);
	const std::size_t v2_at = 80 + 8 + 8 * 17;
	EXPECT_EQ(refused(with(good, v2_at, 9)), ClcError::kBadCount);
	EXPECT_EQ(refused(with(good, v2_at, 255)), ClcError::kBadCount);
	// A ninth device would lie in the trailer; make room for it.
	Bytes longer = with(with_be16(good, 5, 662), v2_at + 1, 9);
	longer.insert(longer.end() - 4, 10, std::byte{0});
	EXPECT_EQ(refused(longer), ClcError::kBadCount);
}

TEST(Proposal, ListsMustBeAllThere)
{
	const Bytes good = hex(golden::kProposal21);
	EXPECT_EQ(refused(with(good, 80, 2)), ClcError::kBadLength);
	const Bytes all = hex(handmade::kProposalV2All);
	const std::size_t v2_at = 80 + 8 + 17;
	EXPECT_EQ(refused(with(all, v2_at + 1, 3)), ClcError::kBadLength);
	Bytes v4_only = with(hex(golden::kProposal21), 7, 0x20);
	EXPECT_EQ(refused(with_be16(v4_only, 38, 40)), ClcError::kBadOffset);
}

TEST(Proposal, OffsetOfTheV2AreaIsChecked)
{
	const Bytes good = hex(golden::kProposal21);
	for (const std::uint16_t offset : {0, 27, 61, 100, 172, 0xffff})
		EXPECT_EQ(refused(with_be16(good, 50, offset)), ClcError::kBadOffset) << offset;
	// Its start is inside the message, its EID is not.
	EXPECT_EQ(refused(with(with_be16(good, 50, 29), 81, 1)), ClcError::kBadLength);
	// Into the prefixes.
	EXPECT_EQ(refused(with_be16(hex(handmade::kProposalV2All), 50, 52)), ClcError::kBadOffset);
}

TEST(Proposal, OffsetOfTheSmcdV2AreaIsChecked)
{
	const Bytes good = hex(handmade::kProposalV2All);
	const std::size_t field_at = 80 + 8 + 17 + 6;
	for (const std::uint16_t offset : {0, 95, 117, 0xffff})
		EXPECT_EQ(refused(with_be16(good, field_at, offset)), ClcError::kBadOffset)
			<< offset;
	EXPECT_EQ(refused(with_be16(good, field_at, 97)), ClcError::kBadLength);
	EXPECT_EQ(refused(with_be16(good, field_at, 116)), ClcError::kBadLength);
	// If SMC-D is not offered, it does not matter.
	EXPECT_TRUE(decode_proposal(with_be16(with(good, 7, 0x23), field_at, 0)));
}

TEST(Proposal, OfVersion2MayHaveGapsAndATail)
{
	Bytes message = hex(handmade::kProposalV2All);
	const Bytes gap(6, std::byte{0x77});
	const std::size_t v2_at = 80 + 8 + 17;
	const std::size_t smcd_at = v2_at + 40 + 64;
	message.insert(message.end() - 4, gap.begin(), gap.end());
	message.insert(message.begin() + smcd_at, gap.begin(), gap.end());
	message.insert(message.begin() + v2_at, gap.begin(), gap.end());
	message = with_be16(message, v2_at + 6 + 6, 0x60 + 6);
	message = with_be16(message, 50, 0x35 + 6);
	message = with_be16(message, 5, 0x119 + 18);
	EXPECT_EQ(*decode_proposal(message), everything());
}

} // namespace
} // namespace smc::wire
