// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/fixed_vector.hpp"
#include "core/group/limits.hpp"
#include "core/group/rtoken_table.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc.hpp"

// What the shell is to do for a link group, in this order. Nothing follows a TerminateGroup.
namespace smc::group {

// One message, by value.
struct LlcBytes {
	// An ADD_LINK of version 2 with no rkeys in it; everything else takes wire::kLlcSize.
	static constexpr std::size_t kSizeMax = 72;

	[[nodiscard]] const std::byte *data() const { return space.data(); }
	[[nodiscard]] std::size_t size() const { return size_bytes; }

	std::array<std::byte, kSizeMax> space{};
	std::uint8_t size_bytes = 0;
};

// Post these bytes as one SEND on this link. If that fails, report LinkFailed if the link is lost;
// if only the message is, the group's timers take care of it.
struct SendLlc {
	LinkIndex link = 0;
	LlcBytes message;
	bool last = false; // DELETE_LINK that ends the group: it goes whatever else waits

	[[nodiscard]] ByteSpan bytes() const { return {message.data(), message.size()}; }
};

// Client: CONFIRM_LINK has come. Make the queue pair ready to send, register the RMB, then give
// LinkActivated. The response is sent then; give AnswerDelivered when it has arrived.
struct ActivateLink {
	LinkIndex link = 0;
};

// Both ends have confirmed the link; it may carry data from now on.
struct LinkConfirmed {
	LinkIndex link = 0;
	wire::LinkId id;
	wire::LinkUid uid; // own
	wire::LinkUid peer_uid;
};

// The link was not confirmed, and is down.
struct LinkConfirmFailed {
	LinkIndex link = 0;
	wire::DeclineReason reason = wire::DeclineReason::kTimeoutCl;
};

// An active link is down, by the peer's wish or because it is dead: move its connections
// elsewhere, and destroy its queue pair.
struct LinkDown {
	LinkIndex link = 0;
};

enum class FlowResult : std::uint8_t {
	kDone,     // the peer agreed
	kRefused,  // the peer answered negatively
	kTimedOut, // no answer, or no turn, in time
	kLinkLost, // the link that carried the request is down
	kOverload, // too many flows are waiting already; nothing was sent
};

struct FlowDone {
	FlowId flow = 0;
	FlowResult result = FlowResult::kDone;
};

// The peer has deleted these RMBs while connections use them: no RDMA write may go there any more.
// A peer also does that when it has closed and we have not: such a connection has nothing left to
// write, and what it has received can still be read. Only a connection that would write is lost.
struct RtokensDeleted {
	RtokenSet rtokens;
};

// Deliver Timer at this time; replaces the time set before.
struct SetTimer {
	std::uint64_t deadline_ms = 0;
};
struct StopTimer {};

enum class TerminateCause : std::uint8_t {
	kLocal,      // Terminate
	kPeer,       // the peer's DELETE_LINK
	kViolations, // the peer breaks the protocol
	kNoLink,     // the last link is down
};

// The group has ended: all links are down, all flows are cancelled (without a FlowDone), all
// connections are aborted. Messages to the peer, if any, come before this.
struct TerminateGroup {
	TerminateCause cause = TerminateCause::kLocal;
	wire::DeleteLinkReason reason = wire::DeleteLinkReason::kNone;
};

using Effect = std::variant<SendLlc, ActivateLink, LinkConfirmed, LinkConfirmFailed, LinkDown,
			    FlowDone, RtokensDeleted, SetTimer, StopTimer, TerminateGroup>;

inline constexpr std::size_t kEffectsMax = 12;
using Effects = FixedVector<Effect, kEffectsMax>;

} // namespace smc::group
