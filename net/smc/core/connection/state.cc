// SPDX-License-Identifier: GPL-2.0-only
#include "core/connection/state.hpp"

namespace smc::connection {

namespace {

State after_local_shutdown(State state)
{
	switch (state) {
	case State::kActive: return State::kPeerCloseWait1;
	case State::kAppCloseWait1: return State::kAppCloseWait2;
	case State::kInit:
	case State::kClosed:
	case State::kPeerCloseWait1:
	case State::kPeerCloseWait2:
	case State::kAppCloseWait2:
	case State::kAppFinCloseWait:
	case State::kPeerFinCloseWait:
	case State::kPeerAbortWait:
	case State::kProcessAbort: break;
	}
	return state;
}

State after_local_close(State state, bool peer_closed)
{
	switch (state) {
	case State::kActive: return State::kPeerCloseWait1;
	case State::kAppCloseWait1:
	case State::kAppCloseWait2: return peer_closed ? State::kClosed : State::kPeerFinCloseWait;
	case State::kAppFinCloseWait:
	case State::kProcessAbort: return State::kClosed;
	case State::kInit:
	case State::kClosed:
	case State::kPeerCloseWait1:
	case State::kPeerCloseWait2:
	case State::kPeerFinCloseWait:
	case State::kPeerAbortWait: break;
	}
	return state;
}

State after_local_abort(State state, bool peer_closed)
{
	switch (state) {
	case State::kActive:
	case State::kPeerCloseWait1:
	case State::kPeerCloseWait2:
	case State::kAppCloseWait1:
	case State::kAppCloseWait2:
	case State::kPeerFinCloseWait: return peer_closed ? State::kClosed : State::kPeerAbortWait;
	case State::kAppFinCloseWait:
	case State::kProcessAbort: return State::kClosed;
	case State::kInit:
	case State::kClosed:
	case State::kPeerAbortWait: break;
	}
	return state;
}

State after_peer_done(State state)
{
	switch (state) {
	case State::kActive: return State::kAppCloseWait1;
	case State::kPeerCloseWait1: return State::kPeerCloseWait2;
	case State::kInit:
	case State::kClosed:
	case State::kPeerCloseWait2:
	case State::kAppCloseWait1:
	case State::kAppCloseWait2:
	case State::kAppFinCloseWait:
	case State::kPeerFinCloseWait:
	case State::kPeerAbortWait:
	case State::kProcessAbort: break;
	}
	return state;
}

State after_peer_closed(State state, bool locally_closed)
{
	switch (state) {
	case State::kActive: return State::kAppCloseWait1;
	case State::kPeerCloseWait1:
	case State::kPeerCloseWait2:
		return locally_closed ? State::kClosed : State::kAppFinCloseWait;
	case State::kPeerFinCloseWait:
	case State::kPeerAbortWait: return State::kClosed;
	case State::kInit:
	case State::kClosed:
	case State::kAppCloseWait1:
	case State::kAppCloseWait2:
	case State::kAppFinCloseWait:
	case State::kProcessAbort: break;
	}
	return state;
}

State after_peer_aborted(State state, bool locally_closed)
{
	switch (state) {
	case State::kActive:
	case State::kPeerCloseWait1:
	case State::kPeerCloseWait2:
	case State::kAppCloseWait1:
	case State::kAppCloseWait2:
	case State::kAppFinCloseWait: return locally_closed ? State::kClosed : State::kProcessAbort;
	case State::kPeerFinCloseWait:
	case State::kPeerAbortWait: return State::kClosed;
	case State::kInit:
	case State::kClosed:
	case State::kProcessAbort: break;
	}
	return state;
}

} // namespace

State next_state(State state, CloseEvent event, CloseFacts facts)
{
	switch (event) {
	case CloseEvent::kStart: return state == State::kInit ? State::kActive : state;
	case CloseEvent::kLocalShutdown: return after_local_shutdown(state);
	case CloseEvent::kLocalClose: return after_local_close(state, facts.peer_closed);
	case CloseEvent::kLocalAbort: return after_local_abort(state, facts.peer_closed);
	case CloseEvent::kPeerDone: return after_peer_done(state);
	case CloseEvent::kPeerClosed: return after_peer_closed(state, facts.locally_closed);
	case CloseEvent::kPeerAborted: return after_peer_aborted(state, facts.locally_closed);
	case CloseEvent::kTransportLost: return state == State::kInit ? state : State::kClosed;
	}
	return state;
}

bool transition_is_legal(State from, State to)
{
	if (from == to)
		return true;
	switch (from) {
	case State::kInit: return to == State::kActive;
	case State::kActive:
		return to == State::kPeerCloseWait1 || to == State::kAppCloseWait1 ||
		       to == State::kPeerAbortWait || to == State::kProcessAbort ||
		       to == State::kClosed;
	case State::kPeerCloseWait1:
		return to == State::kPeerCloseWait2 || to == State::kAppFinCloseWait ||
		       to == State::kPeerAbortWait || to == State::kProcessAbort ||
		       to == State::kClosed;
	case State::kPeerCloseWait2:
		return to == State::kAppFinCloseWait || to == State::kPeerAbortWait ||
		       to == State::kProcessAbort || to == State::kClosed;
	case State::kAppCloseWait1:
		return to == State::kAppCloseWait2 || to == State::kPeerFinCloseWait ||
		       to == State::kPeerAbortWait || to == State::kProcessAbort ||
		       to == State::kClosed;
	case State::kAppCloseWait2:
		return to == State::kPeerFinCloseWait || to == State::kPeerAbortWait ||
		       to == State::kProcessAbort || to == State::kClosed;
	case State::kAppFinCloseWait: return to == State::kProcessAbort || to == State::kClosed;
	case State::kPeerFinCloseWait: return to == State::kPeerAbortWait || to == State::kClosed;
	case State::kPeerAbortWait:
	case State::kProcessAbort: return to == State::kClosed;
	case State::kClosed: return false;
	}
	return false;
}

} // namespace smc::connection
