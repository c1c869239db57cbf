// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/state.hpp"

namespace smc::handshake {

std::string_view name(State state)
{
	switch (state) {
	case State::kIdle: return "IDLE";
	case State::kAwaitProposal: return "AWAIT_PROPOSAL";
	case State::kAwaitAccept: return "AWAIT_ACCEPT";
	case State::kAcquiringLink: return "ACQUIRING_LINK";
	case State::kConnectingLink: return "CONNECTING_LINK";
	case State::kAnnouncingRkey: return "ANNOUNCING_RKEY";
	case State::kAwaitConfirm: return "AWAIT_CONFIRM";
	case State::kConfirmingLink: return "CONFIRMING_LINK";
	case State::kAwaitDecline: return "AWAIT_DECLINE";
	case State::kFinished: return "FINISHED";
	}
	return "UNKNOWN";
}

} // namespace smc::handshake
