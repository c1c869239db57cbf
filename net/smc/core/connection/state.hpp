// SPDX-License-Identifier: GPL-2.0-only
//
// State: the close state of one connection, as sock_diag numbers it (RFC 7609 "termination of an
// SMC-R connection"). The state follows the application's calls and the peer's flags. Whether our
// own flags have gone out yet is kept apart (CloseMachine), because they wait for the data. INIT
// and CLOSED are the first and the last one; LISTEN belongs to a socket and is not here.
#pragma once

#include <array>
#include <cstdint>

namespace smc::connection {

enum class State : std::uint8_t {
	kActive = 1,
	kInit = 2,
	kClosed = 7,
	kPeerCloseWait1 = 20,   // we are done or closed; nothing from the peer yet
	kPeerCloseWait2 = 21,   // ... and the peer is done sending
	kAppCloseWait1 = 22,    // peer is done or closed; the application may still send
	kAppCloseWait2 = 23,    // ... and we are done sending; the application has yet to close
	kAppFinCloseWait = 24,  // done both ways and the peer has closed; the application has not
	kPeerFinCloseWait = 25, // we have closed after the peer was done; the peer has yet to close
	kPeerAbortWait = 26,    // we aborted; the peer has yet to answer
	kProcessAbort = 27,     // the peer aborted; the application has yet to close
};

inline constexpr std::array kAllStates{
	State::kActive,           State::kInit,
	State::kClosed,           State::kPeerCloseWait1,
	State::kPeerCloseWait2,   State::kAppCloseWait1,
	State::kAppCloseWait2,    State::kAppFinCloseWait,
	State::kPeerFinCloseWait, State::kPeerAbortWait,
	State::kProcessAbort,
};

enum class CloseEvent : std::uint8_t {
	kStart,         // the handshake is done
	kLocalShutdown, // the application will write no more
	kLocalClose,    // the application has closed
	kLocalAbort,    // reset: unread data at close, SO_LINGER 0, a violation by the peer
	kPeerDone,      // sending-done flag
	kPeerClosed,    // closed flag
	kPeerAborted,   // abnormal-close flag
	kTransportLost, // the link is gone: nothing can be sent or received any more
};

inline constexpr std::array kAllCloseEvents{
	CloseEvent::kStart,       CloseEvent::kLocalShutdown, CloseEvent::kLocalClose,
	CloseEvent::kLocalAbort,  CloseEvent::kPeerDone,      CloseEvent::kPeerClosed,
	CloseEvent::kPeerAborted, CloseEvent::kTransportLost,
};

// What next_state() needs to know besides state and event.
struct CloseFacts {
	bool locally_closed = false; // the application has closed (before this event)
	bool peer_closed = false;    // the peer's closed or aborted flag has been seen (before it)
};

// The state after the event; the same state if the event changes nothing.
[[nodiscard]] State next_state(State state, CloseEvent event, CloseFacts facts);

// The table of legal changes, which set_state() alone uses. A state may always stay.
[[nodiscard]] bool transition_is_legal(State from, State to);

} // namespace smc::connection
