// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/machine.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace smc::group {

Effects GroupMachine::step(const Event &event, std::uint64_t now_ms)
{
	Effects effects;

	if (state_ == GroupState::kTerminated)
		return effects;
	if (const auto *message = std::get_if<LlcReceived>(&event)) {
		received(*message, now_ms, effects);
	} else if (const auto *announce = std::get_if<AnnounceRkey>(&event)) {
		add_flow(FlowKind::kConfirmRkey, announce->flow, announce->rkeys, now_ms, effects);
	} else if (const auto *remove = std::get_if<DeleteRkey>(&event)) {
		add_flow(FlowKind::kDeleteRkey, remove->flow, remove->rkeys, now_ms, effects);
	} else if (const auto *probe = std::get_if<ProbeLink>(&event)) {
		if (links_[probe->link].state == LinkState::kActive)
			test_link(probe->link, now_ms, effects);
	} else if (const auto *cancel = std::get_if<CancelFlow>(&event)) {
		cancel_flow(cancel->flow);
	} else if (std::get_if<Timer>(&event) != nullptr) {
		timer(now_ms, effects);
	} else if (const auto *start = std::get_if<StartConfirmLink>(&event)) {
		start_confirm_link(*start, now_ms, effects);
	} else if (const auto *expect = std::get_if<ExpectConfirmLink>(&event)) {
		expect_confirm_link(*expect, now_ms);
	} else if (const auto *activated = std::get_if<LinkActivated>(&event)) {
		link_activated(*activated, now_ms, effects);
	} else if (const auto *delivered = std::get_if<AnswerDelivered>(&event)) {
		answer_delivered(delivered->link, now_ms, effects);
	} else if (const auto *failed = std::get_if<LinkFailed>(&event)) {
		link_failed(failed->link, now_ms, effects);
	} else if (const auto *alternate = std::get_if<AlternateFound>(&event)) {
		alternate_found(*alternate, now_ms, effects);
	} else if (const auto *prepared = std::get_if<LinkPrepared>(&event)) {
		link_prepared(*prepared, now_ms, effects);
	} else if (const auto *ready = std::get_if<LinkReady>(&event)) {
		link_ready(*ready, now_ms, effects);
	} else if (const auto *gone = std::get_if<LinkGone>(&event)) {
		link_gone(gone->link, now_ms, effects);
	} else if (const auto *end = std::get_if<Terminate>(&event)) {
		delete_all(end->reason, /*orderly=*/false, effects);
		terminate(TerminateCause::kLocal, end->reason, effects);
	}
	if (state_ != GroupState::kTerminated) {
		next_flow(now_ms, effects);
		rearm(now_ms, effects);
	}
	return effects;
}

void GroupMachine::note_activity(LinkIndex link, std::uint64_t now_ms)
{
	links_[link].last_received_ms = now_ms;
	links_[link].testing = false;
}

std::optional<RtokenIndex> GroupMachine::acquire_rtoken(LinkIndex link,
							const wire::RemoteToken &rtoken)
{
	return rtokens_.acquire(link, rtoken);
}

std::optional<RtokenIndex> GroupMachine::acquire_known_rtoken(LinkIndex link,
							      const wire::RemoteToken &rtoken)
{
	return rtokens_.acquire_known(link, rtoken);
}

void GroupMachine::release_rtoken(RtokenIndex index)
{
	rtokens_.release(index);
}

std::optional<wire::RemoteToken> GroupMachine::rtoken(RtokenIndex index, LinkIndex link) const
{
	return rtokens_.at(index, link);
}

void GroupMachine::start_confirm_link(const StartConfirmLink &event, std::uint64_t now_ms,
				      Effects &effects)
{
	Link &link = links_[event.link];

	if (config_.role != Role::kServer ||
	    !transition_is_legal(link.state, LinkState::kAwaitResponse))
		return;
	const LinkState before = link.state;
	link = {};
	link.state = before;
	link.local = event.local;
	link.peer = event.peer;
	link.id = new_link_id();
	link.uid = uid_of(link.id);
	link.deadline_ms = now_ms + config_.response_ms;
	set_state(link, LinkState::kAwaitResponse);
	send_confirm_link(event.link, /*response=*/false, effects);
}

