// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/choice.hpp"

#include <gtest/gtest.h>

#include "handshake/side.hpp"

namespace smc::handshake::test {
namespace {

using wire::ClcMode;
using wire::DeclineReason;

wire::Proposal proposal_of(ClcMode v1, ClcMode v2)
{
	wire::Proposal proposal;

	proposal.mode_v1 = v1;
	proposal.mode_v2 = v2;
	proposal.gid = v1_gid_of(2);
	proposal.prefixes.ipv4 = {{10, 9, 0, 0}, 24};
	EXPECT_TRUE(proposal.v2.eids.push_back(eid("SMCV2-TEST-UEID")));
	proposal.v2.roce_gid = gid_of(2);
	proposal.v2.release = 1;
	proposal.v2.max_conns = 255;
	proposal.v2.max_links = 2;
	return proposal;
}

TEST(Choice, BestFirst)
{
	const Choices both =
		choose(proposal_of(ClcMode::kBoth, ClcMode::kR), offer_of(1, true, true));

	ASSERT_EQ(both.list.size(), 2U);
	EXPECT_EQ(both.list[0].agreement.version, 2);
	EXPECT_EQ(both.list[1].agreement.version, 1);
	EXPECT_EQ(both.reason, DeclineReason::kNone);
}

TEST(Choice, OnlyWhatBothHave)
{
	const Choices v1 = choose(proposal_of(ClcMode::kR, ClcMode::kR), offer_of(1, true, false));
	const Choices v2 = choose(proposal_of(ClcMode::kR, ClcMode::kR), offer_of(1, false, true));

	ASSERT_EQ(v1.list.size(), 1U);
	EXPECT_EQ(v1.list[0].agreement.version, 1);
	ASSERT_EQ(v2.list.size(), 1U);
	EXPECT_EQ(v2.list[0].agreement.version, 2);
}

TEST(Choice, NothingProposed)
{
	EXPECT_EQ(
		choose(proposal_of(ClcMode::kNone, ClcMode::kNone), offer_of(1, true, true)).reason,
		DeclineReason::kPeerNoSmc);
}

TEST(Choice, SmcdAloneHasNoDeviceHere)
{
	EXPECT_EQ(choose(proposal_of(ClcMode::kD, ClcMode::kNone), offer_of(1, true, true)).reason,
		  DeclineReason::kNoSmcdDev);
	EXPECT_EQ(choose(proposal_of(ClcMode::kNone, ClcMode::kD), offer_of(1, true, true)).reason,
		  DeclineReason::kNoSmcdDev);
}

TEST(ChoiceV2, FirstEidOfTheClientThatIsOurs)
{
	wire::Proposal proposal = proposal_of(ClcMode::kNone, ClcMode::kR);
	LocalOffer offer = offer_of(1, false, true);

	proposal.v2.eids.clear();
	for (const char *text : {"NOT-HERE", "SECOND", "FIRST"})
		ASSERT_TRUE(proposal.v2.eids.push_back(eid(text)));
	for (const char *text : {"FIRST", "SECOND"})
		ASSERT_TRUE(offer.eids.push_back(eid(text)));
	const auto choice = choose_smcr_v2(proposal, offer);
	ASSERT_TRUE(choice);
	EXPECT_EQ(choice->agreement.eid, eid("SECOND"));
}

TEST(ChoiceV2, Refusals)
{
	wire::Proposal proposal = proposal_of(ClcMode::kNone, ClcMode::kR);
	LocalOffer offer = offer_of(1, false, true);

	EXPECT_EQ(choose_smcr_v2(proposal, offer_of(1, true, false)).error(),
		  DeclineReason::kNoSmcrDev);
	EXPECT_EQ(choose_smcr_v2(proposal, offer_of(1, false, false)).error(),
		  DeclineReason::kNoSmcDev);

	proposal.v2.max_conns = 15;
	EXPECT_EQ(choose_smcr_v2(proposal, offer).error(), DeclineReason::kMaxConnErr);
	proposal.v2.max_conns = 16;
	EXPECT_TRUE(choose_smcr_v2(proposal, offer));
	proposal.v2.max_links = 0;
	EXPECT_EQ(choose_smcr_v2(proposal, offer).error(), DeclineReason::kMaxLinkErr);
	proposal.v2.release = 0; // no limits
	EXPECT_TRUE(choose_smcr_v2(proposal, offer));

	proposal.v2.roce_gid = {};
	EXPECT_EQ(choose_smcr_v2(proposal, offer).error(), DeclineReason::kNoSmcrDev);
	offer.eids.clear();
	EXPECT_EQ(choose_smcr_v2(proposal, offer).error(), DeclineReason::kNoUeid);
}

TEST(ChoiceV2, TheLesserOfBothIsAgreedOn)
{
	wire::Proposal proposal = proposal_of(ClcMode::kNone, ClcMode::kR);
	LocalOffer offer = offer_of(1, false, true);

	proposal.v2.max_conns = 200;
	proposal.v2.max_links = 1;
	offer.max_conns = 100;
	offer.max_links = 2;
	const auto ours_is_less = choose_smcr_v2(proposal, offer);
	ASSERT_TRUE(ours_is_less);
	EXPECT_EQ(ours_is_less->agreement.max_conns, 100);
	EXPECT_EQ(ours_is_less->agreement.max_links, 1);
	EXPECT_EQ(ours_is_less->agreement.feature_mask, offer.feature_mask);

	proposal.v2.max_conns = 50;
	proposal.v2.max_links = 9;
	proposal.v2.release = 7;
	const auto theirs_is_less = choose_smcr_v2(proposal, offer);
	ASSERT_TRUE(theirs_is_less);
	EXPECT_EQ(theirs_is_less->agreement.max_conns, 50);
	EXPECT_EQ(theirs_is_less->agreement.max_links, 2);
	EXPECT_EQ(theirs_is_less->agreement.release, offer.release);
}

// The field in its place is ignored.
TEST(ChoiceV2, ReleaseZeroHasNeitherLimitsNorFeatures)
{
	wire::Proposal proposal = proposal_of(ClcMode::kNone, ClcMode::kR);

	proposal.v2.release = 0;
	proposal.v2.max_conns = 20;
	proposal.v2.max_links = 1;
	const auto choice = choose_smcr_v2(proposal, offer_of(1, false, true));
	ASSERT_TRUE(choice);
	EXPECT_EQ(choice->agreement.release, 0);
	EXPECT_EQ(choice->agreement.max_conns, kMaxConnsDefault);
	EXPECT_EQ(choice->agreement.max_links, kMaxLinksDefault);
	EXPECT_EQ(choice->agreement.feature_mask, 0);
}

TEST(ChoiceD, TheLesserRelease)
{
	wire::Proposal proposal = proposal_of(ClcMode::kNone, ClcMode::kD);
	const LocalOffer offer = near_offer_of(1);

	for (const wire::IsmGid gid : {offer.smcd_gid, offer.smcd_gid_extension})
		ASSERT_TRUE(proposal.smcd_v2.devices.push_back({gid, wire::kLoopbackChid}));
	proposal.v2.release = 7;
	const auto choice = choose_smcd(proposal, offer);
	ASSERT_TRUE(choice);
	EXPECT_EQ(choice->agreement.release, offer.release);
}

// The client gets the reason of the transport that was tried first.
TEST(Choice, TheFirstReasonIsTold)
{
	wire::Proposal proposal = proposal_of(ClcMode::kR, ClcMode::kR);

	proposal.v2.roce_gid = {};
	proposal.prefixes.ipv4.length = 25;
	const Choices choices = choose(proposal, offer_of(1, true, true));
	EXPECT_TRUE(choices.list.empty());
	EXPECT_EQ(choices.reason, DeclineReason::kNoSmcrDev);
}

TEST(ChoiceV1, PrefixHasToMatchInLengthAndNetwork)
{
	wire::Proposal proposal = proposal_of(ClcMode::kR, ClcMode::kNone);
	LocalOffer offer = offer_of(1, true, false);

	EXPECT_TRUE(choose_smcr_v1(proposal, offer));
	proposal.prefixes.ipv4.length = 25;
	EXPECT_EQ(choose_smcr_v1(proposal, offer).error(), DeclineReason::kDiffPrefix);
	proposal.prefixes.ipv4 = {{10, 8, 0, 0}, 24};
	EXPECT_EQ(choose_smcr_v1(proposal, offer).error(), DeclineReason::kDiffPrefix);
	ASSERT_TRUE(offer.ipv4_prefixes.push_back({{10, 8, 0, 0}, 24}));
	EXPECT_TRUE(choose_smcr_v1(proposal, offer));
}

TEST(ChoiceV1, AnyIpv6PrefixWillDo)
{
	wire::Proposal proposal = proposal_of(ClcMode::kR, ClcMode::kNone);
	LocalOffer offer = offer_of(1, true, false);
	const wire::Ipv6Prefix ours{{0x20, 1, 0xd, 0xb8}, 64};

	ASSERT_TRUE(offer.ipv6_prefixes.push_back(ours));
	ASSERT_TRUE(proposal.prefixes.ipv6.push_back({{0xfd}, 64}));
	EXPECT_EQ(choose_smcr_v1(proposal, offer).error(), DeclineReason::kDiffPrefix);
	ASSERT_TRUE(proposal.prefixes.ipv6.push_back(ours));
	EXPECT_TRUE(choose_smcr_v1(proposal, offer));
}

TEST(ChoiceV1, Refusals)
{
	wire::Proposal proposal = proposal_of(ClcMode::kR, ClcMode::kNone);

	EXPECT_EQ(choose_smcr_v1(proposal, offer_of(1, false, true)).error(),
		  DeclineReason::kNoSmcrDev);
	EXPECT_EQ(choose_smcr_v1(proposal, offer_of(1, false, false)).error(),
		  DeclineReason::kNoSmcDev);
	proposal.gid = {};
	EXPECT_EQ(choose_smcr_v1(proposal, offer_of(1, true, false)).error(),
		  DeclineReason::kNoSmcrDev);
}

} // namespace
} // namespace smc::handshake::test
