// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/link_group.hpp"
#include "kernel/abi/callbacks/verbs.h"

#include <algorithm>
#include <utility>

#include "core/base/elapsed.hpp"
#include "core/connection/cdc_mapping.hpp"
#include "core/wire/cdc.hpp"
#include "core/wire/compact.hpp"
#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/trace.h"
#include "shell/base/random.hpp"

namespace smc::transport::rdma {

namespace {

group::Config machine_config(const GroupKey &key, const handshake::Agreement &agreement,
			     bool direct, u32 uid)
{
	group::Config config;

	config.role = key.server ? group::Role::kServer : group::Role::kClient;
	config.version = key.version == 1 ? wire::LlcVersion::kV1 : wire::LlcVersion::kV2;
	config.release = agreement.release;
	config.max_links = agreement.max_links != 0 ? agreement.max_links : 1;
	config.max_conns = agreement.max_conns != 0 ? agreement.max_conns : 255;
	config.group_uid = uid;
	config.adds_links = smc_sysctl_smcr_max_links_per_lgr(key.netns) > 1;
	config.direct = direct;
	config.addresses_alone = agreement.iwarp();
	config.testlink_idle_ms = smc_sysctl_smcr_testlink_time_s(key.netns) * 1000;
	return config;
}

} // namespace

// ---- Life ---------------------------------------------------------------------------------------

LinkGroup::LinkGroup(Table &table, const GroupKey &key, const Port &port, const Founding &founding,
		     Places::Place &&place)
	: table_(table), key_(key), counters_(smc_counters(key.netns)),
	  home_gid_(founding.ends.peer_gid), founder_address_(founding.founder),
	  compact_((founding.agreement.capabilities & wire::capability::kCompactMessages) != 0),
	  growing_((founding.agreement.capabilities & wire::capability::kGrowingRings) != 0),
	  ends_by_reset_((founding.agreement.capabilities & wire::capability::kEndByReset) != 0),
	  max_links_(founding.agreement.max_links), agreement_(founding.agreement),
	  direct_(founding.direct), pool_(key.netns, port.device.info().buffer_max_bytes),
	  control_(*this, links_, key.netns,
		   machine_config(key, founding.agreement, founding.direct, founding.uid)),
	  doubt_(founding.founder), place_(std::move(place))
{
	set_ends(kFirstLink, founding.ends);
	smc_completion_init(&ended_);
}

LinkGroup::~LinkGroup() = default;

shell::Ref<LinkGroup> LinkGroup::create(Table &table, const GroupKey &key, const Port &port,
					const Founding &founding, Places::Place &&place)
{
	auto group = shell::make_counted<LinkGroup>(table, key, port, founding, std::move(place));
	if (!group)
		return {};
	if (!group->links_[kFirstLink].create(group->making_on(port))) {
		shell::Guard guard(group->lock_);
		// Not with its memory, which may be freed after the table of places.
		group->place_.give_back();
		return {};
	}
	smc_stat_inc(key.netns, SMC_STAT_GROUP_NEW);
	smc_stat_inc(key.netns, SMC_STAT_QP_NEW);
	return group;
}

Link::Making LinkGroup::making_on(const Port &port) const
{
	return {key_.netns, port, key_.server, max_links_ > 1};
}

void LinkGroup::set_ends(group::LinkIndex link, const LinkEnds &ends)
{
	records_[link].ends = ends;
	peer_qpns_[link].store(ends.peer_qpn.value(), std::memory_order_relaxed);
}

void LinkGroup::set_state(State to)
{
	if (!state_change_is_legal(state_, to))
		smc_warn_bug("a link group's state changes as it never should");
	state_ = to;
	seen_state_.store(to, std::memory_order_release);
}

bool LinkGroup::uses(const smc_ib_device *device, u8 port)
{
	shell::Guard guard(lock_);
	return std::any_of(records_.begin(), records_.end(), [&](const LinkRecord &record) {
		return record.ends.device == device && record.ends.port == port;
	});
}

bool LinkGroup::uses(const smc_ib_device *device)
{
	shell::Guard guard(lock_);
	return std::any_of(records_.begin(), records_.end(),
			   [&](const LinkRecord &record) { return record.ends.device == device; });
}

std::optional<group::LinkIndex> LinkGroup::link_to(const LinkEnds &ends)
{
	shell::Guard guard(lock_);
	for (const Link &link : links_) {
		if (records_[link.index()].ends.lead_to(ends, key_.version))
			return link.index();
	}
	return std::nullopt;
}

// ---- The machine --------------------------------------------------------------------------------

void LinkGroup::on_effect(const group::Effect &effect)
{
	lock_.assert_held();
	perform(effect);
}

void LinkGroup::perform(const group::Effect &effect)
{
	if (const auto *activate = std::get_if<group::ActivateLink>(&effect)) {
		if (state_ == State::kForming)
			activate_due_ = true;
		else
			to_activate_ = activate->link;
		kick();
	} else if (const auto *prepare = std::get_if<group::PrepareLink>(&effect)) {
		to_prepare_ = *prepare;
		kick();
	} else if (const auto *ready = std::get_if<group::ReadyLink>(&effect)) {
		to_ready_ = *ready;
		kick();
	} else if (std::get_if<group::DestroyLink>(&effect) != nullptr) {
		forget_addition();
		drop_due_ = true;
		kick();
	} else if (const auto *up = std::get_if<group::LinkConfirmed>(&effect)) {
		link_confirmed(*up);
	} else if (const auto *no = std::get_if<group::LinkConfirmFailed>(&effect)) {
		tell(founder_.get(), SetupResult::kLinkConfirmFailed, no->reason);
	} else if (const auto *down = std::get_if<group::LinkDown>(&effect)) {
		smc_stat_inc(key_.netns, SMC_STAT_LINK_DOWN);
		trace_link(down->link, false);
		drop_due_ = true;
		kick();
	} else if (std::get_if<group::SeekAlternate>(&effect) != nullptr) {
		other_due_ = true;
		kick();
	} else if (const auto *done = std::get_if<group::FlowDone>(&effect)) {
		flow_done(*done);
	} else if (const auto *gone = std::get_if<group::RtokensDeleted>(&effect)) {
		rtokens_deleted(*gone);
	} else if (const auto *answered = std::get_if<group::LinkAnswered>(&effect)) {
		link_answered(*answered);
	} else if (std::get_if<group::SetTimer>(&effect) != nullptr) {
		arm();
	} else if (std::get_if<group::TerminateGroup>(&effect) != nullptr) {
		begin_end();
	}
}

void LinkGroup::trace_link(group::LinkIndex index, bool up) const
{
	const smc_ib_device *const device = records_[index].ends.device;
	const smc_traced_link traced = {
		.net = key_.netns,
		.link = &links_[index],
		.group = this,
		.state = SMC_LINK_STATE_ACTIVE,
		.device = device != nullptr ? smc_ib_device_name(device) : "",
	};

	smc_trace_link(&traced, up);
}

void LinkGroup::link_confirmed(const group::LinkConfirmed &confirmed)
{
	records_[confirmed.link].uid = confirmed.uid;
	records_[confirmed.link].peer_uid = confirmed.peer_uid;
	if (state_ == State::kForming)
		set_state(State::kActive);
	place_.confirm();
	smc_stat_inc(key_.netns, SMC_STAT_LINK_UP);
	trace_link(confirmed.link, true);
	// Those that wait to join come from the founder's address.
	if (founder_ && !std::exchange(founder_->completed_.under(lock_), true))
		doubt_.completed(founder_->from_.under(lock_));
	if (founder_)
		founder_->agreed_.under(lock_) = true;
	tell(founder_.get(), SetupResult::kLinkConfirmed, wire::DeclineReason::kNone);
	founder_.reset();
	if (endpoints_.empty() && idle_since_ms_ == 0) {
		idle_since_ms_ = smc_now_ms();
		arm();
	}
	settle_waiting();
	// Those that waited for the addition of this link, or have no other one.
	advance_registrations();
	drop_due_ = true;
	kick();
}

// At once: the response comes next, after which the RMB may be gone, and by the time run() looks an
// index may belong to another RMB.
void LinkGroup::rtokens_deleted(const group::RtokensDeleted &deleted)
{
	endpoints_.for_each([this, &deleted](RdmaEndpoint &endpoint) {
		lock_.assert_held();
		if (endpoint.rtoken_held_.under(lock_) && loses_ring(endpoint, deleted)) {
			endpoint.rmb_deleted_.under(lock_) = true;
			endpoint.forbid_writes();
		}
	});
	lose_due_ = true;
	kick();
}

void LinkGroup::tell(RdmaEndpoint *endpoint, SetupResult result, wire::DeclineReason reason)
{
	SetupObserver *observer = endpoint != nullptr ? endpoint->observer_.under(lock_) : nullptr;

	if (observer != nullptr)
		observer->on_setup_result(result, reason);
}

void LinkGroup::flow_done(const group::FlowDone &done)
{
	if (Deletions::has(done.flow)) {
		deletions_.on_done(done.flow, done.result == group::FlowResult::kDone ||
						      done.result == group::FlowResult::kRefused);
		free_due_ = true;
		kick();
		return;
	}
	if (done.result == group::FlowResult::kTimedOut)
		smc_stat_inc(key_.netns, SMC_STAT_LLC_TIMEOUT);
	const bool ok = done.result == group::FlowResult::kDone;
	RdmaEndpoint *endpoint = endpoints_.find(wire::Token{static_cast<u32>(done.flow)});

	if (endpoint == nullptr)
		return;
	if (Buffer *rmb = announced_rmb(*endpoint, lock_); ok && rmb != nullptr)
		rmb->slab().note_confirmed(endpoint->announcement_.under(lock_), lock_);
	tell_announced(*endpoint, ok);
	announcement_over(*endpoint, ok);
}

void LinkGroup::settle_waiting()
{
	while (SetupObserver *observer = waiting_.pop_front())
		observer->on_setup_result(SetupResult::kGroupSettled, wire::DeclineReason::kNone);
}

// The response to CONFIRM_LINK is the client's first message.
void LinkGroup::look_for_delivery(group::LinkIndex link)
{
	if (control_.machine().link_state(link) == group::LinkState::kAnswered &&
	    control_.is_heard(link))
		control_.step(group::AnswerDelivered{link});
}

// ---- Work ---------------------------------------------------------------------------------------

void LinkGroup::kick()
{
	work_.queue();
}

// Under lock_. As a rule a run comes before that is over, and then looks at it.
void LinkGroup::arm_for_idleness()
{
	if (armed_ms_ == 0 || armed_ms_ > idle_since_ms_ + idle_limit_ms())
		arm();
}

// Under lock_. Queues run() for everything that it has to do, at the right time.
void LinkGroup::arm()
{
	const u64 now_ms = smc_now_ms();
	u64 next_ms = ~u64{0};

	if (state_ == State::kEnded || links_end_)
		return;
	// Does not put off a run that was queued to tell the connections of the end, or for
	// requests that can be answered now: no completion may come that would queue it again.
	if (activate_due_ || lose_due_ || free_due_ || drop_due_ || other_due_ || rings_due_ ||
	    to_prepare_ || to_ready_ || to_activate_ || (state_ == State::kEnding && !end_told_) ||
	    control_.answers_due())
		next_ms = now_ms;
	if (control_.next_ms() != 0)
		next_ms = std::min(next_ms, control_.next_ms());
	if (idle_since_ms_ != 0)
		next_ms = std::min(next_ms, idle_since_ms_ + idle_limit_ms());
	if (collect_ms_ != 0 && state_ < State::kEnding)
		next_ms = std::min(next_ms, collect_ms_);
	for (Link &link : links_) {
		if (const auto at_ms = given_up_ms(link); at_ms && state_ < State::kEnding)
			next_ms = std::min(next_ms, *at_ms);
		if (const auto at_ms = link.greets_again_ms(); at_ms && state_ < State::kEnding)
			next_ms = std::min(next_ms, *at_ms);
	}
	if (state_ == State::kEnding)
		next_ms = std::min(next_ms, control_.drained() ? now_ms : drain_deadline_ms_);
	// A run that comes in time looks at everything, and arms the next one.
	if (next_ms == ~u64{0} || (armed_ms_ != 0 && armed_ms_ <= next_ms))
		return;
	armed_ms_ = next_ms;
	work_.queue_delayed(next_ms > now_ms ? next_ms - now_ms : 0);
}

void LinkGroup::run()
{
	bool activate_now, lose_now, free_now, rings_now, ends_now;
	bool drop_now, other_now, collect_now, end_now;
	std::optional<group::PrepareLink> prepare_now;
	std::optional<group::ReadyLink> ready_now;
	std::optional<group::LinkIndex> activate_link_now;
	{
		shell::Guard guard(lock_);
		const u64 now_ms = smc_now_ms();

		armed_ms_ = 0;
		// It comes again when they have ended.
		if (links_end_ && state_ == State::kEnding)
			return;
		control_.run();
		if (idle_since_ms_ != 0 && elapsed_ms(idle_since_ms_, now_ms) >= idle_limit_ms())
			end_if_idle_locked();
		for (Link &link : links_) {
			const auto greets_ms = link.greets_again_ms();
			const auto at_ms = given_up_ms(link);

			if (greets_ms && now_ms >= *greets_ms)
				link.greet_again();
			if (!at_ms || now_ms < *at_ms)
				continue;
			records_[link.index()].port_lost_ms = 0;
			lose_link_locked(link.index());
		}
		delete_surplus();
		activate_now = std::exchange(activate_due_, false);
		lose_now = std::exchange(lose_due_, false);
		free_now = std::exchange(free_due_, false);
		rings_now = std::exchange(rings_due_, false);
		ends_now = std::exchange(ends_due_, false);
		drop_now = std::exchange(drop_due_, false);
		other_now = std::exchange(other_due_, false);
		prepare_now = std::exchange(to_prepare_, std::nullopt);
		ready_now = std::exchange(to_ready_, std::nullopt);
		activate_link_now = std::exchange(to_activate_, std::nullopt);
		collect_now = collect_ms_ != 0 && now_ms >= collect_ms_;
		if (collect_now)
			collect_ms_ = 0;
		end_now = state_ == State::kEnding;
	}
	(void)pool_.free_unused(false);
	if (activate_now)
		activate();
	if (lose_now)
		lose_connections_on_deleted();
	if (free_now)
		free_deleted();
	if (rings_now && !end_now)
		tend_rings();
	if (ends_now && !end_now)
		settle_ends();
	if (drop_now && !end_now)
		drop_links();
	if (prepare_now)
		prepare_link(*prepare_now);
	if (ready_now)
		ready_link(*ready_now);
	if (activate_link_now)
		activate_link(*activate_link_now);
	if (other_now && !end_now)
		tell_of_other_port();
	if (collect_now && !end_now)
		collect_send_buffers();
	if (end_now)
		end_phase();
	shell::Guard guard(lock_);
	arm();
}

// ---- From the link ------------------------------------------------------------------------------

bool LinkGroup::on_received(Link &link, const LinkControl::Received &message,
			    shell::InSoftirq context)
{
	const ByteSpan head = message.head_bytes();

	switch (link.take_credit(head)) {
	case Link::CreditHeard::kYes: on_credit(link); return true;
	case Link::CreditHeard::kViolation:
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_LLC_MALFORMED);
		return true;
	case Link::CreditHeard::kNone: break;
	}
	if (wire::is_cdc(head)) {
		on_cdc(link, head, context);
		return true;
	}
	smc_stat_inc(key_.netns, SMC_STAT_LLC_RX);
	shell::Guard guard(lock_);
	return control_.receive(link.index(), message);
}

