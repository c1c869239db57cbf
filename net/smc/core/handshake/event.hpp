// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <variant>

#include "core/base/bytes.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"

// What can happen to a handshake. One that makes no sense in the state that the machine is in
// (an answer to an effect that has been overtaken, say) changes nothing.
namespace smc::handshake {

// The TCP connection is established and both ends have shown the SMC option.
struct Start {
	// Client: the peer's SYN came in place of a SYN-ACK, so it is a client as well (RFC 9293,
	// 3.5, simultaneous open). One whose SYN reached nobody cannot know that.
	bool crossed = false;
};

// What is in the TCP receive queue, only peeked at: from its first byte on, at least
// wire::kClcMessageSizeMax bytes or all there is. Deliver it when bytes or FIN arrive, and at once
// after each WantBytes if there is anything. Need not outlive the call.
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
	// Client: as the Accept said. Server: true if a new link group was made for it.
	bool first_contact = false;
	// No gateway between the two (version 2, first contact).
	bool v2_direct = true;
	// Own end of the link, and own RMBE.
	wire::SmcrEndpoint local;
};
// Answers AcquireServerDmb and AcquireClientDmb: own DMB.
struct DmbAcquired {
	wire::SmcdEndpoint local;
};
// Answers any of the four.
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

// The time of the last SetTimer has come. Coming too early does no harm.
struct Timer {};

// Nobody wants this connection any more.
struct Abort {};

using Event = std::variant<Start, TcpBytes, TcpError, LinkAcquired, DmbAcquired, LinkFailed,
			   LinkConnected, LinkConnectFailed, RkeyAnnounced, RkeyAnnounceFailed,
			   LinkConfirmed, LinkConfirmFailed, Timer, Abort>;

} // namespace smc::handshake
