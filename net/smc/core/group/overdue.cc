// SPDX-License-Identifier: GPL-2.0-only
#include "core/base/check.hpp"
#include "core/group/machine.hpp"

// Requests of ours that had no response while it was their turn. The peer may be slow: Linux has
// one worker for each group, which waits for up to 10 s at a time. A response that comes after all
// is counted for the request that it belongs to.
//
// Queue pair and worker keep the order. So a response also says that requests before its own have
// no response under way any more. A deletion is not believed to be through on such evidence: its
// RMB is the peer's until the peer says otherwise, and only when the time for that has passed, too,
// another deletion may take its place.
//
// A response to CONFIRM_RKEY is found by its token, the oldest request first. So no two requests
// for the same one may be under way: an RMB whose announcement was not answered has to be deleted
// before it, or another one with its key, is announced, and the answer to that settles the
// announcement.
namespace smc::group {

// The running flow gives up its turn. A connection does not wait any longer for the word about its
// RMB; the memory of one that is being deleted does.
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

bool GroupMachine::late_confirm_response(LinkIndex from, const wire::RemoteToken &token,
					 std::uint64_t now_ms)
{
	for (std::size_t i = 0; i < overdue_.size(); i++) {
		const Overdue &overdue = overdue_[i];

		if (overdue.flow.kind != FlowKind::kConfirmRkey || overdue.link != from)
			continue;
		for (const LinkRkey &rkey : overdue.flow.rkeys) {
			if (rkey.link != from || rkey.token != token)
				continue;
			overdue_.erase(i);
			newer_is_answered(from, i, now_ms);
			counters_.late_responses++;
			return true;
		}
	}
	return false;
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

// A response to something that was sent on this link behind the first @older of them.
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

// With the link goes what was under way on it.
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
