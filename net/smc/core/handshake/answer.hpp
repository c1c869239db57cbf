// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <variant>

#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "core/handshake/state.hpp"

namespace smc::handshake {

// Calls the function of the machine that handles an event, for the events that client and server
// share: answers to effects, timer and abort. An answer counts only in the state that awaits it.
// Always inline: Event in its type makes the symbol's name longer than the kernel's backtraces can
// print.
template <class Machine>
[[gnu::always_inline]] inline void answer(Machine &machine, const Event &event,
					  std::uint64_t now_ms, Effects &effects)
{
	const State state = machine.state();

	if (const auto *link = std::get_if<LinkAcquired>(&event)) {
		if (state == State::kAcquiringLink)
			machine.link_acquired(*link, now_ms, effects);
	} else if (const auto *dmb = std::get_if<DmbAcquired>(&event)) {
		if (state == State::kAcquiringLink)
			machine.dmb_acquired(*dmb, now_ms, effects);
	} else if (const auto *missing = std::get_if<LinkFailed>(&event)) {
		if (state == State::kAcquiringLink)
			machine.link_failed(missing->reason, effects);
	} else if (std::get_if<LinkConnected>(&event) != nullptr) {
		if (state == State::kConnectingLink)
			machine.link_connected(now_ms, effects);
	} else if (const auto *unconnected = std::get_if<LinkConnectFailed>(&event)) {
		if (state == State::kConnectingLink)
			machine.connect_failed(unconnected->reason, effects);
	} else if (std::get_if<RkeyAnnounced>(&event) != nullptr) {
		if (state == State::kAnnouncingRkey)
			machine.rkey_announced(now_ms, effects);
	} else if (const auto *unannounced = std::get_if<RkeyAnnounceFailed>(&event)) {
		if (state == State::kAnnouncingRkey)
			machine.decline(unannounced->reason, effects);
	} else if (std::get_if<LinkConfirmed>(&event) != nullptr) {
		if (state == State::kConfirmingLink)
			machine.use_smc(effects);
	} else if (const auto *unconfirmed = std::get_if<LinkConfirmFailed>(&event)) {
		if (state == State::kConfirmingLink)
			machine.confirm_failed(unconfirmed->reason, now_ms, effects);
	} else if (std::get_if<Timer>(&event) != nullptr) {
		machine.timer(now_ms, effects);
	} else if (std::get_if<Abort>(&event) != nullptr) {
		machine.abort(effects);
	}
}

} // namespace smc::handshake