void GroupMachine::expect_confirm_link(const ExpectConfirmLink &event, std::uint64_t now_ms)
{
	Link &link = links_[event.link];

	if (config_.role != Role::kClient ||
	    !transition_is_legal(link.state, LinkState::kAwaitRequest))
		return;
	const LinkState before = link.state;
	link = {};
	link.state = before;
	link.local = event.local;
	link.peer = event.peer;
	link.deadline_ms = now_ms + config_.first_request_ms;
	set_state(link, LinkState::kAwaitRequest);
}

void GroupMachine::link_activated(const LinkActivated &event, std::uint64_t now_ms,
				  Effects &effects)
{
	if (links_[event.link].state != LinkState::kActivating)
		return;
	if (event.failure) {
		confirm_failed(event.link, *event.failure, now_ms, effects);
		return;
	}
	links_[event.link].deadline_ms = now_ms + config_.response_ms;
	set_state(links_[event.link], LinkState::kAnswered);
	send_confirm_link(event.link, /*response=*/true, effects);
}

// If the link were used as soon as the response is posted, and the response did not arrive, the
// server would go on as TCP and the client by RDMA.
void GroupMachine::answer_delivered(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	if (links_[index].state == LinkState::kAnswered)
		link_confirmed(index, now_ms, effects);
}

void GroupMachine::link_confirmed(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[index];

	set_state(link, LinkState::kActive);
	link.served = true;
	link.last_received_ms = now_ms;
	emit(effects, LinkConfirmed{index, link.id, link.uid, link.peer_uid});
	if (state_ == GroupState::kForming) {
		set_state(GroupState::kActive);
		// The client waits for our first ADD_LINK.
		if (config_.role == Role::kServer && config_.max_links > 1 &&
		    !look_for_link(/*asked=*/false, now_ms, effects))
			offer_no_link(index, effects);
		return;
	}
	if (adding_.under_way && adding_.link == index) {
		add_link_to_flows();
		adding_ = {};
		additions_failed_ = 0;
		if (config_.role == Role::kClient)
			add_due_ms_ = 0;
	}
	if (config_.role == Role::kServer)
		drop_asymmetric(index, now_ms, effects);
}

void GroupMachine::link_failed(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	const LinkState state = links_[index].state;

	if (is_being_added(state))
		addition_failed(now_ms, effects);
	else if (is_confirming(state))
		confirm_failed(index, wire::DeclineReason::kTimeoutCl, now_ms, effects);
	else if (state == LinkState::kActive)
		link_lost(index, now_ms, effects);
}

void GroupMachine::link_lost(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	const auto reason = wire::DeleteLinkReason::kLostPath;

	link_down(index, now_ms, effects);
	ask_for_deletion(index, reason, /*orderly=*/false, now_ms, effects);
	end_if_no_link(TerminateCause::kNoLink, reason, effects);
}

// The place is free again. Linux, too, replaces a lost link as soon as it has been deleted.
void GroupMachine::link_gone(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	if (links_[index].state != LinkState::kDown)
		return;
	const bool served = links_[index].served;

	set_state(links_[index], LinkState::kUnused);
	links_[index] = {};
	take_link_from_flows(index);
	if (served && !look_for_link(/*asked=*/false, now_ms, effects))
		add_due_ms_ = now_ms + kAdditionForgotten_ms;
}

void GroupMachine::confirm_failed(LinkIndex index, wire::DeclineReason reason, std::uint64_t now_ms,
				  Effects &effects)
{
	if (adding_.under_way && adding_.link == index) {
		addition_failed(now_ms, effects);
		end_if_no_link(TerminateCause::kNoLink, wire::DeleteLinkReason::kLostPath, effects);
		return;
	}
	set_state(links_[index], LinkState::kDown);
	rtokens_.lose_link(index);
	emit(effects, LinkConfirmFailed{index, reason});
	end_if_no_link(TerminateCause::kNoLink, wire::DeleteLinkReason::kLostPath, effects);
}

void GroupMachine::link_down(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	if (adding_.under_way && adding_.carrier == index &&
	    is_being_added(links_[adding_.link].state))
		give_up_addition(effects);
	set_state(links_[index], LinkState::kDown);
	links_[index].testing = false;
	rtokens_.lose_link(index);
	emit(effects, LinkDown{index});
	forget_overdue(index, effects);
	if (running_link_ == index && running_.kind != FlowKind::kNone)
		repeat_flow(now_ms, effects);
}

