// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/check.hpp"
#include "core/group/machine.hpp"

// Requests of ours that were not answered in time. The peer may be slow: Linux has one worker for
// each group, which waits up to 10 s for each thing. A late response counts for the request that it
// belongs to.
//
// Queue pair and worker keep the order, so a response also shows that no earlier request will be
// answered any more. For a deletion that is not enough: its RMB stays the peer's until the peer
// answers, and only when that time has passed, too, another deletion may start.
//
// A response to CONFIRM_RKEY is matched by its token. Where two requests for one RMB are under way,
// since it was announced once more for another connection, the first answer counts for the newer
// one, and the other answer for the older. An RMB whose announcement was not answered is deleted
// before another one with its key is announced. The answer to that deletion settles the
// announcement.
namespace smc::group {

// The running flow makes way for the next one. A connection stops waiting for the announcement of
// its RMB; the memory of an RMB that is being deleted keeps waiting.
void GroupMachine::put_off(Effects &effects)
{
	const bool deletes = running_.kind == FlowKind::kDeleteRkey;
	Flow flow = running_;

	flow.deadline_ms += config_.late_response_ms - config_.response_ms;
	flow.wanted = running_.wanted && deletes;
	const bool fits = overdue_.push({flow, running_link_});
	expects(fits); // or it would not have been started
	running_.wanted = running_.wanted && !deletes;
	end_flow(FlowResult::kTimedOut, effects);
}

std::optional<std::size_t> GroupMachine::find_overdue_confirm(LinkIndex from,
							      const wire::RemoteToken &token) const
{
	for (std::size_t i = 0; i < overdue_.size(); i++) {
		const Overdue &overdue = overdue_[i];

		if (overdue.flow.kind == FlowKind::kConfirmRkey && overdue.link == from &&
		    overdue.flow.names(from, token))
			return i;
	}
	return std::nullopt;
}

bool GroupMachine::late_delete_response(LinkIndex from, FlowResult result, std::uint64_t now_ms,
					Effects &effects)
{
	for (std::size_t i = 0; i < overdue_.size(); i++) {
		const Flow flow = overdue_[i].flow;

		if (flow.kind != FlowKind::kDeleteRkey || overdue_[i].link != from)
			continue;
		overdue_.erase(i);
		newer_is_answered(from, i, now_ms);
		counters_.late_responses++;
		if (flow.wanted)
			emit(effects, FlowDone{flow.id, result});
		return true;
	}
	return false;
}

// On this link a request was answered that had been sent after the first @older of the overdue
// ones.
void GroupMachine::newer_is_answered(LinkIndex link, std::size_t older, std::uint64_t now_ms)
{
	for (std::size_t i = older; i-- > 0;) {
		const Flow &flow = overdue_[i].flow;

		if (overdue_[i].link == link &&
		    (flow.kind == FlowKind::kConfirmRkey || now_ms >= flow.deadline_ms))
			overdue_.erase(i);
	}
}

std::size_t GroupMachine::sent_before(std::uint64_t time_ms) const
{
	std::size_t before = 0;

	while (before < overdue_.size() &&
	       overdue_[before].flow.deadline_ms < time_ms + config_.late_response_ms)
		before++;
	return before;
}

void GroupMachine::overdue_timer(std::uint64_t now_ms, Effects &effects)
{
	for (std::size_t i = overdue_.size(); i-- > 0;) {
		Flow &flow = overdue_[i].flow;

		if (now_ms < flow.deadline_ms)
			continue;
		if (flow.kind == FlowKind::kConfirmRkey) {
			overdue_.erase(i);
		} else if (flow.wanted) {
			emit(effects, FlowDone{flow.id, FlowResult::kTimedOut});
			flow.wanted = false;
		}
	}
}

// Requests that were sent on the lost link get no answer any more.
void GroupMachine::forget_overdue(LinkIndex link, Effects &effects)
{
	for (std::size_t i = overdue_.size(); i-- > 0;) {
		const Flow flow = overdue_[i].flow;

		if (overdue_[i].link != link)
			continue;
		overdue_.erase(i);
		if (flow.wanted)
			emit(effects, FlowDone{flow.id, FlowResult::kLinkLost});
	}
}

} // namespace smc::group
