// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>

namespace smc::handshake {

// States of both machines; the order in which they are passed through differs, and
// kAwaitConfirm is the server's, kAwaitAccept is the client's. In kAwaitProposal a client is only
// if its peer is one as well.
enum class State : std::uint8_t {
	kIdle,
	kAwaitProposal,
	kAwaitAccept,
	kAcquiringLink,
	kConnectingLink,
	kAnnouncingRkey,
	kAwaitConfirm,
	kConfirmingLink,
	kAwaitDecline, // CONFIRM_LINK failed: has the peer already declined?
	kFinished,
};

inline constexpr std::uint8_t kStates = 10;

[[nodiscard]] std::string_view name(State state);

} // namespace smc::handshake