void GroupMachine::end_if_no_link(TerminateCause cause, wire::DeleteLinkReason reason,
				  Effects &effects)
{
	for (const Link &link : links_) {
		if (is_confirming(link.state) || link.state == LinkState::kActive)
			return;
	}
	terminate(cause, reason, effects);
}

// Tells the peer on each link that can send.
void GroupMachine::delete_all(wire::DeleteLinkReason reason, bool orderly, Effects &effects)
{
	wire::DeleteLink body;

	body.all = true;
	body.orderly = orderly;
	body.reason = reason;
	for (std::size_t i = 0; i < links_.size(); i++) {
		if (links_[i].state == LinkState::kActive ||
		    links_[i].state == LinkState::kAnswered ||
		    links_[i].state == LinkState::kAwaitResponse) {
			send(static_cast<LinkIndex>(i), body, /*response=*/false, effects,
			     /*last=*/true);
			return;
		}
	}
}

void GroupMachine::terminate(TerminateCause cause, wire::DeleteLinkReason reason, Effects &effects)
{
	for (std::size_t i = 0; i < links_.size(); i++) {
		Link &link = links_[i];

		if (is_confirming(link.state) && !(adding_.under_way && adding_.link == i))
			emit(effects, LinkConfirmFailed{static_cast<LinkIndex>(i),
							wire::DeclineReason::kTimeoutCl});
		if (link.state != LinkState::kUnused && link.state != LinkState::kDown)
			set_state(link, LinkState::kDown);
	}
	if (armed_ms_) {
		armed_ms_.reset();
		emit(effects, StopTimer{});
	}
	set_state(GroupState::kTerminated);
	emit(effects, TerminateGroup{cause, reason});
}

void GroupMachine::timer(std::uint64_t now_ms, Effects &effects)
{
	armed_ms_.reset();
	for (std::size_t i = 0; i < links_.size(); i++) {
		link_timer(static_cast<LinkIndex>(i), now_ms, effects);
		if (state_ == GroupState::kTerminated)
			return;
	}
	flow_timer(now_ms, effects);
	overdue_timer(now_ms, effects);
	deletion_timer(now_ms, effects);
	if (add_due_ms_ != 0 && now_ms >= add_due_ms_) {
		add_due_ms_ = 0;
		if (config_.role == Role::kServer)
			(void)look_for_link(/*asked=*/false, now_ms, effects);
		else
			seek_alternate(now_ms, effects);
	}
}

void GroupMachine::link_timer(LinkIndex index, std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[index];

	// Our ADD_LINK may still wait for room in the send queue.
	if (held_ && exchange_under_way() && adding_.link == index && now_ms >= link.deadline_ms)
		link.deadline_ms = now_ms + config_.response_ms;
	switch (link.state) {
	case LinkState::kUnused:
	case LinkState::kDown: break;
	case LinkState::kPreparing:
	case LinkState::kOffered:
	case LinkState::kExchanging:
	case LinkState::kReadying:
		if (now_ms >= link.deadline_ms)
			addition_failed(now_ms, effects);
		break;
	case LinkState::kAwaitRequest:
	case LinkState::kAnswered:
	case LinkState::kAwaitResponse:
		if (now_ms >= link.deadline_ms)
			confirm_failed(index, wire::DeclineReason::kTimeoutCl, now_ms, effects);
		break;
	case LinkState::kActivating:
		if (now_ms >= link.deadline_ms)
			confirm_failed(index, wire::DeclineReason::kErrRdyLnk, now_ms, effects);
		break;
	case LinkState::kActive:
		if (link.testing && now_ms >= link.test_sent_ms + config_.test_response_ms) {
			link_lost(index, now_ms, effects);
			break;
		}
		if (link.test_waits)
			send_test(index, effects);
		else if (!link.testing && config_.testlink_idle_ms != 0 &&
			 now_ms >= link.last_received_ms + config_.testlink_idle_ms)
			test_link(index, now_ms, effects);
		break;
	}
}

