// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>

#include "core/base/check.hpp"
#include "core/group/machine.hpp"

// Requests of this side: CONFIRM_RKEY and DELETE_RKEY, one at a time, and TEST_LINK.
namespace smc::group {
namespace {

// FlowDone effects that one step may add for flows that have waited too long.
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
	const Flow flow{.kind = kind,
			.wanted = true,
			.id = id,
			.rkeys = rkeys,
			.deadline_ms = now_ms + turn_ms(kind)};

	if (!waiting_.push(flow))
		emit(effects, FlowDone{id, FlowResult::kOverload});
}

std::uint32_t GroupMachine::turn_ms(FlowKind kind) const
{
	return kind == FlowKind::kDeleteRkey ? config_.deletion_turn_ms : config_.turn_ms;
}

// The running request goes out once more, first of all. False: there is no room for it.
bool GroupMachine::put_flow_back(std::uint64_t now_ms)
{
	Flow flow = running_;

	flow.deadline_ms = now_ms + turn_ms(flow.kind);
	flow.sent = true;
	if (!waiting_.push_front(flow))
		return false;
	running_ = {};
	return true;
}

// The link that carried the request is lost. It goes out again over one that is left: the peer may
// have heard the first one, and an RMB announced or deleted twice does no harm.
void GroupMachine::repeat_flow(std::uint64_t now_ms, Effects &effects)
{
	const auto other = active_link();

	if (!running_.wanted || !other || rkey_on(running_.rkeys, *other) == nullptr ||
	    !put_flow_back(now_ms))
		end_flow(FlowResult::kLinkLost, effects);
}

// The peer had not heard of this RMB when it read what its key on the new link is. Once that link
// is there it is announced with both.
void GroupMachine::announce_again(std::uint64_t now_ms, Effects &effects)
{
	if (!put_flow_back(now_ms))
		end_flow(FlowResult::kOverload, effects);
}

void GroupMachine::cancel_flow(FlowId id)
{
	if (running_.kind != FlowKind::kNone && running_.id == id)
		running_.wanted = false;
	for (std::size_t i = 0; i < overdue_.size(); i++) {
		if (overdue_[i].flow.id == id)
			overdue_[i].flow.wanted = false;
	}
	for (std::size_t i = waiting_.size(); i-- > 0;) {
		if (waiting_[i].id == id)
			waiting_.erase(i);
	}
}

bool GroupMachine::has_flow(FlowId id) const
{
	bool any = running_.kind != FlowKind::kNone && running_.id == id;

	for (std::size_t i = 0; i < overdue_.size(); i++)
		any |= overdue_[i].flow.id == id;
	for (std::size_t i = 0; i < waiting_.size(); i++)
		any |= waiting_[i].id == id;
	return any;
}

bool GroupMachine::flow_waits(FlowId id) const
{
	for (std::size_t i = 0; i < waiting_.size(); i++) {
		if (waiting_[i].id == id)
			return !waiting_[i].sent;
	}
	return false;
}

// The link that has been added is active. What waits, or is not answered, was asked for before
// that: if it is to go out over that link it needs the rkey there.
void GroupMachine::add_link_to_flows()
{
	add_link_to(running_);
	for (std::size_t i = 0; i < waiting_.size(); i++)
		add_link_to(waiting_[i]);
}

void GroupMachine::add_link_to(Flow &flow) const
{
	const LinkRkey *known = rkey_on(flow.rkeys, adding_.carrier);

	for (std::size_t n = 0; known != nullptr && n < adding_.rkeys.size(); n++) {
		const wire::RkeyPair pair = adding_.rkeys[n];

		if (pair.rkey != known->token.rkey)
			continue;
		(void)flow.rkeys.push_back({adding_.link, {pair.new_rkey, pair.new_address}});
		return;
	}
}

// Another link may take its place, with other rkeys.
void GroupMachine::take_link_from_flows(LinkIndex index)
{
	const auto take_from = [index](Flow &flow) {
		LinkRkeys others;

		for (const LinkRkey &rkey : flow.rkeys) {
			if (rkey.link != index)
				(void)others.push_back(rkey);
		}
		flow.rkeys = others;
	};

	take_from(running_);
	for (std::size_t i = 0; i < waiting_.size(); i++)
		take_from(waiting_[i]);
	for (std::size_t i = 0; i < overdue_.size(); i++)
		take_from(overdue_[i].flow);
}

void GroupMachine::next_flow(std::uint64_t now_ms, Effects &effects)
{
	std::size_t i = 0;
	int ended = 0;

	while (running_.kind == FlowKind::kNone && i < waiting_.size() && ended < kExpiredPerStep) {
		const Flow flow = waiting_[i];
		const auto link = active_link();

		if (now_ms >= flow.deadline_ms) {
			waiting_.erase(i);
			emit(effects, FlowDone{flow.id, FlowResult::kTimedOut});
			ended++;
		} else if (!link || has_to_wait(flow)) {
			i++;
		} else if (rkey_on(flow.rkeys, *link) == nullptr) {
			// It was registered on a link that is gone by now.
			waiting_.erase(i);
			emit(effects, FlowDone{flow.id, FlowResult::kLinkLost});
			ended++;
		} else if (overdue_.size() == kOverdueMax) {
			// The peer answers nothing: a connection that waits had better use TCP.
			waiting_.erase(i);
			emit(effects, FlowDone{flow.id, FlowResult::kOverload});
			ended++;
		} else {
			waiting_.erase(i);
			start_flow(flow, *link, now_ms, effects);
		}
	}
}

// In version 2 the response to a DELETE_RKEY does not name its RMB. With two requests under way, an
// RMB could be reused that the peer still writes to.
bool GroupMachine::has_to_wait(const Flow &flow) const
{
	if (held_ || exchange_under_way())
		return true;
	if (flow.kind != FlowKind::kDeleteRkey)
		return false;
	for (std::size_t i = 0; i < overdue_.size(); i++) {
		if (overdue_[i].flow.kind == FlowKind::kDeleteRkey)
			return true;
	}
	return overdue_.size() == kOverdueMax;
}

// When the waiting flows need the timer, while none is running.
std::uint64_t GroupMachine::waiting_deadline(std::uint64_t now_ms) const
{
	const bool link = active_link().has_value();
	std::uint64_t deadline_ms = waiting_.front().deadline_ms;

	for (std::size_t i = 0; i < waiting_.size(); i++) {
		if (link && !has_to_wait(waiting_[i]))
			return now_ms;
		deadline_ms = std::min(deadline_ms, waiting_[i].deadline_ms);
	}
	return deadline_ms;
}

void GroupMachine::start_flow(const Flow &flow, LinkIndex link, std::uint64_t now_ms,
			      Effects &effects)
{
	const wire::RemoteToken &token = rkey_on(flow.rkeys, link)->token;

	running_ = flow;
	running_.overtaken = false;
	running_.deadline_ms = now_ms + config_.response_ms;
	running_link_ = link;
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

void GroupMachine::flow_timer(std::uint64_t now_ms, Effects &effects)
{
	if (running_.kind != FlowKind::kNone && now_ms >= running_.deadline_ms)
		put_off(effects);
}

void GroupMachine::end_flow(FlowResult result, Effects &effects)
{
	if (running_.wanted)
		emit(effects, FlowDone{running_.id, result});
	running_ = {};
}

void GroupMachine::test_link(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[index];

	// A probe does not put off the time of a test that is not answered.
	if (!link.testing)
		link.test_sent_ms = now_ms;
	link.testing = true;
	link.test_number = ++tests_sent_;
	send_test(index, effects);
}

// Or later, if earlier messages wait for room.
void GroupMachine::send_test(LinkIndex index, Effects &effects)
{
	Link &link = links_[index];
	wire::TestLink body;

	link.test_waits = held_;
	if (held_)
		return;
	for (std::size_t i = 0; i < sizeof(link.test_number); i++)
		body.user_data[i] = static_cast<std::uint8_t>(link.test_number >> (8 * i));
	send(index, body, /*response=*/false, effects);
}

// A client that was not told "one link" waits for our ADD_LINK at first contact, Linux for three
// seconds. If there is no second link to offer: an ADD_LINK without an MTU is rejected at once.
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
