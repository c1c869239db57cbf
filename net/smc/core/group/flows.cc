// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>

#include "core/base/check.hpp"
#include "core/group/machine.hpp"

// Requests of ours: CONFIRM_RKEY and DELETE_RKEY, which take turns, and TEST_LINK.
namespace smc::group {
namespace {

// FlowDone effects that one step may add for flows whose turn did not come in time.
constexpr int kExpiredPerStep = 2;

[[nodiscard]] const LinkRkey *rkey_on(const LinkRkeys &rkeys, LinkIndex link)
{
	const auto found = std::find_if(rkeys.begin(), rkeys.end(),
					[link](const LinkRkey &rkey) { return rkey.link == link; });

	return found == rkeys.end() ? nullptr : found;
}

} // namespace

void GroupMachine::add_flow(FlowKind kind, FlowId id, const LinkRkeys &rkeys, std::uint64_t now_ms,
			    Effects &effects)
{
	const Flow flow{kind, /*wanted=*/true, id, rkeys, now_ms + config_.turn_ms};

	if (!waiting_.push(flow))
		emit(effects, FlowDone{id, FlowResult::kOverload});
}

void GroupMachine::cancel_flow(FlowId id)
{
	if (running_.kind != FlowKind::kNone && running_.id == id)
		running_.wanted = false;
	for (std::size_t i = waiting_.size(); i-- > 0;) {
		if (waiting_[i].id == id)
			waiting_.erase(i);
	}
}

bool GroupMachine::flow_waits(FlowId id) const
{
	for (std::size_t i = 0; i < waiting_.size(); i++) {
		if (waiting_[i].id == id)
			return true;
	}
	return false;
}

void GroupMachine::next_flow(std::uint64_t now_ms, Effects &effects)
{
	int ended = 0;

	while (running_.kind == FlowKind::kNone && !waiting_.empty() && ended < kExpiredPerStep) {
		const Flow flow = waiting_.front();
		const auto link = active_link();

		if (now_ms >= flow.deadline_ms) {
			waiting_.pop();
			emit(effects, FlowDone{flow.id, FlowResult::kTimedOut});
			ended++;
		} else if (!link) {
			return;
		} else if (rkey_on(flow.rkeys, *link) == nullptr) {
			// It was registered on a link that has gone in the meantime.
			waiting_.pop();
			emit(effects, FlowDone{flow.id, FlowResult::kLinkLost});
			ended++;
		} else {
			waiting_.pop();
			start_flow(flow, *link, now_ms, effects);
		}
	}
}

void GroupMachine::start_flow(const Flow &flow, LinkIndex link, std::uint64_t now_ms,
			      Effects &effects)
{
	const wire::RemoteToken &token = rkey_on(flow.rkeys, link)->token;

	running_ = flow;
	running_.deadline_ms = now_ms + config_.response_ms;
	running_link_ = link;
	overdue_confirm_.swallowed = false;
	overdue_delete_.swallowed = false;
	if (flow.kind == FlowKind::kConfirmRkey) {
		wire::ConfirmRkey body;

		body.token = token;
		for (const LinkRkey &other : flow.rkeys) {
			if (other.link == link || links_[other.link].state != LinkState::kActive)
				continue;
			const bool fits =
				body.others.push_back({links_[other.link].id, other.token});
			expects(fits);
		}
		send(link, body, /*response=*/false, effects);
	} else {
		std::array<std::byte, wire::RkeyList::kItemSize> space{};
		const std::array<wire::Rkey, 1> rkeys = {token.rkey};
		wire::DeleteRkey body;

		body.rkeys = wire::RkeyList::of(rkeys, space);
		body.count = 1;
		send(link, body, /*response=*/false, effects);
	}
}

// A peer that does not answer may be gone altogether: find out.
void GroupMachine::flow_timer(std::uint64_t now_ms, Effects &effects)
{
	if (running_.kind == FlowKind::kNone || now_ms < running_.deadline_ms)
		return;
	Overdue &overdue =
		running_.kind == FlowKind::kConfirmRkey ? overdue_confirm_ : overdue_delete_;

	// If a response was taken for a late one, then perhaps wrongly: nothing is owed now.
	if (overdue.swallowed)
		overdue.owed = 0;
	else if (overdue.owed < UINT8_MAX)
		overdue.owed++;
	if (!links_[running_link_].testing)
		test_link(running_link_, now_ms, effects);
	end_flow(FlowResult::kTimedOut, effects);
}

void GroupMachine::end_flow(FlowResult result, Effects &effects)
{
	if (running_.wanted)
		emit(effects, FlowDone{running_.id, result});
	running_ = {};
}

bool GroupMachine::take_for_late(Overdue &overdue)
{
	if (overdue.owed == 0)
		return false;
	overdue.owed--;
	overdue.swallowed = true;
	counters_.late_responses++;
	return true;
}

void GroupMachine::test_link(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[index];
	wire::TestLink body;

	tests_sent_++;
	for (std::size_t i = 0; i < sizeof(tests_sent_); i++)
		body.user_data[i] = static_cast<std::uint8_t>(tests_sent_ >> (8 * i));
	link.testing = true;
	link.heard = false;
	link.test_sent_ms = now_ms;
	link.test_number = tests_sent_;
	send(index, body, /*response=*/false, effects);
}

// A client that was not told "one link" (version 1, version 2.0) waits for our ADD_LINK at first
// contact, Linux for three seconds. There is no second link to offer, and one without an MTU is
// what a client rejects at once.
void GroupMachine::offer_no_link(LinkIndex index, Effects &effects)
{
	Link &link = links_[index];
	wire::AddLink body;

	body.mac = link.local.mac;
	body.gid = link.local.gid;
	if (config_.version == wire::LlcVersion::kV2) {
		body.extension.emplace();
		body.extension->target_gid = link.local.gid;
	}
	link.offered = true;
	send(index, body, /*response=*/false, effects);
}

} // namespace smc::group
