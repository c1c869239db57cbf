// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/exchange.hpp"

#include "core/base/check.hpp"

namespace smc::handshake {

void Exchange::emit(Effects &effects, const Effect &effect)
{
	const bool fits = effects.push_back(effect);

	expects(fits);
}

StreamHead Exchange::take_head(const TcpBytes &bytes, std::optional<wire::ClcType> awaited,
			       Effects &effects)
{
	const StreamHead found = stream_head(bytes.peeked, bytes.eof, awaited);

	if (found.head == Head::kAwaited || found.head == Head::kDecline)
		emit(effects, ConsumeTcp{found.message.size()});
	return found;
}

void Exchange::set_timer(std::uint64_t now_ms, std::uint32_t timeout_ms, Effects &effects)
{
	deadline_ms_ = now_ms + timeout_ms;
	emit(effects, SetTimer{*deadline_ms_});
}

bool Exchange::timer_expired(std::uint64_t now_ms, Effects &effects)
{
	if (!deadline_ms_)
		return false;
	if (now_ms < *deadline_ms_) {
		emit(effects, SetTimer{*deadline_ms_});
		return false;
	}
	deadline_ms_.reset();
	return true;
}

void Exchange::use_smc(const Agreement &agreement, Effects &effects)
{
	link_held_ = false;
	finish({UseSmc{&agreement}}, effects);
}

void Exchange::fall_back(wire::DeclineReason reason, Effects &effects)
{
	release(effects);
	finish({FallBack{reason, wire::DeclineReason::kNone}}, effects);
}

// The link ends before the Decline is sent, as with Linux: then the peer's waits for CONFIRM_LINK
// end sooner.
void Exchange::decline(wire::DeclineReason reason, MutableByteSpan out, Effects &effects)
{
	wire::Decline message;

	message.version = decline_version_;
	message.out_of_sync = reason == wire::DeclineReason::kSyncErr;
	message.peer_id = offer_.peer_id;
	message.reason = reason;
	release(effects);
	const bool sent = send(message, out, effects);
	expects(sent);
	finish({FallBack{reason, wire::DeclineReason::kNone}}, effects);
}

void Exchange::declined(const wire::Decline &decline, wire::DeclineReason own_reason,
			Effects &effects)
{
	peer_may_use_ = false;
	if (link_held_ && decline.out_of_sync) {
		link_held_ = false;
		emit(effects, TerminateGroup{});
	}
	release(effects);
	if (own_reason == wire::DeclineReason::kNone)
		own_reason = wire::DeclineReason::kPeerDecl;
	finish({FallBack{own_reason, decline.reason}}, effects);
}

void Exchange::fail(const Fail &failure, Effects &effects)
{
	release(effects);
	finish({failure}, effects);
}

void Exchange::release(Effects &effects)
{
	if (!link_held_)
		return;
	link_held_ = false;
	emit(effects, ReleaseLink{peer_may_use_});
}

void Exchange::finish(const Finished &finished, Effects &effects)
{
	if (deadline_ms_)
		emit(effects, StopTimer{});
	emit(effects, finished);
}

} // namespace smc::handshake
