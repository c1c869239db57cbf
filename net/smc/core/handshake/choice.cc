// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/choice.hpp"

#include <algorithm>
#include <array>

#include "core/base/check.hpp"

namespace smc::handshake {
namespace {

using wire::DeclineReason;

[[nodiscard]] bool share_prefix(const wire::PrefixArea &peers, const LocalOffer &offer)
{
	// An IPv6 socket sends its IPv6 prefixes and leaves the IPv4 one empty.
	if (peers.ipv6.empty()) {
		return std::find(offer.ipv4_prefixes.begin(), offer.ipv4_prefixes.end(),
				 peers.ipv4) != offer.ipv4_prefixes.end();
	}
	return std::find_first_of(peers.ipv6.begin(), peers.ipv6.end(), offer.ipv6_prefixes.begin(),
				  offer.ipv6_prefixes.end()) != peers.ipv6.end();
}

// What SMC-R of version 2 agrees on, of whichever kind of device.
[[nodiscard]] Result<Choice, DeclineReason>
agree_v2(const wire::Proposal &proposal, const LocalOffer &offer, wire::Capabilities understood)
{
	const wire::V2Area &theirs = proposal.v2;
	Choice choice;
	Agreement &agreement = choice.agreement;

	const auto eid = std::find_first_of(theirs.eids.begin(), theirs.eids.end(),
					    offer.eids.begin(), offer.eids.end());
	if (eid == theirs.eids.end())
		return fail(DeclineReason::kNoUeid);
	if (theirs.roce_gid.is_zero())
		return fail(DeclineReason::kNoSmcrDev);

	agreement.version = 2;
	agreement.peer_id = proposal.peer_id;
	agreement.eid = *eid;
	agreement.release = std::min(theirs.release, offer.release);
	agreement.max_conns = kMaxConnsDefault;
	agreement.max_links = kMaxLinksDefault;
	if (agreement.release >= 1) {
		agreement.max_conns = std::min(theirs.max_conns, offer.max_conns);
		agreement.max_links = std::min(theirs.max_links, offer.max_links);
		agreement.feature_mask = offer.feature_mask;
		agreement.capabilities =
			wire::offered(proposal.smcd_v1) & offer.capabilities & understood;
		if (agreement.max_conns < kMaxConnsLeast)
			return fail(DeclineReason::kMaxConnErr);
		if (agreement.max_links < kMaxLinksLeast)
			return fail(DeclineReason::kMaxLinkErr);
	}
	choice.peer_id = proposal.peer_id;
	choice.peer_gid = theirs.roce_gid;
	choice.peer_mac = proposal.mac;
	return choice;
}

void try_choice(const Result<Choice, DeclineReason> &choice, Choices &choices)
{
	if (choice) {
		const bool fits = choices.list.push_back(*choice);

		expects(fits);
	} else if (choices.reason == DeclineReason::kNone) {
		choices.reason = choice.error();
	}
}

} // namespace

Result<Choice, DeclineReason> choose_smcd(const wire::Proposal &proposal, const LocalOffer &offer)
{
	const auto &devices = proposal.smcd_v2.devices;
	// An emulated device takes two entries.
	const std::array<wire::IsmDevice, 2> ours{
		{{offer.smcd_gid, wire::kLoopbackChid},
		 {offer.smcd_gid_extension, wire::kLoopbackChid}}};
	Choice choice;

	if (!offer.smcd)
		return fail(DeclineReason::kNoSmcdDev);
	if (std::search(devices.begin(), devices.end(), ours.begin(), ours.end()) == devices.end())
		return fail(DeclineReason::kNoSmcd2Dev);
	choice.agreement.version = 2;
	choice.agreement.smcd = true;
	choice.agreement.first_contact = true;
	choice.agreement.release = std::min(proposal.v2.release, offer.release);
	choice.agreement.feature_mask = wire::kFeatureEmulatedIsm;
	return choice;
}

Result<Choice, DeclineReason> choose_smcr_v2(const wire::Proposal &proposal,
					     const LocalOffer &offer)
{
	if (!offer.smcr_v2)
		return fail(offer.any_smcr() ? DeclineReason::kNoSmcrDev : offer.unavailable);
	return agree_v2(proposal, offer,
			static_cast<wire::Capabilities>(~wire::capability::kIwarp));
}

// A message that needs no receive of its own is not to be had there: no compact ones.
Result<Choice, DeclineReason> choose_iwarp(const wire::Proposal &proposal, const LocalOffer &offer)
{
	if (!offer.iwarp)
		return fail(offer.any_smcr() ? DeclineReason::kNoSmcrDev : offer.unavailable);
	if (wire::is_link_local(proposal.v2.roce_gid))
		return fail(DeclineReason::kNoSmcrDev);
	auto choice = agree_v2(proposal, offer,
			       wire::capability::kIwarp | wire::capability::kGrowingRings |
				       wire::capability::kEndByReset);

	if (choice && !choice->agreement.iwarp())
		return fail(DeclineReason::kNoSmcrDev);
	return choice;
}

Result<Choice, DeclineReason> choose_smcr_v1(const wire::Proposal &proposal,
					     const LocalOffer &offer)
{
	Choice choice;

	if (!offer.smcr_v1)
		return fail(offer.any_smcr() ? DeclineReason::kNoSmcrDev : offer.unavailable);
	if (!share_prefix(proposal.prefixes, offer))
		return fail(DeclineReason::kDiffPrefix);
	if (proposal.gid.is_zero())
		return fail(DeclineReason::kNoSmcrDev);

	choice.agreement.version = 1;
	choice.agreement.peer_id = proposal.peer_id;
	choice.agreement.max_conns = kMaxConnsDefault;
	choice.agreement.max_links = kMaxLinksDefault;
	choice.peer_id = proposal.peer_id;
	choice.peer_gid = proposal.gid;
	choice.peer_mac = proposal.mac;
	return choice;
}

// The order is that of Linux: SMC-Dv2, SMC-Dv1, SMC-Rv2, SMC-Rv1. SMC-D goes first because where
// it is possible at all both ends share a machine. iWARP is offered as SMC-D.
Choices choose(const wire::Proposal &proposal, const LocalOffer &offer)
{
	Choices choices;
	DeclineReason no_smcd = DeclineReason::kNoSmcdDev;

	if (wire::offers_d(proposal.mode_v2)) {
		const auto smcd = choose_smcd(proposal, offer);

		// A client of another host wants SMC-R first.
		if (smcd)
			try_choice(smcd, choices);
		else
			no_smcd = smcd.error();
		if ((wire::offered(proposal.smcd_v1) & wire::capability::kIwarp) != 0)
			try_choice(choose_iwarp(proposal, offer), choices);
	}
	if (wire::offers_r(proposal.mode_v2))
		try_choice(choose_smcr_v2(proposal, offer), choices);
	if (wire::offers_r(proposal.mode_v1))
		try_choice(choose_smcr_v1(proposal, offer), choices);
	if (choices.list.empty() && choices.reason == DeclineReason::kNone) {
		const bool something =
			wire::offers_d(proposal.mode_v2) || wire::offers_d(proposal.mode_v1);

		choices.reason = something ? no_smcd : DeclineReason::kPeerNoSmc;
	}
	return choices;
}

} // namespace smc::handshake
