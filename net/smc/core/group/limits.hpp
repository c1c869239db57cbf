// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

namespace smc::group {

// Links of one group: two, and a third one while an asymmetric one is being replaced.
inline constexpr std::size_t kLinksMax = 3;
// RMBs of the peer that one group knows.
inline constexpr std::size_t kRtokensMax = 255;
// DELETE_RKEYs that may wait for their turn at a time.
inline constexpr std::size_t kDeletionsMax = 32;
// Flows of ours that wait for their turn. Each connection has one CONFIRM_RKEY at most.
inline constexpr std::size_t kFlowsWaitingMax = 255 + kDeletionsMax;
// Violations of the protocol after which a group is given up, and after how long one is forgotten.
inline constexpr std::uint32_t kViolationsMax = 16;
inline constexpr std::uint64_t kViolationForgotten_ms = 10000;
// Requests of ours that are remembered while a late response may come.
inline constexpr std::size_t kOverdueMax = 8;

// Slot of a link in its group, 0 … kLinksMax - 1. Local; the peers speak of link ids.
using LinkIndex = std::uint8_t;
// Slot of a peer's RMB in the group's table, 0 … kRtokensMax - 1.
using RtokenIndex = std::uint8_t;
// The caller's name for a flow, handed back when the flow ends. Never interpreted.
using FlowId = std::uint64_t;

} // namespace smc::group
