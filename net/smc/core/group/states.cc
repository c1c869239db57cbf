// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/check.hpp"
#include "core/group/machine.hpp"

namespace smc::group {

std::string_view name(LinkState state)
{
	switch (state) {
	case LinkState::kUnused: return "UNUSED";
	case LinkState::kPreparing: return "PREPARING";
	case LinkState::kOffered: return "OFFERED";
	case LinkState::kExchanging: return "EXCHANGING";
	case LinkState::kReadying: return "READYING";
	case LinkState::kAwaitRequest: return "AWAIT_REQUEST";
	case LinkState::kActivating: return "ACTIVATING";
	case LinkState::kAnswered: return "ANSWERED";
	case LinkState::kAwaitResponse: return "AWAIT_RESPONSE";
	case LinkState::kActive: return "ACTIVE";
	case LinkState::kDown: return "DOWN";
	}
	return "UNKNOWN";
}

std::string_view name(GroupState state)
{
	switch (state) {
	case GroupState::kForming: return "FORMING";
	case GroupState::kActive: return "ACTIVE";
	case GroupState::kTerminated: return "TERMINATED";
	}
	return "UNKNOWN";
}

bool GroupMachine::transition_is_legal(LinkState from, LinkState to)
{
	switch (from) {
	case LinkState::kUnused:
		return to == LinkState::kPreparing || to == LinkState::kAwaitRequest ||
		       to == LinkState::kAwaitResponse;
	case LinkState::kDown: return to == LinkState::kUnused;
	case LinkState::kPreparing:
		return to == LinkState::kOffered || to == LinkState::kExchanging ||
		       to == LinkState::kAwaitRequest || to == LinkState::kDown;
	case LinkState::kOffered:
		return to == LinkState::kExchanging || to == LinkState::kReadying ||
		       to == LinkState::kDown;
	case LinkState::kExchanging:
		return to == LinkState::kReadying || to == LinkState::kAwaitRequest ||
		       to == LinkState::kDown;
	case LinkState::kReadying: return to == LinkState::kAwaitResponse || to == LinkState::kDown;
	case LinkState::kAwaitRequest:
		return to == LinkState::kActivating || to == LinkState::kDown;
	case LinkState::kActivating: return to == LinkState::kAnswered || to == LinkState::kDown;
	case LinkState::kAnswered:
	case LinkState::kAwaitResponse: return to == LinkState::kActive || to == LinkState::kDown;
	case LinkState::kActive: return to == LinkState::kDown;
	}
	return false;
}

bool GroupMachine::transition_is_legal(GroupState from, GroupState to)
{
	switch (from) {
	case GroupState::kForming:
		return to == GroupState::kActive || to == GroupState::kTerminated;
	case GroupState::kActive: return to == GroupState::kTerminated;
	case GroupState::kTerminated: return false;
	}
	return false;
}

bool GroupMachine::is_confirming(LinkState state)
{
	switch (state) {
	case LinkState::kAwaitRequest:
	case LinkState::kActivating:
	case LinkState::kAnswered:
	case LinkState::kAwaitResponse: return true;
	case LinkState::kUnused:
	case LinkState::kPreparing:
	case LinkState::kOffered:
	case LinkState::kExchanging:
	case LinkState::kReadying:
	case LinkState::kActive:
	case LinkState::kDown: return false;
	}
	return false;
}

bool GroupMachine::is_being_added(LinkState state)
{
	return state == LinkState::kPreparing || state == LinkState::kOffered ||
	       state == LinkState::kExchanging || state == LinkState::kReadying;
}

void GroupMachine::set_state(Link &link, LinkState to)
{
	expects(transition_is_legal(link.state, to));
	link.state = to;
}

void GroupMachine::set_state(GroupState to)
{
	expects(transition_is_legal(state_, to));
	state_ = to;
}

} // namespace smc::group