void LinkGroup::on_credit(Link &link)
{
	on_link_met(link);
	on_sent(link, 0);
}

void LinkGroup::on_cdc(Link &link, ByteSpan message, shell::InSoftirq context)
{
	const auto cdc = wire::decode_cdc(message);

	smc_count(counters_, SMC_STAT_CDC_RX, 1);
	if (!cdc) {
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_CDC_MALFORMED);
		return;
	}
	link.note_heard();
	const shell::RcuGuard rcu;
	RdmaEndpoint *const endpoint = look(EndpointTable::slot_of(cdc->token));

	if (endpoint == nullptr || endpoint->token_ != cdc->token.value()) {
		note_bad_token(is_late(*cdc));
		return;
	}
	link.serve(endpoint->sk());
	connection::CursorMessage heard = connection::from_wire(*cdc);

	if (!growing_)
		heard.ring = 0;
	if (!endpoint->on_message(heard, &link, context)) [[unlikely]]
		peer_has_moved(*endpoint, link);
	if (growing_ && cdc->offer) [[unlikely]] {
		if (const auto kept = shell::Ref<RdmaEndpoint>::try_share(endpoint))
			take_offer(*kept, link, *cdc->offer);
	}
}

// The peer has given up the link that its messages came by. What came by that one is taken in
// first; the message waits as long. One that is down here as well is about to be dropped.
void LinkGroup::peer_has_moved(const RdmaEndpoint &endpoint, const Link &to)
{
	shell::Guard guard(lock_);
	const Link *const heard = endpoint.heard_link();
	const Link *const from = heard != nullptr ? heard : endpoint.link();

	if (from == &to)
		return;
	// Nobody uses a link before he has our answer, whose completion may come later.
	if (control_.machine().link_state(to.index()) == group::LinkState::kAnswered)
		control_.step(group::AnswerDelivered{to.index()});
	switch (control_.machine().link_state(to.index())) {
	case group::LinkState::kActive: lose_link_locked(from->index()); break;
	case group::LinkState::kDown: break;
	default:
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_CDC_WRONG_LINK);
		break;
	}
}

