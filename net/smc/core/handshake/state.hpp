// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>

namespace smc::handshake {

// States of both machines, which pass through them in different orders. Only a server is in
// kAwaitConfirm, only a client in kAwaitAccept, and a client is in kAwaitProposal only if its peer
// is a client, too.
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
