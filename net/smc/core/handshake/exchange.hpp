// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "core/handshake/offer.hpp"
#include "core/handshake/stream_head.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"

namespace smc::handshake {

// What client and server share: the one timer, and what has to be given back when the handshake
// ends without SMC. The room for messages is the machine's: a server's are much shorter.
class Exchange {
public:
	Exchange(const LocalOffer &offer, const Timeouts &timeouts)
		: offer_(offer), timeouts_(timeouts)
	{
	}

	[[nodiscard]] const LocalOffer &offer() const { return offer_; }
	[[nodiscard]] const Timeouts &timeouts() const { return timeouts_; }

	// Version of a Decline of ours: wire::decline_version() of the message that it answers.
	void set_decline_version(std::uint8_t version) { decline_version_ = version; }

	// Writes the message into @out. False, and nothing is sent, if it cannot be encoded, for
	// instance with an own endpoint that does not exist.
	template <class Message>
	[[nodiscard]] static bool send(const Message &message, MutableByteSpan out,
				       Effects &effects)
	{
		const std::size_t size = wire::encode(message, out);

		if (size != 0)
			emit(effects, SendClc{out.first(size)});
		return size != 0;
	}

	// The head of the stream; a message is taken out of it.
	[[nodiscard]] static StreamHead
	take_head(const TcpBytes &bytes, std::optional<wire::ClcType> awaited, Effects &effects);

	void set_timer(std::uint64_t now_ms, std::uint32_t timeout_ms, Effects &effects);
	// True if the timer has run out; otherwise it is set again.
	[[nodiscard]] bool timer_expired(std::uint64_t now_ms, Effects &effects);

	// Every effect that acquires a link is given through here, so that the link is given back.
	template <class Acquire>
	void acquire(const Acquire &acquire, Effects &effects)
	{
		link_held_ = true;
		emit(effects, acquire);
	}
	void acquire_failed() { link_held_ = false; }
	// Whether the peer may take the connection for established, whatever this side does.
	void set_peer_may_use(bool may) { peer_may_use_ = may; }

	// The ways to end. Each stops the timer and gives back the link, if there is one.
	void use_smc(const Agreement &agreement, Effects &effects);
	void fall_back(wire::DeclineReason reason, Effects &effects);
	void decline(wire::DeclineReason reason, MutableByteSpan out, Effects &effects);
	// @own_reason: an earlier failure on this side; kNone if there was none.
	void declined(const wire::Decline &decline, wire::DeclineReason own_reason,
		      Effects &effects);
	void fail(const Fail &failure, Effects &effects);

	// Gives back the link, if there is one, before the handshake itself ends.
	void release(Effects &effects);

	static void emit(Effects &effects, const Effect &effect);

private:
	void finish(const Finished &finished, Effects &effects);

	LocalOffer offer_;
	Timeouts timeouts_;
	std::optional<std::uint64_t> deadline_ms_;
	std::uint8_t decline_version_ = 1;
	bool link_held_ = false;
	bool peer_may_use_ = false;
};

} // namespace smc::handshake