// Both ends have closed, and one has gone, when data that came too late makes the other one reset
// the connection; or TCP was reset, and what the peer sent before that is heard later.
bool LinkGroup::is_late(const wire::Cdc &message)
{
	if (message.state_flags.closed || message.state_flags.aborted)
		return true;
	shell::Guard guard(lock_);
	return endpoints_.is_past(message.token);
}

bool LinkGroup::is_late(const wire::Compact &message)
{
	shell::Guard guard(lock_);
	return endpoints_.is_retired(message.slot);
}

void LinkGroup::note_bad_token(bool late) const
{
	if (!late)
		smc_count(counters_, SMC_STAT_VIOLATION, 1);
	smc_count(counters_, SMC_STAT_CDC_BAD_TOKEN, 1);
}

void LinkGroup::on_immediate(Link &link, u32 immediate, u32 written_bytes, shell::InSoftirq context)
{
	const wire::Compact compact = wire::decode_compact(immediate);

	smc_count(counters_, SMC_STAT_COMPACT_RX, 1);
	if (!compact_) {
		smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
		smc_stat_inc(key_.netns, SMC_STAT_CDC_MALFORMED);
		return;
	}
	link.note_heard();
	const shell::RcuGuard rcu;
	RdmaEndpoint *const endpoint = look(compact.slot);

	if (endpoint == nullptr) [[unlikely]] {
		note_bad_token(is_late(compact));
		return;
	}
	link.serve(endpoint->sk());
	endpoint->on_message(connection::CompactMessage{.written_bytes = written_bytes,
							.consumed_bytes = compact.consumed_bytes,
							.wrapped = compact.wrapped,
							.write_blocked = compact.write_blocked},
			     &link, context);
}

