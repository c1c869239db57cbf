// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

namespace smc::group {

// Links of one group: two, and a third one while an asymmetric link is being replaced.
inline constexpr std::size_t kLinksMax = 3;
// RMBs of the peer that one group remembers.
inline constexpr std::size_t kRtokensMax = 255;
// DELETE_RKEYs that may wait at a time.
inline constexpr std::size_t kDeletionsMax = 32;
// Flows that may wait at a time. Each connection has one CONFIRM_RKEY at most.
inline constexpr std::size_t kFlowsWaitingMax = 255 + kDeletionsMax;
// A group with so many violations of the protocol ends; one is forgotten after each of these
// periods.
inline constexpr std::uint32_t kViolationsMax = 16;
inline constexpr std::uint64_t kViolationForgotten_ms = 10000;
// So many links may be added in a row, and then one in each of these periods.
inline constexpr std::uint32_t kAdditionsMax = 8;
inline constexpr std::uint64_t kAdditionForgotten_ms = 2000;
// So many times it doubles until the next try, where a link cannot be added: four minutes.
inline constexpr std::uint32_t kAdditionFailuresMax = 7;
// How often a DELETE_LINK is sent that the peer does not answer.
inline constexpr std::uint32_t kDeletionTries = 3;
// Unanswered requests that are remembered, since a response may still come.
inline constexpr std::size_t kOverdueMax = 8;

// Slot of a link in its group, 0 … kLinksMax - 1. Local; the peers speak of link ids.
using LinkIndex = std::uint8_t;
// Slot of a peer's RMB in the group's table, 0 … kRtokensMax - 1.
using RtokenIndex = std::uint8_t;
// The caller's name for a flow, given back when the flow ends. The group does not interpret it.
using FlowId = std::uint64_t;

} // namespace smc::group
