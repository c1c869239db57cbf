// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <span>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/fixed_vector.hpp"
#include "core/group/limits.hpp"
#include "core/group/link_end.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc.hpp"

// Events of a link group. One that does not fit the state of the group or the link is ignored.
namespace smc::group {

// Server: this link's queue pair can send and receive, and the RMB is registered.
struct StartConfirmLink {
	LinkIndex link = 0;
	LinkIdentity local;
	LinkIdentity peer; // of its Accept or Confirm
};

// Client: this link's queue pair can receive. Give it before the Confirm goes out.
struct ExpectConfirmLink {
	LinkIndex link = 0;
	LinkIdentity local;
	LinkIdentity peer; // of its Accept or Confirm
};

// Client, answers ActivateLink: the queue pair can send and the RMB is registered, or why not.
struct LinkActivated {
	LinkIndex link = 0;
	std::optional<wire::DeclineReason> failure;
};

// Client: the peer's queue pair has acknowledged our response to CONFIRM_LINK.
struct AnswerDelivered {
	LinkIndex link = 0;
};

// The link is lost: queue pair in error, port down, device gone.
struct LinkFailed {
	LinkIndex link = 0;
};

// There may be a port for another link now: one has come, or has its carrier again.
struct AlternateFound {
	wire::Mac mac;
	wire::Gid gid;
};

// Answers PrepareLink: our end of the new link, and for each of our RMBs that the peer may know its
// rkey on the link `beside` and its place on the new one. The list need not outlive the call, and
// is cut to what one message takes.
struct LinkPrepared {
	LinkIndex link = 0;
	std::optional<LinkEnd> local; // none: there is no port, or no memory
	std::span<const wire::RkeyPair> rkeys;
};

// Server, answers ReadyLink.
struct LinkReady {
	LinkIndex link = 0;
	bool ready = false;
};

// After LinkDown or DestroyLink: the queue pair is gone, and no connection uses the link any more.
struct LinkGone {
	LinkIndex link = 0;
};

// A message came in: all bytes received. They need not outlive the call.
struct LlcReceived {
	LinkIndex link = 0;
	ByteSpan bytes;
};

// An RMB of ours on one of our links.
struct LinkRkey {
	LinkIndex link = 0;
	wire::RemoteToken token;
};
using LinkRkeys = FixedVector<LinkRkey, kLinksMax>;

// Tell the peer that this RMB exists (CONFIRM_RKEY). rkeys: one for each active link.
struct AnnounceRkey {
	FlowId flow = 0;
	LinkRkeys rkeys;
};

// Tell the peer that this RMB is no more (DELETE_RKEY).
struct DeleteRkey {
	FlowId flow = 0;
	LinkRkeys rkeys;
};

// Ask the peer whether it has received all that was sent on this link (TEST_LINK): LinkAnswered
// follows, if it answers.
struct ProbeLink {
	LinkIndex link = 0;
};

// The owner does not wait for this flow any more: no FlowDone comes for it. A request that has been
// sent is not taken back.
struct CancelFlow {
	FlowId flow = 0;
};

// The time of the last SetTimer has come. An early one does no harm.
struct Timer {};

// End the group, and tell the peer why.
struct Terminate {
	wire::DeleteLinkReason reason = wire::DeleteLinkReason::kProgram;
};

using Event =
	std::variant<StartConfirmLink, ExpectConfirmLink, LinkActivated, AnswerDelivered,
		     LinkFailed, AlternateFound, LinkPrepared, LinkReady, LinkGone, LlcReceived,
		     AnnounceRkey, DeleteRkey, ProbeLink, CancelFlow, Timer, Terminate>;

} // namespace smc::group