void LinkGroup::on_sent(Link &link, u64 up_to_seq)
{
	shell::Guard guard(lock_);
	control_.on_sent(link.index(), up_to_seq);
	if (!registering_.empty())
		advance_registrations();
	// In run(): a peer that sends requests without end must not keep a softirq busy.
	if (control_.answers_due())
		kick();
	advance_link_registration();
	look_for_delivery(link.index());
	if (state_ == State::kEnding)
		arm();
}

void LinkGroup::on_link_failed(Link &link, int status)
{
	smc_log_notice("link lost:", "status", static_cast<u32>(status));
	if (link.index() == kFirstLink) {
		shell::Guard guard(lock_);
		const auto founder = std::exchange(meeting_, {});

		tell(founder.get(), SetupResult::kLinkConnectFailed,
		     wire::DeclineReason::kErrRdyLnk);
	}
	lose_link(link.index());
}

} // namespace smc::transport::rdma

// ---- Callbacks of kernel/verbs -----------------------------------------------------------------

using smc::shell::InSoftirq;
using smc::transport::rdma::Link;

extern "C" bool smc_ib_link_received(void *context, smc_ib_receive_slot *receive, const void *head,
				     const void *tail, u32 length_bytes)
{
	auto *link = static_cast<Link *>(context);
	const smc::transport::rdma::LinkControl::Received message{
		receive, static_cast<const std::byte *>(head), static_cast<const std::byte *>(tail),
		length_bytes};

	const bool taken = link->group().on_received(*link, message, InSoftirq::by_contract());

	if (taken)
		link->note_taken();
	else
		link->note_kept();
	return taken;
}

extern "C" void smc_ib_link_written(void *context, u32 immediate, u32 written_bytes)
{
	auto *link = static_cast<Link *>(context);
	link->group().on_immediate(*link, immediate, written_bytes, InSoftirq::by_contract());
}

extern "C" void smc_ib_link_sent(void *context, u64 up_to_seq)
{
	auto *link = static_cast<Link *>(context);
	link->on_sent(up_to_seq);
	link->group().on_sent(*link, up_to_seq);
}

extern "C" void smc_ib_link_failed(void *context, int status)
{
	auto *link = static_cast<Link *>(context);
	link->group().on_link_failed(*link, status);
}

extern "C" void smc_ib_link_met(void *context, const void *hello)
{
	auto *link = static_cast<Link *>(context);
	link->on_met(hello, !link->group().is_server());
	link->group().on_link_met(*link);
	link->group().await_answers();
}
