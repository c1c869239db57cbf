// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>

#include "core/base/fixed_vector.hpp"
#include "core/base/result.hpp"
#include "core/handshake/effect.hpp"
#include "core/handshake/offer.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"

namespace smc::handshake {

// One way to do what a Proposal asks for.
struct Choice {
	Agreement agreement;
	wire::PeerId peer_id;
	wire::Gid peer_gid;
	wire::Mac peer_mac;
};

inline constexpr std::size_t kChoicesMax = 4;

// All ways, the best one first. The next one is tried if no link can be had for this one.
struct Choices {
	FixedVector<Choice, kChoicesMax> list;
	// Why there is none, for the best kind that both sides want; kNone if there is one.
	wire::DeclineReason reason = wire::DeclineReason::kNone;
};

[[nodiscard]] Choices choose(const wire::Proposal &proposal, const LocalOffer &offer);

// SMC-D: the client is in this kernel. No EID is needed.
[[nodiscard]] Result<Choice, wire::DeclineReason> choose_smcd(const wire::Proposal &proposal,
							      const LocalOffer &offer);
// SMC-R version 2: one EID in common; the smaller release and limits of both sides.
[[nodiscard]] Result<Choice, wire::DeclineReason> choose_smcr_v2(const wire::Proposal &proposal,
								 const LocalOffer &offer);
// SMC-R over iWARP: the same, with release 2.1 at either end.
[[nodiscard]] Result<Choice, wire::DeclineReason> choose_iwarp(const wire::Proposal &proposal,
							       const LocalOffer &offer);
// SMC-R version 1: one IP prefix in common.
[[nodiscard]] Result<Choice, wire::DeclineReason> choose_smcr_v1(const wire::Proposal &proposal,
								 const LocalOffer &offer);

} // namespace smc::handshake
