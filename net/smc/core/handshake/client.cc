// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/client.hpp"

#include <algorithm>
#include <optional>

#include "core/base/check.hpp"
#include "core/base/elapsed.hpp"
#include "core/handshake/answer.hpp"
#include "core/handshake/endpoint.hpp"
#include "core/handshake/stream_head.hpp"

namespace smc::handshake {
namespace {

using wire::DeclineReason;

[[nodiscard]] wire::Proposal make_proposal(const LocalOffer &offer)
{
	wire::Proposal proposal;

	proposal.mode_v1 = wire::clc_mode(offer.smcr_v1, /*d=*/false);
	// iWARP goes as SMC-D without a device: who does not look at the vendor's area declines at
	// once, where SMC-R would have it wait for a queue pair that no CLC field can connect.
	proposal.mode_v2 = wire::clc_mode(offer.smcr_v2, offer.smcd || offer.iwarp);
	// Linux fills these in for version 1 only, so its server does not recognise it at first
	// contact. The fields exist, so they say who we are.
	proposal.peer_id = offer.peer_id;
	proposal.mac = offer.smcr_v1 ? offer.v1_mac : offer.v2_mac;
	if (offer.smcr_v1) {
		proposal.gid = offer.v1_gid;
		if (!offer.ipv4_prefixes.empty())
			proposal.prefixes.ipv4 = offer.ipv4_prefixes.front();
		proposal.prefixes.ipv6 = offer.ipv6_prefixes;
	}
	if (offer.smcr_v2 || offer.iwarp) {
		proposal.v2.eids = offer.eids;
		proposal.v2.roce_gid = offer.v2_gid;
		if (offer.release >= 1)
			wire::offer(offer.capabilities, proposal.smcd_v1);
	}
	if (offer.smcr_v2 || offer.smcd || offer.iwarp) {
		proposal.v2.release = offer.release;
		if (offer.release >= 1) {
			proposal.v2.max_conns = offer.max_conns;
			proposal.v2.max_links = offer.max_links;
			proposal.v2.feature_mask = offer.feature_mask;
			if (offer.smcd)
				proposal.v2.feature_mask |= wire::kFeatureEmulatedIsm;
		}
	}
	if (offer.smcd) {
		for (const wire::IsmGid half : {offer.smcd_gid, offer.smcd_gid_extension}) {
			const bool fits =
				proposal.smcd_v2.devices.push_back({half, wire::kLoopbackChid});
			expects(fits);
		}
	}
	return proposal;
}

[[nodiscard]] Agreement make_agreement(const wire::Accept &accept, const LocalOffer &offer)
{
	const wire::FirstContactExtension &extension = accept.first_contact_extension;
	Agreement agreement;

	agreement.version = accept.version;
	agreement.smcd = accept.smcd() != nullptr;
	agreement.first_contact = accept.first_contact;
	if (accept.smcr() != nullptr)
		agreement.peer_id = accept.smcr()->peer_id;
	agreement.eid = accept.eid;
	if (!accept.first_contact)
		return agreement;
	agreement.max_conns = kMaxConnsDefault;
	agreement.max_links = kMaxLinksDefault;
	if (accept.version < 2)
		return agreement;
	agreement.release = extension.release;
	agreement.peer_os = extension.os;
	agreement.peer_host_name = extension.host_name;
	if (agreement.smcd) {
		agreement.feature_mask = extension.feature_mask & wire::kFeatureEmulatedIsm;
	} else if (extension.release >= 1) {
		agreement.max_conns = extension.max_conns;
		agreement.max_links = extension.max_links;
		agreement.feature_mask = extension.feature_mask & offer.feature_mask;
		agreement.capabilities = wire::answered(extension.vendor_options);
	}
	return agreement;
}

} // namespace

Effects ClientHandshake::step(const Event &event, std::uint64_t now_ms)
{
	Effects effects;

	if (state_ == State::kFinished)
		return effects;
	if (const auto *begin = std::get_if<Start>(&event)) {
		start(begin->crossed, now_ms, effects);
	} else if (const auto *bytes = std::get_if<TcpBytes>(&event)) {
		tcp_bytes(*bytes, now_ms, effects);
	} else if (const auto *broken = std::get_if<TcpError>(&event)) {
		tcp_error(broken->error, effects);
	} else if (std::get_if<ServerKnown>(&event) != nullptr) {
		server_known(now_ms, effects);
	} else {
		answer(*this, event, now_ms, effects);
	}
	return effects;
}

void ClientHandshake::start(bool crossed, std::uint64_t now_ms, Effects &effects)
{
	if (state_ != State::kIdle)
		return;
	const bool offers = exchange_.offer().any();

	if (crossed) {
		const Timeouts &timeouts = exchange_.timeouts();

		crossed_ = true;
		exchange_.set_timer(now_ms, offers ? timeouts.crossed_ms : timeouts.clc_ms,
				    effects);
		Exchange::emit(effects, WantBytes{});
		set_state(State::kAwaitProposal);
		return;
	}
	if (offers)
		propose(now_ms, effects);
	else
		decline(exchange_.offer().unavailable, effects);
}

void ClientHandshake::propose(std::uint64_t now_ms, Effects &effects)
{
	const bool sent = Exchange::send(make_proposal(exchange_.offer()), out_, effects);
	expects(sent);
	sent_ms_ = now_ms;
	exchange_.set_timer(now_ms, exchange_.timeouts().accept_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAwaitAccept);
}

void ClientHandshake::server_known(std::uint64_t now_ms, Effects &effects)
{
	if (state_ == State::kAwaitAccept)
		exchange_.set_timer(now_ms, rest_ms(exchange_.timeouts().clc_ms, now_ms), effects);
}

// Of a wait that began with the last message.
std::uint32_t ClientHandshake::rest_ms(std::uint64_t whole_ms, std::uint64_t now_ms) const
{
	const std::uint64_t waited_ms = elapsed_ms(sent_ms_, now_ms);

	return static_cast<std::uint32_t>(std::max(whole_ms, waited_ms) - waited_ms);
}

void ClientHandshake::tcp_bytes(const TcpBytes &bytes, std::uint64_t now_ms, Effects &effects)
{
	std::optional<wire::ClcType> awaited;

	if (state_ == State::kIdle)
		return;
	if (state_ == State::kAwaitAccept)
		awaited = wire::ClcType::kAccept;
	if (state_ == State::kAwaitProposal)
		awaited = wire::ClcType::kProposal;
	const StreamHead found = exchange_.take_head(bytes, awaited, effects);

	switch (found.head) {
	case Head::kNothing: break;
	case Head::kEnd: tcp_eof(effects); break;
	case Head::kAwaited:
		exchange_.set_decline_version(wire::decline_version(found.message));
		if (state_ == State::kAwaitProposal)
			decline(DeclineReason::kOptUnsupp, effects);
		else
			accept_arrived(found.message, now_ms, effects);
		break;
	case Head::kDecline:
		exchange_.declined(found.decline, confirm_failure_, effects);
		set_state(State::kFinished);
		break;
	case Head::kForeign: foreign(bytes.peeked, effects); break;
	}
}

void ClientHandshake::foreign(ByteSpan peeked, Effects &effects)
{
	// We have sent nothing: the peer goes on as TCP, and these are its data.
	if (state_ == State::kAwaitProposal) {
		fall_back(effects);
		return;
	}
	const std::size_t proposal_bytes = peers_proposal_bytes(peeked);

	if (proposal_bytes == 0) {
		fail(kConnectionReset, effects);
		return;
	}
	Exchange::emit(effects, ConsumeTcp{proposal_bytes});
	fall_back(effects);
}

// The length of a Proposal that shows that the peer is a client, too, and takes ours for the same;
// 0 if there is none. A program that echoes our bytes has sent no such Proposal.
std::size_t ClientHandshake::peers_proposal_bytes(ByteSpan peeked) const
{
	if (state_ != State::kAwaitAccept)
		return 0;
	const StreamHead found = stream_head(peeked, false, wire::ClcType::kProposal);
	// Where this is our own Proposal, its length is, too.
	const ByteSpan own = ByteSpan{out_}.first(std::min(out_.size(), found.message.size()));

	if (found.head != Head::kAwaited || !wire::decode_proposal(found.message))
		return 0;
	if (!crossed_ &&
	    std::equal(own.begin(), own.end(), found.message.begin(), found.message.end()))
		return 0;
	return found.message.size();
}

// While we set up the link, the server may have completed its part and closed.
void ClientHandshake::tcp_eof(Effects &effects)
{
	if (state_ == State::kAwaitAccept || state_ == State::kAwaitDecline)
		fail(kConnectionReset, effects);
	else if (state_ == State::kAwaitProposal)
		fall_back(effects);
}

void ClientHandshake::accept_arrived(ByteSpan message, std::uint64_t now_ms, Effects &effects)
{
	const auto accept = wire::decode_accept(message);

	if (!accept) {
		decline(DeclineReason::kCnfErr, effects);
		return;
	}
	const DeclineReason refusal =
		accept->smcd() != nullptr ? examine_smcd(*accept) : examine(*accept);
	if (refusal != DeclineReason::kNone) {
		decline(refusal, effects);
		return;
	}
	agreement_ = make_agreement(*accept, exchange_.offer());
	if (const wire::SmcdEndpoint *dmb = accept->smcd()) {
		exchange_.acquire(AcquireClientDmb{*dmb}, effects);
	} else {
		const bool v2_direct =
			accept->version < 2 || accept->first_contact_extension.v2_direct;

		const wire::Gid own_gid =
			accept->version < 2 ? exchange_.offer().v1_gid : exchange_.offer().v2_gid;

		peer_ = *accept->smcr();
		exchange_.acquire(AcquireClientLink{&peer_, own_gid, v2_direct, &agreement_},
				  effects);
	}
	exchange_.set_timer(now_ms, exchange_.timeouts().local_ms, effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAcquiringLink);
}

DeclineReason ClientHandshake::examine(const wire::Accept &accept) const
{
	const LocalOffer &offer = exchange_.offer();
	const wire::FirstContactExtension &extension = accept.first_contact_extension;
	const bool proposed = accept.version == 1   ? offer.smcr_v1
			      : accept.version == 2 ? offer.smcr_v2 || offer.iwarp
						    : false;

	if (!proposed || accept.smcr() == nullptr)
		return DeclineReason::kModeUnsupp;
	if (accept.version == 2) {
		if (std::find(offer.eids.begin(), offer.eids.end(), accept.eid) == offer.eids.end())
			return DeclineReason::kNoUeid;
		if (accept.first_contact && extension.release > offer.release)
			return DeclineReason::kReleaseErr;
		if (accept.first_contact && extension.release >= 1) {
			if (extension.max_conns < kMaxConnsLeast ||
			    extension.max_conns > offer.max_conns)
				return DeclineReason::kMaxConnErr;
			if (extension.max_links < kMaxLinksLeast ||
			    extension.max_links > offer.max_links)
				return DeclineReason::kMaxLinkErr;
			if ((wire::answered(extension.vendor_options) & ~offer.capabilities) != 0)
				return DeclineReason::kCnfErr;
		}
	}
	// Nobody but this module knows what else the Accept of an iWARP link says.
	if (accept.version == 2 && accept.first_contact &&
	    offer.iwarp != (extension.release >= 1 && (wire::answered(extension.vendor_options) &
						       wire::capability::kIwarp) != 0))
		return DeclineReason::kModeUnsupp;
	return usable(*accept.smcr()) ? DeclineReason::kNone : DeclineReason::kCnfErr;
}

// A server that names our GID need not be in this kernel: whether its token exists shows next.
DeclineReason ClientHandshake::examine_smcd(const wire::Accept &accept) const
{
	const LocalOffer &offer = exchange_.offer();

	if (!offer.smcd || accept.version != 2)
		return DeclineReason::kModeUnsupp;
	if (accept.first_contact && accept.first_contact_extension.release > offer.release)
		return DeclineReason::kReleaseErr;
	return usable(*accept.smcd(), offer) ? DeclineReason::kNone : DeclineReason::kCnfErr;
}

void ClientHandshake::dmb_acquired(const DmbAcquired &dmb, std::uint64_t /*now_ms*/,
				   Effects &effects)
{
	local_dmb_ = dmb.local;
	if (send_confirm(effects))
		use_smc(effects);
	else
		decline(DeclineReason::kIntErr, effects);
}

void ClientHandshake::link_acquired(const LinkAcquired &link, std::uint64_t now_ms,
				    Effects &effects)
{
	local_ = link.local;
	local_.peer_id = exchange_.offer().peer_id;
	local_.mtu = smaller_mtu(local_, peer_);
	v2_direct_ = link.v2_direct;
	Exchange::emit(effects, ConnectLink{agreement_.first_contact, &peer_, local_.mtu});
	// The connection manager of a peer that is gone, or behind a firewall, does not answer.
	if (agreement_.iwarp())
		exchange_.set_timer(now_ms, exchange_.timeouts().connect_link_ms, effects);
	set_state(State::kConnectingLink);
}

void ClientHandshake::link_failed(DeclineReason reason, Effects &effects)
{
	exchange_.acquire_failed();
	decline(reason, effects);
}

void ClientHandshake::link_connected(std::uint64_t now_ms, Effects &effects)
{
	if (!agreement_.first_contact) {
		Exchange::emit(effects, AnnounceRkey{});
		set_state(State::kAnnouncingRkey);
		return;
	}
	// After CONFIRM_LINK the server is ready, and other connections may join the group.
	exchange_.set_peer_may_use(true);
	Exchange::emit(effects, ConfirmLink{});
	if (!send_confirm(effects)) {
		decline(DeclineReason::kIntErr, effects);
		return;
	}
	sent_ms_ = now_ms;
	exchange_.set_timer(now_ms, exchange_.timeouts().confirm_link_ms, effects);
	set_state(State::kConfirmingLink);
}

void ClientHandshake::connect_failed(DeclineReason reason, Effects &effects)
{
	decline(reason, effects);
}

void ClientHandshake::rkey_announced(std::uint64_t /*now_ms*/, Effects &effects)
{
	if (send_confirm(effects))
		use_smc(effects);
	else
		decline(DeclineReason::kIntErr, effects);
}

bool ClientHandshake::send_confirm(Effects &effects)
{
	wire::Confirm confirm;

	confirm.version = agreement_.version;
	confirm.first_contact = agreement_.first_contact;
	if (agreement_.smcd)
		confirm.endpoint = local_dmb_;
	else
		confirm.endpoint = local_;
	if (agreement_.version >= 2)
		confirm.eid = agreement_.eid;
	if (agreement_.version >= 2 && agreement_.first_contact) {
		wire::FirstContactExtension &extension = confirm.first_contact_extension;

		extension.v2_direct = v2_direct_ && !agreement_.smcd;
		extension.release = agreement_.release;
		extension.host_name = exchange_.offer().host_name;
		extension.feature_mask = agreement_.feature_mask;
		if (agreement_.smcd)
			return Exchange::send(confirm, out_, effects);
		if (agreement_.release >= 1) {
			extension.max_conns = agreement_.max_conns;
			extension.max_links = agreement_.max_links;
			extension.vendor_options = wire::vendor_answer(agreement_.capabilities);
		}
		const bool fits = confirm.gids.push_back(local_.gid);
		expects(fits);
	}
	return Exchange::send(confirm, out_, effects);
}

// The server fails as well, because its CONFIRM_LINK is not answered. Only one of the two may
// decline then: of two crossing Declines each would be read as data.
void ClientHandshake::confirm_failed(DeclineReason reason, std::uint64_t now_ms, Effects &effects)
{
	if (reason != DeclineReason::kTimeoutCl) {
		confirm_failure_ = reason;
		// So the server's wait ends sooner.
		exchange_.release(effects);
	}
	exchange_.set_timer(now_ms, rest_ms(exchange_.timeouts().await_decline_ms, now_ms),
			    effects);
	Exchange::emit(effects, WantBytes{});
	set_state(State::kAwaitDecline);
}

void ClientHandshake::timer(std::uint64_t now_ms, Effects &effects)
{
	if (!exchange_.timer_expired(now_ms, effects))
		return;
	switch (state_) {
	case State::kAwaitAccept: fail(kTimedOut, effects); break;
	case State::kAwaitProposal:
		if (exchange_.offer().any())
			propose(now_ms, effects);
		else
			fall_back(effects);
		break;
	case State::kAcquiringLink: decline(DeclineReason::kIntErr, effects); break;
	case State::kConnectingLink:
		decline(agreement_.iwarp() ? DeclineReason::kErrRdyLnk : DeclineReason::kIntErr,
			effects);
		break;
	case State::kAnnouncingRkey: decline(DeclineReason::kErrRegBuf, effects); break;
	case State::kConfirmingLink:
		confirm_failed(DeclineReason::kTimeoutCl, now_ms, effects);
		break;
	case State::kAwaitDecline: fail(kTimedOut, effects); break;
	case State::kIdle:
	case State::kAwaitConfirm:
	case State::kFinished: expects(false); break;
	}
}

// Both ends connect: SMC does not support that.
void ClientHandshake::fall_back(Effects &effects)
{
	exchange_.fall_back(DeclineReason::kOptUnsupp, effects);
	set_state(State::kFinished);
}

void ClientHandshake::decline(DeclineReason reason, Effects &effects)
{
	exchange_.decline(reason, out_, effects);
	set_state(State::kFinished);
}

// Of two clients that connect to each other neither is there to be connected to again.
void ClientHandshake::fail(int error, Effects &effects)
{
	Again again = Again::kMaybeServer;

	if (crossed_)
		again = Again::kNo;
	else if (state_ == State::kAwaitAccept)
		again = Again::kStranger;
	exchange_.fail({error, again}, effects);
	set_state(State::kFinished);
}

// A program that has no use for the Proposal may reset the connection. Other errors are the
// network's, or this host's.
void ClientHandshake::tcp_error(int error, Effects &effects)
{
	if (error == kConnectionReset || crossed_) {
		fail(error, effects);
		return;
	}
	exchange_.fail({error, Again::kMaybeServer}, effects);
	set_state(State::kFinished);
}

void ClientHandshake::abort(Effects &effects)
{
	exchange_.fail({kConnectionAborted}, effects);
	set_state(State::kFinished);
}

void ClientHandshake::use_smc(Effects &effects)
{
	exchange_.use_smc(agreement_, effects);
	set_state(State::kFinished);
}

bool ClientHandshake::transition_is_legal(State from, State to)
{
	switch (from) {
	case State::kIdle:
		return to == State::kAwaitAccept || to == State::kAwaitProposal ||
		       to == State::kFinished;
	case State::kAwaitProposal: return to == State::kAwaitAccept || to == State::kFinished;
	case State::kAwaitAccept: return to == State::kAcquiringLink || to == State::kFinished;
	case State::kAcquiringLink: return to == State::kConnectingLink || to == State::kFinished;
	case State::kConnectingLink:
		return to == State::kAnnouncingRkey || to == State::kConfirmingLink ||
		       to == State::kFinished;
	case State::kAnnouncingRkey: return to == State::kFinished;
	case State::kConfirmingLink: return to == State::kAwaitDecline || to == State::kFinished;
	case State::kAwaitDecline: return to == State::kFinished;
	case State::kAwaitConfirm:
	case State::kFinished: return false;
	}
	return false;
}

void ClientHandshake::set_state(State to)
{
	expects(transition_is_legal(state_, to));
	state_ = to;
}

} // namespace smc::handshake
