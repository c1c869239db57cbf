// SPDX-License-Identifier: GPL-2.0-only
#include "core/connection/close_machine.hpp"

namespace smc::connection {

void CloseMachine::shutdown_write()
{
	if (!started() || owed_flags_ != 0)
		return;
	owed_flags_ |= state_flag::kSendingDone;
	apply(CloseEvent::kLocalShutdown);
}

void CloseMachine::close()
{
	if (!started() || locally_closed_)
		return;
	// The abort flag already covers the closed flag.
	if (!locally_aborted())
		owed_flags_ |= state_flag::kClosed;
	apply(CloseEvent::kLocalClose);
	locally_closed_ = true;
}

void CloseMachine::abort()
{
	if (!started())
		return;
	// Flags that were owed and not sent are dropped: the abort replaces them.
	owed_flags_ = sent_flags_ | state_flag::kAborted;
	apply(CloseEvent::kLocalAbort);
}

void CloseMachine::give_up()
{
	if (!started())
		return;
	apply(CloseEvent::kTransportLost);
	lost_ = true;
}

void CloseMachine::transport_lost()
{
	give_up();
	link_lost_ = lost_;
}

std::uint8_t CloseMachine::on_peer_flags(std::uint8_t state_flags)
{
	if (!started())
		return 0;
	const auto fresh_flags =
		static_cast<std::uint8_t>(state_flags & state_flag::kAll & ~peer_flags_);

	if ((fresh_flags & state_flag::kSendingDone) != 0)
		apply(CloseEvent::kPeerDone);
	if ((fresh_flags & state_flag::kClosed) != 0)
		apply(CloseEvent::kPeerClosed);
	if ((fresh_flags & state_flag::kAborted) != 0) {
		// The peer keeps its ring until it has our closing flag. Nothing that the
		// application does can change that flag any more, so it is ready at once.
		owed_flags_ = sent_flags_ | state_flag::kAborted;
		apply(CloseEvent::kPeerAborted);
	}
	if ((state_flags & state_flag::kAborted) == 0 && fresh_flags != 0)
		peer_ended_in_order_ = true;
	peer_flags_ |= fresh_flags;
	return fresh_flags;
}

void CloseMachine::apply(CloseEvent close_event)
{
	const CloseFacts facts{.locally_closed = locally_closed_,
			       .peer_closed = (peer_flags_ & state_flag::kAnyClose) != 0};

	set_state(next_state(state_, close_event, facts));
}

void CloseMachine::set_state(State next)
{
	if (!transition_is_legal(state_, next)) {
		broken_ = true;
		return;
	}
	state_ = next;
}

} // namespace smc::connection
