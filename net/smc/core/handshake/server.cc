// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/server.hpp"

#include <optional>

#include "core/base/check.hpp"
#include "core/handshake/answer.hpp"
#include "core/handshake/endpoint.hpp"
#include "core/handshake/stream_head.hpp"

namespace smc::handshake {

using wire::DeclineReason;

Effects ServerHandshake::step(const Event &event, std::uint64_t now_ms)
{
	Effects effects;

	if (state_ == State::kFinished)
		return effects;
	if (std::get_if<Start>(&event) != nullptr) {
		start(now_ms, effects);
	} else if (const auto *bytes = std::get_if<TcpBytes>(&event)) {
		tcp_bytes(*bytes, now_ms, effects);
	} else if (const auto *broken = std::get_if<TcpError>(&event)) {
		tcp_error(broken->error, effects);
	} else {
		answer(*this, event, now_ms, effects);
	}
	return effects;
}

void ServerHandshake::start(std::uint64_t now_ms, Effects &effects)
{
	if (state_ != State::kIdle)
		return;
	exchange_.set_timer(now_ms, exchange_.timeouts().clc_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAwaitProposal);
}

void ServerHandshake::tcp_bytes(const TcpBytes &bytes, std::uint64_t now_ms, Effects &effects)
{
	std::optional<wire::ClcType> awaited;

	if (state_ == State::kIdle)
		return;
	if (state_ == State::kAwaitProposal)
		awaited = wire::ClcType::kProposal;
	if (state_ == State::kAwaitConfirm)
		awaited = wire::ClcType::kConfirm;
	const StreamHead found = exchange_.take_head(bytes, awaited, effects);

	switch (found.head) {
	case Head::kNothing: break;
	case Head::kEnd: tcp_eof(effects); break;
	case Head::kAwaited:
		if (state_ == State::kAwaitProposal) {
			exchange_.set_decline_version(wire::decline_version(found.message));
			proposal_arrived(found.message, now_ms, effects);
		} else {
			confirm_arrived(found.message, now_ms, effects);
		}
		break;
	case Head::kDecline:
		exchange_.declined(found.decline, DeclineReason::kNone, effects);
		set_state(State::kFinished);
		break;
	case Head::kForeign:
		if (state_ == State::kAwaitProposal)
			fall_back(DeclineReason::kPeerNoSmc, effects);
		else
			fail(kConnectionReset, effects);
		break;
	}
}

// From the Confirm on, a client may complete the handshake and close at any time. A client that
// closes without a Decline, although CONFIRM_LINK has not completed here, had completed: what it
// has sent by SMC is lost, and that must not look like an orderly end of the stream.
void ServerHandshake::tcp_eof(Effects &effects)
{
	if (state_ == State::kAwaitProposal)
		fall_back(DeclineReason::kPeerNoSmc, effects);
	// A client that closes without a Confirm does not want the connection.
	if (state_ == State::kAwaitConfirm)
		exchange_.set_peer_may_use(false);
	if (state_ == State::kAwaitConfirm || state_ == State::kAwaitDecline)
		fail(kConnectionReset, effects);
}

// Before a Proposal was seen the user gets what a TCP listener would have given: a dead child.
void ServerHandshake::tcp_error(int error, Effects &effects)
{
	if (state_ == State::kIdle || state_ == State::kAwaitProposal)
		fall_back(DeclineReason::kPeerNoSmc, effects);
	else
		fail(error, effects);
}

void ServerHandshake::proposal_arrived(ByteSpan message, std::uint64_t now_ms, Effects &effects)
{
	const auto proposal = wire::decode_proposal(message);

	if (!proposal) {
		decline(DeclineReason::kCnfErr, effects);
		return;
	}
	choices_ = choose(*proposal, exchange_.offer());
	if (choices_.list.empty()) {
		decline(choices_.reason, effects);
		return;
	}
	acquire_next(effects);
	exchange_.set_timer(now_ms, exchange_.timeouts().local_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAcquiringLink);
}

void ServerHandshake::acquire_next(Effects &effects)
{
	chosen_ = choices_.list.front();
	choices_.list.erase(0);
	if (chosen_.agreement.smcd) {
		exchange_.acquire(AcquireServerDmb{}, effects);
		return;
	}
	exchange_.acquire(AcquireServerLink{chosen_.peer_id, chosen_.peer_gid, chosen_.peer_mac,
					    &chosen_.agreement},
			  effects);
}

void ServerHandshake::link_failed(DeclineReason reason, Effects &effects)
{
	exchange_.acquire_failed();
	if (choices_.reason == DeclineReason::kNone)
		choices_.reason = reason;
	if (choices_.list.empty())
		decline(choices_.reason, effects);
	else
		acquire_next(effects);
}

void ServerHandshake::link_acquired(const LinkAcquired &link, std::uint64_t now_ms,
				    Effects &effects)
{
	local_ = link.local;
	local_.peer_id = exchange_.offer().peer_id;
	if (!link.first_contact && !link.peer_gid.is_zero()) {
		chosen_.peer_gid = link.peer_gid;
		chosen_.peer_mac = link.peer_mac;
	}
	v2_direct_ = link.v2_direct;
	chosen_.agreement.first_contact = link.first_contact;
	if (link.first_contact) {
		send_accept(now_ms, effects);
		return;
	}
	Exchange::emit(effects, AnnounceRkey{});
	set_state(State::kAnnouncingRkey);
}

void ServerHandshake::dmb_acquired(const DmbAcquired &dmb, std::uint64_t now_ms, Effects &effects)
{
	local_dmb_ = dmb.local;
	send_accept(now_ms, effects);
}

void ServerHandshake::rkey_announced(std::uint64_t now_ms, Effects &effects)
{
	send_accept(now_ms, effects);
}

void ServerHandshake::send_accept(std::uint64_t now_ms, Effects &effects)
{
	const Agreement &agreement = chosen_.agreement;
	wire::Accept accept;

	accept.version = agreement.version;
	accept.first_contact = agreement.first_contact;
	if (agreement.smcd)
		accept.endpoint = local_dmb_;
	else
		accept.endpoint = local_;
	if (agreement.version >= 2)
		accept.eid = agreement.eid;
	if (agreement.version >= 2 && agreement.first_contact) {
		wire::FirstContactExtension &extension = accept.first_contact_extension;

		extension.v2_direct = v2_direct_ && !agreement.smcd;
		extension.release = agreement.release;
		extension.host_name = exchange_.offer().host_name;
		extension.feature_mask = agreement.feature_mask;
		extension.max_conns = agreement.max_conns; // release 0 has no place for limits
		extension.max_links = agreement.max_links;
		extension.vendor_options = wire::vendor_answer(agreement.capabilities);
	}
	if (!Exchange::send(accept, out_, effects)) {
		decline(DeclineReason::kIntErr, effects);
		return;
	}
	// At a later contact the Confirm completes the client's handshake, and may be on its way.
	exchange_.set_peer_may_use(!agreement.first_contact);
	exchange_.set_timer(now_ms, exchange_.timeouts().clc_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAwaitConfirm);
}

void ServerHandshake::confirm_arrived(ByteSpan message, std::uint64_t now_ms, Effects &effects)
{
	const auto confirm = wire::decode_confirm(message);

	if (!confirm) {
		give_up(DeclineReason::kCnfErr, effects);
		return;
	}
	const DeclineReason refusal =
		chosen_.agreement.smcd ? examine_smcd(*confirm) : examine(*confirm);
	if (refusal != DeclineReason::kNone) {
		give_up(refusal, effects);
		return;
	}
	Agreement &agreement = chosen_.agreement;
	const wire::FirstContactExtension &extension = confirm->first_contact_extension;

	if (agreement.smcd) {
		agreement.peer_os = extension.os;
		agreement.peer_host_name = extension.host_name;
		Exchange::emit(effects, ConnectDmb{*confirm->smcd()});
		connecting(now_ms, effects);
		return;
	}
	peer_ = *confirm->smcr();
	// Linux' servers take these from the Proposal, where a client of version 2 leaves some of
	// them empty.
	if (peer_.gid.is_zero())
		peer_.gid = chosen_.peer_gid;
	if (peer_.mac.is_zero())
		peer_.mac = chosen_.peer_mac;
	agreement.peer_id = peer_.peer_id;
	if (agreement.version >= 2 && agreement.first_contact) {
		agreement.peer_os = extension.os;
		agreement.peer_host_name = extension.host_name;
		agreement.feature_mask &= extension.feature_mask;
	}
	Exchange::emit(effects,
		       ConnectLink{agreement.first_contact, &peer_, smaller_mtu(local_, peer_)});
	connecting(now_ms, effects);
}

// Messages that came together with the Confirm count as later ones do.
void ServerHandshake::connecting(std::uint64_t now_ms, Effects &effects)
{
	exchange_.set_timer(now_ms, exchange_.timeouts().connect_link_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kConnectingLink);
}

DeclineReason ServerHandshake::examine(const wire::Confirm &confirm) const
{
	const Agreement &agreement = chosen_.agreement;
	const wire::FirstContactExtension &extension = confirm.first_contact_extension;

	if (confirm.version != agreement.version)
		return DeclineReason::kVersMismat;
	if (confirm.smcr() == nullptr)
		return DeclineReason::kModeUnsupp;
	if (agreement.version >= 2) {
		if (confirm.first_contact != agreement.first_contact)
			return DeclineReason::kCnfErr;
		if (confirm.eid != agreement.eid)
			return DeclineReason::kNoUeid;
		if (agreement.first_contact && extension.release != agreement.release)
			return DeclineReason::kReleaseErr;
		if (agreement.first_contact && agreement.release >= 1) {
			if (extension.max_conns != agreement.max_conns)
				return DeclineReason::kMaxConnErr;
			if (extension.max_links != agreement.max_links)
				return DeclineReason::kMaxLinkErr;
			// What others put there means nothing.
			if (agreement.capabilities != 0 &&
			    extension.vendor_options != wire::vendor_answer(agreement.capabilities))
				return DeclineReason::kCnfErr;
		}
	}
	return usable(*confirm.smcr()) && is_proposer(*confirm.smcr()) ? DeclineReason::kNone
								       : DeclineReason::kCnfErr;
}

// The group was chosen by the Proposal. If the Confirm came from another host, that host would get
// the group's connections, and keep the group from the host it belongs to.
bool ServerHandshake::is_proposer(const wire::SmcrEndpoint &peer) const
{
	// In version 2 the Proposal's MAC, if any, is that of the device for version 1.
	return (peer.gid.is_zero() || peer.gid == chosen_.peer_gid) &&
	       (chosen_.agreement.version >= 2 || peer.mac.is_zero() ||
		peer.mac == chosen_.peer_mac);
}

DeclineReason ServerHandshake::examine_smcd(const wire::Confirm &confirm) const
{
	const Agreement &agreement = chosen_.agreement;

	if (confirm.version != agreement.version)
		return DeclineReason::kVersMismat;
	if (confirm.smcd() == nullptr)
		return DeclineReason::kModeUnsupp;
	if (confirm.first_contact != agreement.first_contact || confirm.eid != agreement.eid)
		return DeclineReason::kCnfErr;
	if (confirm.first_contact_extension.release != agreement.release)
		return DeclineReason::kReleaseErr;
	return usable(*confirm.smcd(), exchange_.offer()) ? DeclineReason::kNone
							  : DeclineReason::kCnfErr;
}

void ServerHandshake::link_connected(std::uint64_t now_ms, Effects &effects)
{
	if (!chosen_.agreement.first_contact || chosen_.agreement.smcd) {
		use_smc(effects);
		return;
	}
	// After CONFIRM_LINK the client is ready, and other connections may join the group.
	exchange_.set_peer_may_use(true);
	Exchange::emit(effects, ConfirmLink{});
	exchange_.set_timer(now_ms, exchange_.timeouts().confirm_link_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kConfirmingLink);
}

void ServerHandshake::connect_failed(DeclineReason reason, Effects &effects)
{
	give_up(reason, effects);
}

// The Confirm has come, and does not lead to a connection.
void ServerHandshake::give_up(DeclineReason reason, Effects &effects)
{
	if (chosen_.agreement.first_contact && !chosen_.agreement.smcd)
		decline(reason, effects);
	else
		fail(kConnectionAborted, effects);
}

// A timeout happens at the client as well, and it may be declining right now.
void ServerHandshake::confirm_failed(DeclineReason reason, std::uint64_t now_ms, Effects &effects)
{
	if (reason != DeclineReason::kTimeoutCl) {
		decline(reason, effects);
		return;
	}
	confirm_failure_ = reason;
	exchange_.set_timer(now_ms, exchange_.timeouts().decline_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAwaitDecline);
}

void ServerHandshake::timer(std::uint64_t now_ms, Effects &effects)
{
	if (!exchange_.timer_expired(now_ms, effects))
		return;
	switch (state_) {
	case State::kAwaitProposal: fall_back(DeclineReason::kPeerNoSmc, effects); break;
	case State::kAcquiringLink: decline(DeclineReason::kIntErr, effects); break;
	case State::kAnnouncingRkey: decline(DeclineReason::kErrRegBuf, effects); break;
	case State::kAwaitConfirm: fail(kTimedOut, effects); break;
	case State::kConnectingLink: give_up(DeclineReason::kErrRdyLnk, effects); break;
	case State::kConfirmingLink:
		confirm_failed(DeclineReason::kTimeoutCl, now_ms, effects);
		break;
	case State::kAwaitDecline: decline(confirm_failure_, effects); break;
	case State::kIdle:
	case State::kAwaitAccept:
	case State::kFinished: expects(false); break;
	}
}

void ServerHandshake::fall_back(DeclineReason reason, Effects &effects)
{
	exchange_.fall_back(reason, effects);
	set_state(State::kFinished);
}

void ServerHandshake::decline(DeclineReason reason, Effects &effects)
{
	exchange_.decline(reason, out_, effects);
	set_state(State::kFinished);
}

void ServerHandshake::abort(Effects &effects)
{
	fail(kConnectionAborted, effects);
}

void ServerHandshake::fail(int error, Effects &effects)
{
	exchange_.fail({error}, effects);
	set_state(State::kFinished);
}

void ServerHandshake::use_smc(Effects &effects)
{
	exchange_.use_smc(chosen_.agreement, effects);
	set_state(State::kFinished);
}

bool ServerHandshake::transition_is_legal(State from, State to)
{
	switch (from) {
	case State::kIdle: return to == State::kAwaitProposal || to == State::kFinished;
	case State::kAwaitProposal: return to == State::kAcquiringLink || to == State::kFinished;
	case State::kAcquiringLink:
		return to == State::kAnnouncingRkey || to == State::kAwaitConfirm ||
		       to == State::kFinished;
	case State::kAnnouncingRkey: return to == State::kAwaitConfirm || to == State::kFinished;
	case State::kAwaitConfirm: return to == State::kConnectingLink || to == State::kFinished;
	case State::kConnectingLink: return to == State::kConfirmingLink || to == State::kFinished;
	case State::kConfirmingLink: return to == State::kAwaitDecline || to == State::kFinished;
	case State::kAwaitDecline: return to == State::kFinished;
	case State::kAwaitAccept:
	case State::kFinished: return false;
	}
	return false;
}

void ServerHandshake::set_state(State to)
{
	expects(transition_is_legal(state_, to));
	state_ = to;
}

} // namespace smc::handshake
