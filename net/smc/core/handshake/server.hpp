// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/handshake/choice.hpp"
#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "core/handshake/exchange.hpp"
#include "core/handshake/offer.hpp"
#include "core/handshake/state.hpp"
#include "core/wire/clc.hpp"

namespace smc::handshake {

// The side that was connected to (RFC 7609, 3.5; the order of steps towards Linux).
//
//	<- Proposal    AcquireServerLink, at a later contact AnnounceRkey
//	Accept ->      <- Confirm    ConnectLink
//	first contact: ConfirmLink, CONFIRM_LINK done, UseSmc
//	later contact: UseSmc
//	SMC-D: AcquireServerDmb before the Accept, ConnectDmb behind the Confirm, UseSmc
//
// Until a Proposal has been recognised nothing is taken out of the stream: a peer that is silent,
// closes, or sends something else is served by plain TCP and loses no byte. A Proposal that cannot
// be used is answered with a Decline. Once the Accept is out the peer is known to speak SMC and may
// be sending its Confirm, so silence or foreign bytes end in Fail. At a later contact, and with
// SMC-D, the peer takes the connection for established when it sends its Confirm, and would not
// read a Decline: later failures end in Fail (kConnectionAborted), too.
//
// Not thread safe; the caller serialises the steps. About 1.5 KiB; effects point into it.
class ServerHandshake {
public:
	ServerHandshake(const LocalOffer &offer, const Timeouts &timeouts)
		: exchange_(offer, timeouts)
	{
	}

	// now_ms: any monotonic clock, the same in all calls.
	[[nodiscard]] Effects step(const Event &event, std::uint64_t now_ms);

	[[nodiscard]] State state() const { return state_; }
	// The client's Confirm, after which it takes the connection for established, may be on its
	// way.
	[[nodiscard]] bool peer_may_confirm() const
	{
		return state_ == State::kAwaitConfirm && !chosen_.agreement.first_contact;
	}
	[[nodiscard]] static bool transition_is_legal(State from, State to);

private:
	template <class Machine>
	friend void answer(Machine &machine, const Event &event, std::uint64_t now_ms,
			   Effects &effects);

	void start(std::uint64_t now_ms, Effects &effects);
	void tcp_bytes(const TcpBytes &bytes, std::uint64_t now_ms, Effects &effects);
	void tcp_eof(Effects &effects);
	void tcp_error(int error, Effects &effects);
	void proposal_arrived(ByteSpan message, std::uint64_t now_ms, Effects &effects);
	void acquire_next(Effects &effects);
	void link_failed(wire::DeclineReason reason, Effects &effects);
	void link_acquired(const LinkAcquired &link, std::uint64_t now_ms, Effects &effects);
	void dmb_acquired(const DmbAcquired &dmb, std::uint64_t now_ms, Effects &effects);
	void rkey_announced(std::uint64_t now_ms, Effects &effects);
	void send_accept(std::uint64_t now_ms, Effects &effects);
	void confirm_arrived(ByteSpan message, std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] wire::DeclineReason examine(const wire::Confirm &confirm) const;
	[[nodiscard]] wire::DeclineReason examine_smcd(const wire::Confirm &confirm) const;
	[[nodiscard]] bool is_proposer(const wire::SmcrEndpoint &peer) const;
	void connecting(std::uint64_t now_ms, Effects &effects);
	void link_connected(std::uint64_t now_ms, Effects &effects);
	void connect_failed(wire::DeclineReason reason, Effects &effects);
	void give_up(wire::DeclineReason reason, Effects &effects);
	void confirm_failed(wire::DeclineReason reason, std::uint64_t now_ms, Effects &effects);
	void timer(std::uint64_t now_ms, Effects &effects);
	void fall_back(wire::DeclineReason reason, Effects &effects);
	void decline(wire::DeclineReason reason, Effects &effects);
	void abort(Effects &effects);
	void fail(int error, Effects &effects);
	void use_smc(Effects &effects);
	void set_state(State to);

	Exchange exchange_;
	// The last message: an Accept or a Decline.
	std::array<std::byte, std::max(wire::kClcAcceptSizeMax, wire::kClcDeclineSizeMax)> out_{};
	Choices choices_;
	Choice chosen_;
	wire::SmcrEndpoint local_;
	wire::SmcdEndpoint local_dmb_;
	wire::SmcrEndpoint peer_;
	bool v2_direct_ = true;
	wire::DeclineReason confirm_failure_ = wire::DeclineReason::kNone;
	State state_ = State::kIdle;
};

} // namespace smc::handshake
