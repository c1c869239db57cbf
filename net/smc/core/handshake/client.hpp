// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "core/handshake/exchange.hpp"
#include "core/handshake/offer.hpp"
#include "core/handshake/state.hpp"
#include "core/wire/clc.hpp"

namespace smc::handshake {

// The side that connects (RFC 7609, 3.5; the order of steps towards Linux).
//
//	Proposal ->            <- Accept     AcquireClientLink, ConnectLink
//	first contact:  ConfirmLink, Confirm ->, CONFIRM_LINK done, UseSmc
//	later contact:  AnnounceRkey, Confirm ->, UseSmc
//	SMC-D:          AcquireClientDmb, Confirm ->, UseSmc
//
// Once the Proposal is out, only an SMC server can tell it from data. So silence, FIN, or bytes
// that are no CLC message end in Fail (kTimedOut, kConnectionReset): the peer's application may
// have received the Proposal. The user has sent nothing yet, so another connection may be made for
// him (Again). Before the Proposal, after a Decline in either direction, and for every failure on
// this side, the connection falls back. At a later contact, and with SMC-D, the Confirm is the last
// step, and nothing falls back after it.
//
// Two sockets that connect to each other at the same time are both clients, and there is no server.
// Both end as TCP, and each takes the other's one message out of its stream.
//
//	Proposal ->            <- Proposal   both fall back
//	(waits) <- Proposal    Decline ->    both fall back
//	(waits) <- Decline                   both fall back
//
// A client that has nothing to offer declines at once and goes on as TCP, as it takes its peer for
// a server, which does not answer that. So a client that knows that its peer is one, too, lets the
// peer speak first and sends a message only if nothing comes; if it has nothing to offer, it sends
// nothing at all.
//
// Not thread safe; the caller serialises the steps. About 1.5 KiB; effects point into it.
class ClientHandshake {
public:
	ClientHandshake(const LocalOffer &offer, const Timeouts &timeouts)
		: exchange_(offer, timeouts)
	{
	}

	// now_ms: any monotonic clock, the same in all calls.
	[[nodiscard]] Effects step(const Event &event, std::uint64_t now_ms);

	[[nodiscard]] State state() const { return state_; }
	[[nodiscard]] static bool transition_is_legal(State from, State to);

private:
	template <class Machine>
	friend void answer(Machine &machine, const Event &event, std::uint64_t now_ms,
			   Effects &effects);

	void start(bool crossed, std::uint64_t now_ms, Effects &effects);
	void propose(std::uint64_t now_ms, Effects &effects);
	void server_known(std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] std::uint32_t rest_ms(std::uint64_t whole_ms, std::uint64_t now_ms) const;
	void foreign(ByteSpan peeked, Effects &effects);
	[[nodiscard]] std::size_t peers_proposal_bytes(ByteSpan peeked) const;
	void fall_back(Effects &effects);
	void tcp_bytes(const TcpBytes &bytes, std::uint64_t now_ms, Effects &effects);
	void tcp_eof(Effects &effects);
	void accept_arrived(ByteSpan message, std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] wire::DeclineReason examine(const wire::Accept &accept) const;
	void link_acquired(const LinkAcquired &link, std::uint64_t now_ms, Effects &effects);
	void link_failed(wire::DeclineReason reason, Effects &effects);
	[[nodiscard]] wire::DeclineReason examine_smcd(const wire::Accept &accept) const;
	void dmb_acquired(const DmbAcquired &dmb, std::uint64_t now_ms, Effects &effects);
	void link_connected(std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] bool send_confirm(Effects &effects);
	void connect_failed(wire::DeclineReason reason, Effects &effects);
	void rkey_announced(std::uint64_t now_ms, Effects &effects);
	void confirm_failed(wire::DeclineReason reason, std::uint64_t now_ms, Effects &effects);
	void timer(std::uint64_t now_ms, Effects &effects);
	void decline(wire::DeclineReason reason, Effects &effects);
	void tcp_error(int error, Effects &effects);
	void abort(Effects &effects);
	void fail(int error, Effects &effects);
	void use_smc(Effects &effects);
	void set_state(State to);

	Exchange exchange_;
	// The last message.
	std::array<std::byte, wire::kClcEncodedSizeMax> out_{};
	Agreement agreement_;
	wire::SmcrEndpoint local_;
	wire::SmcdEndpoint local_dmb_;
	wire::SmcrEndpoint peer_;
	bool v2_direct_ = true;
	bool crossed_ = false;      // the peer is known to be a client
	std::uint64_t sent_ms_ = 0; // the Proposal, then the Confirm of a first contact
	// A failure on this side since then.
	wire::DeclineReason confirm_failure_ = wire::DeclineReason::kNone;
	State state_ = State::kIdle;
};

} // namespace smc::handshake