std::optional<std::uint64_t> GroupMachine::next_deadline(std::uint64_t now_ms) const
{
	std::optional<std::uint64_t> next;
	const auto consider = [&next](std::uint64_t deadline_ms) {
		next = next ? std::min(*next, deadline_ms) : deadline_ms;
	};

	for (const Link &link : links_) {
		if (is_confirming(link.state) || is_being_added(link.state))
			consider(link.deadline_ms);
		else if (link.state == LinkState::kActive && link.testing)
			consider(link.test_sent_ms + config_.test_response_ms);
		else if (link.state == LinkState::kActive && config_.testlink_idle_ms != 0)
			consider(link.last_received_ms + config_.testlink_idle_ms);
	}
	if (running_.kind != FlowKind::kNone)
		consider(running_.deadline_ms);
	else if (!waiting_.empty())
		consider(waiting_deadline(now_ms));
	if (add_due_ms_ != 0)
		consider(add_due_ms_);
	for (std::size_t i = 0; i < deletions_.size(); i++)
		consider(deletions_[i].deadline_ms);
	for (std::size_t i = 0; i < overdue_.size(); i++) {
		// A deletion without an owner stays until a newer request is answered.
		if (overdue_[i].flow.kind == FlowKind::kConfirmRkey || overdue_[i].flow.wanted)
			consider(overdue_[i].flow.deadline_ms);
	}
	return next;
}

// A timer that is too early is left alone: the right one is set when it runs out. So the frequent
// case, a message that puts off the next TEST_LINK, sets no timer.
void GroupMachine::rearm(std::uint64_t now_ms, Effects &effects)
{
	const auto next = next_deadline(now_ms);

	if (next && (!armed_ms_ || *next < *armed_ms_)) {
		armed_ms_ = next;
		emit(effects, SetTimer{*next});
	} else if (!next && armed_ms_) {
		armed_ms_.reset();
		emit(effects, StopTimer{});
	}
}

void GroupMachine::send_confirm_link(LinkIndex index, bool response, Effects &effects)
{
	const Link &link = links_[index];
	wire::ConfirmLink body;

	body.mac = link.local.mac;
	body.gid = link.local.gid;
	body.qpn = link.local.qpn;
	body.link = link.id;
	body.link_uid = link.uid;
	body.max_links = config_.max_links;
	body.max_conns = config_.release >= 1 ? config_.max_conns : 0;
	send(index, body, response, effects);
}

void GroupMachine::send(LinkIndex link, const wire::LlcBody &body, bool response, Effects &effects,
			bool last)
{
	SendLlc effect;

	effect.link = link;
	effect.last = last;
	effect.message.size_bytes = static_cast<std::uint8_t>(
		wire::encode({config_.version, response, body}, effect.message.space));
	expects(effect.message.size_bytes != 0);
	emit(effects, effect);
}

void GroupMachine::emit(Effects &effects, const Effect &effect)
{
	const bool fits = effects.push_back(effect);

	expects(fits);
}

std::optional<LinkIndex> GroupMachine::active_link() const
{
	for (std::size_t i = 0; i < links_.size(); i++) {
		if (links_[i].state == LinkState::kActive)
			return static_cast<LinkIndex>(i);
	}
	return std::nullopt;
}

std::size_t GroupMachine::active_links() const
{
	return static_cast<std::size_t>(
		std::count_if(links_.begin(), links_.end(),
			      [](const Link &link) { return link.state == LinkState::kActive; }));
}

// In turn, so that what is under way for a link that was lost does not meet its successor.
std::optional<LinkIndex> GroupMachine::unused_link() const
{
	for (std::size_t i = 1; i <= links_.size(); i++) {
		const auto index = static_cast<LinkIndex>((newest_link_ + i) % links_.size());

		if (links_[index].state == LinkState::kUnused)
			return index;
	}
	return std::nullopt;
}

std::optional<LinkIndex> GroupMachine::find_link(wire::LinkId id) const
{
	for (std::size_t i = 0; i < links_.size(); i++) {
		const Link &link = links_[i];

		if (link.state != LinkState::kUnused && link.state != LinkState::kDown &&
		    !id.is_zero() && link.id == id)
			return static_cast<LinkIndex>(i);
	}
	return std::nullopt;
}

wire::LinkId GroupMachine::new_link_id()
{
	do {
		link_ids_given_++;
	} while (link_ids_given_ == 0 || find_link(wire::LinkId{link_ids_given_}));
	return wire::LinkId{link_ids_given_};
}

wire::LinkUid GroupMachine::uid_of(wire::LinkId id) const
{
	return wire::LinkUid{config_.group_uid | id.value()};
}

} // namespace smc::group
