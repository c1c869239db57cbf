// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/fixed_vector.hpp"
#include "core/group/limits.hpp"
#include "core/group/link_end.hpp"
#include "core/group/rtoken_table.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc.hpp"

// What the shell is to do for a link group, in this order. Nothing follows a TerminateGroup.
namespace smc::group {

// One message, by value.
struct LlcBytes {
	// An ADD_LINK of version 2 with no rkeys in it, or a REQ_ADD_LINK with two GIDs; everything
	// else takes wire::kLlcSize.
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
	// An ADD_LINK with rkeys instead of `message`. It lies in the machine, which lets it be
	// until it has no link to add any more.
	ByteSpan longer;

	[[nodiscard]] ByteSpan bytes() const
	{
		return longer.empty() ? ByteSpan{message.data(), message.size()} : longer;
	}
};

// Another link is to be made: make a queue pair on another port than those in use, map all RMBs,
// and with the peer's end given make it ready to receive. Then give LinkPrepared. Nobody waits for
// it.
struct PrepareLink {
	LinkIndex link = 0;
	LinkIndex beside = 0; // RMBs are named by their rkeys on this link
	// If there is no other port, one in use will do: the peer has another one.
	bool same_port_will_do = false;
	std::optional<LinkEnd> peer; // client: the server's end
};

// Server: the peer has made its end of that link. Make the queue pair ready to receive and to send,
// and register all RMBs. Then give LinkReady.
struct ReadyLink {
	LinkIndex link = 0;
	LinkEnd peer;
};

// A link that was being added is not wanted any more: destroy its queue pair, then give LinkGone.
struct DestroyLink {
	LinkIndex link = 0;
};

// Client: CONFIRM_LINK has come. Make the queue pair ready to send, register the RMB, or, of a link
// that is added, all RMBs, then give LinkActivated. The response is sent then; give AnswerDelivered
// when it has arrived.
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

// The first link was not confirmed, and is down.
struct LinkConfirmFailed {
	LinkIndex link = 0;
	wire::DeclineReason reason = wire::DeclineReason::kTimeoutCl;
};

// An active link is down, by the peer's wish or because it is dead: destroy its queue pair, and
// only then move its connections to another active link, if there is one. Then give LinkGone.
struct LinkDown {
	LinkIndex link = 0;
};

// Client: the server has no other port. If this host has one, give AlternateFound.
struct SeekAlternate {};

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

// The peer has answered that TEST_LINK (GroupMachine::probes()): it has received all that was sent
// on the link before.
struct LinkAnswered {
	LinkIndex link = 0;
	std::uint64_t probe = 0;
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

using Effect = std::variant<SendLlc, PrepareLink, ReadyLink, DestroyLink, ActivateLink,
			    LinkConfirmed, LinkConfirmFailed, LinkDown, SeekAlternate, FlowDone,
			    RtokensDeleted, LinkAnswered, SetTimer, StopTimer, TerminateGroup>;

inline constexpr std::size_t kEffectsMax = 16;
// A type of its own: as an alias it would spell every effect in the name of each function that
// takes it, and those names would be longer than the kernel's symbol tables bear.
struct Effects : FixedVector<Effect, kEffectsMax> {};

} // namespace smc::group
