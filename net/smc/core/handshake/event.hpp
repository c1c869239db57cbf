// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <variant>

#include "core/base/bytes.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"

// Events of a handshake. One that does not fit the machine's state (such as the answer to an effect
// that no longer matters) is ignored.
namespace smc::handshake {

// The TCP connection is established and both ends have shown the SMC option.
struct Start {
	// Client: the peer's SYN came in place of a SYN-ACK, so the peer is a client as well (RFC
	// 9293, 3.5, simultaneous open). A client whose SYN was lost cannot know that.
	bool crossed = false;
};

// The TCP receive queue, peeked at: from its first byte on, at least wire::kClcMessageSizeMax bytes
// or all there is. Deliver it when bytes or a FIN arrive, and at once after each WantBytes if there
// is anything. The bytes need not outlive the call.
struct TcpBytes {
	ByteSpan peeked;
	bool eof = false; // the peer's FIN follows these bytes
};

// The TCP connection is dead, or a message could not be sent. Positive errno.
struct TcpError {
	int error = 0;
};

// Answers AcquireServerLink and AcquireClientLink: buffers and a link for this connection.
struct LinkAcquired {
	// Client: as in the Accept. Server: a new link group was made.
	bool first_contact = false;
	// No gateway between the two (version 2, first contact).
	bool v2_direct = true;
	// Our end of the link, and our RMBE.
	wire::SmcrEndpoint local;
	// Server, later contact: the client's end of that link, which its Confirm has to name.
	// Zero: it is the one of the Proposal.
	wire::Gid peer_gid;
	wire::Mac peer_mac;
};
// Answers AcquireServerDmb and AcquireClientDmb: our DMB.
struct DmbAcquired {
	wire::SmcdEndpoint local;
};
// Answers any of the four Acquire effects.
struct LinkFailed {
	wire::DeclineReason reason = wire::DeclineReason::kMem;
};

// Answer ConnectLink and ConnectDmb.
struct LinkConnected {};
struct LinkConnectFailed {
	wire::DeclineReason reason = wire::DeclineReason::kErrRdyLnk;
};

// Answer AnnounceRkey.
struct RkeyAnnounced {};
struct RkeyAnnounceFailed {
	wire::DeclineReason reason = wire::DeclineReason::kErrRegBuf;
};

// Answer ConfirmLink.
struct LinkConfirmed {};
struct LinkConfirmFailed {
	wire::DeclineReason reason = wire::DeclineReason::kTimeoutCl;
};

// The time of the last SetTimer has come. An early one does no harm.
struct Timer {};

// Client: the server has answered others by CLC. So it is only slow, and worth the whole clc_ms.
struct ServerKnown {};

// The owner does not want this connection any more.
struct Abort {};

using Event = std::variant<Start, TcpBytes, TcpError, LinkAcquired, DmbAcquired, LinkFailed,
			   LinkConnected, LinkConnectFailed, RkeyAnnounced, RkeyAnnounceFailed,
			   LinkConfirmed, LinkConfirmFailed, Timer, ServerKnown, Abort>;

} // namespace smc::handshake
