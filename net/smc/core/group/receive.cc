// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/machine.hpp"

#include <algorithm>
#include <cstdint>

#include "core/base/check.hpp"
#include "core/base/fixed_vector.hpp"

// The peer's messages. Each is answered, or counted, in the step that receives it.
namespace smc::group {
namespace {

// A CONFIRM_RKEY that announces more is refused, as Linux does it.
constexpr std::uint8_t kOtherRkeysMax = 3;

// True if the message names the other end of the link: the GID and the queue pair that the link was
// made with. The MAC is not compared: that of a bond or a VLAN may have changed since, and the link
// keeps its own.
[[nodiscard]] bool is_from(const LinkIdentity &peer, const wire::ConfirmLink &body)
{
	return body.gid == peer.gid && body.qpn == peer.qpn;
}

} // namespace

void GroupMachine::received(const LlcReceived &event, std::uint64_t now_ms, Effects &effects)
{
	const LinkState state = links_[event.link].state;
	const std::uint32_t violations = counters_.violations();

	counters_.received++;
	if (state == LinkState::kUnused || state == LinkState::kDown) {
		counters_.ignored++;
		return;
	}
	note_activity(event.link, now_ms);
	const auto message = wire::decode_llc(event.bytes);

	if (message && message->version != config_.version)
		counters_.wrong_version++;
	else if (message)
		dispatch(event.link, *message, now_ms, effects);
	else if (message.error() == wire::LlcError::kIgnored)
		counters_.ignored++;
	else
		counters_.malformed++;
	if (counters_.violations() == violations)
		return;
	patience_.spend(counters_.violations() - violations, now_ms);
	if (state_ != GroupState::kTerminated && patience_.used_up()) {
		const auto reason = wire::DeleteLinkReason::kProtocolViolation;

		delete_all(reason, /*orderly=*/false, effects);
		terminate(TerminateCause::kViolations, reason, effects);
	}
}

void GroupMachine::dispatch(LinkIndex from, const wire::LlcMessage &message, std::uint64_t now_ms,
			    Effects &effects)
{
	const bool response = message.response;

	if (const auto *confirm_link = message.get<wire::ConfirmLink>()) {
		if (response)
			confirm_link_response(from, *confirm_link, now_ms, effects);
		else
			confirm_link_request(from, *confirm_link, now_ms, effects);
		return;
	}
	if (const auto *delete_link = message.get<wire::DeleteLink>()) {
		if (response)
			delete_link_response(*delete_link);
		else
			delete_link_request(from, *delete_link, now_ms, effects);
		return;
	}
	// All other messages need a confirmed link. A server that sends one has our response, even
	// if its arrival was not reported here.
	answer_delivered(from, now_ms, effects);
	if (links_[from].state != LinkState::kActive) {
		unexpected(response);
		return;
	}
	if (const auto *test_link = message.get<wire::TestLink>()) {
		if (response)
			test_link_response(from, *test_link, now_ms, effects);
		else
			send(from, *test_link, /*response=*/true, effects);
	} else if (const auto *confirm_rkey = message.get<wire::ConfirmRkey>()) {
		if (response)
			confirm_rkey_response(from, *confirm_rkey, now_ms, effects);
		else
			confirm_rkey_request(from, *confirm_rkey, effects);
	} else if (const auto *delete_rkey = message.get<wire::DeleteRkey>()) {
		if (response)
			delete_rkey_response(from, *delete_rkey, now_ms, effects);
		else
			delete_rkey_request(from, *delete_rkey, effects);
	} else if (const auto *add_link = message.get<wire::AddLink>()) {
		if (response)
			add_link_response(from, *add_link, now_ms, effects);
		else
			add_link_request(from, *add_link, now_ms, effects);
	} else if (const auto *add_link_more = message.get<wire::AddLinkCont>()) {
		add_link_cont(from, *add_link_more, response, now_ms, effects);
	} else if (message.get<wire::ReqAddLink>() != nullptr) {
		if (response)
			req_add_link_response();
		else
			req_add_link_request(from, now_ms, effects);
	} else {
		// CONFIRM_RKEY_CONT: only a group with more than three links would need it.
		counters_.ignored++;
	}
}

void GroupMachine::unexpected(bool response)
{
	if (response)
		counters_.unexpected_responses++;
	else
		counters_.unexpected_requests++;
}

// The limits in a CONFIRM_LINK are ignored, as by Linux: a peer of version 2.1 has agreed on them
// in Accept and Confirm, and any other gets one link whatever it says. How many connections it
// takes shows in its answers to CONFIRM_RKEY.
void GroupMachine::confirm_link_request(LinkIndex from, const wire::ConfirmLink &body,
					std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[from];
	const auto named = find_link(body.link);

	// ADD_LINK has given a link that is added its number.
	if (link.state != LinkState::kAwaitRequest || body.link.is_zero() ||
	    (named && *named != from) || (!link.id.is_zero() && link.id != body.link)) {
		unexpected(/*response=*/false);
		return;
	}
	if (!is_from(link.peer, body)) {
		unexpected(/*response=*/false);
		confirm_failed(from, wire::DeclineReason::kTimeoutCl, now_ms, effects);
		return;
	}
	if (!body.no_eyecatchers) {
		confirm_failed(from, wire::DeclineReason::kRmbeEc, now_ms, effects);
		return;
	}
	link.id = body.link;
	link.uid = uid_of(body.link);
	link.peer_uid = body.link_uid;
	link.deadline_ms = now_ms + config_.activation_ms;
	set_state(link, LinkState::kActivating);
	emit(effects, ActivateLink{from});
}

void GroupMachine::confirm_link_response(LinkIndex from, const wire::ConfirmLink &body,
					 std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[from];

	if (link.state != LinkState::kAwaitResponse || body.link != link.id) {
		unexpected(/*response=*/true);
		return;
	}
	if (!is_from(link.peer, body)) {
		unexpected(/*response=*/true);
		confirm_failed(from, wire::DeclineReason::kTimeoutCl, now_ms, effects);
		return;
	}
	if (!body.no_eyecatchers) {
		confirm_failed(from, wire::DeclineReason::kRmbeEc, now_ms, effects);
		return;
	}
	link.peer_uid = body.link_uid;
	link_confirmed(from, now_ms, effects);
}

void GroupMachine::confirm_rkey_request(LinkIndex from, const wire::ConfirmRkey &body,
					Effects &effects)
{
	wire::ConfirmRkey reply = body;
	std::optional<RtokenIndex> index;

	if (body.others_count <= kOtherRkeysMax)
		index = rtokens_.confirm(from, body.token);
	if (index) {
		for (const wire::LinkToken &other : body.others) {
			const auto link = find_link(other.link);

			if (link && *link != from)
				rtokens_.set(*index, *link, other.token);
		}
	}
	reply.negative = !index;
	reply.retry = !index;
	send(from, reply, /*response=*/true, effects);
}

void GroupMachine::delete_rkey_request(LinkIndex from, const wire::DeleteRkey &body,
				       Effects &effects)
{
	const bool v2 = config_.version == wire::LlcVersion::kV2;
	wire::DeleteRkey reply = body;
	unsigned errors = 0; // their number, or in version 1 a bit for each, 8 at most
	FixedVector<wire::Rkey, UINT8_MAX> sorted;

	for (std::size_t i = 0; i < body.rkeys.size(); i++) {
		const bool fits = sorted.push_back(body.rkeys[i]);
		expects(fits);
	}
	std::sort(sorted.begin(), sorted.end());
	const RtokenTable::Removed removed = rtokens_.remove(from, sorted.span());
	for (std::size_t i = 0; i < body.rkeys.size(); i++) {
		const auto place = std::lower_bound(sorted.begin(), sorted.end(), body.rkeys[i]);
		if (!removed.places.contains(static_cast<RtokenIndex>(place - sorted.begin())))
			errors += v2 ? 1U : 0x80U >> i;
	}
	reply.negative = errors != 0;
	reply.errors = static_cast<std::uint8_t>(errors);
	if (v2)
		reply.rkeys = {};
	if (!removed.in_use.empty())
		emit(effects, RtokensDeleted{removed.in_use});
	send(from, reply, /*response=*/true, effects);
}

// A response repeats the request, so it can be told from one to an earlier flow.
void GroupMachine::confirm_rkey_response(LinkIndex from, const wire::ConfirmRkey &body,
					 std::uint64_t now_ms, Effects &effects)
{
	const bool ours = running_.kind == FlowKind::kConfirmRkey && running_link_ == from &&
			  running_.names(from, body.token);
	const auto late = find_overdue_confirm(from, body.token);

	if (!ours && !late) {
		unexpected(/*response=*/true);
		return;
	}
	// Two requests for one RMB: the peer knows it, whichever it has answered. The older one
	// waits for the other answer.
	if (ours && running_.overtaken && running_.wanted && !body.negative) {
		announce_again(now_ms, effects);
	} else if (ours) {
		end_flow(body.negative ? FlowResult::kRefused : FlowResult::kDone, effects);
	} else {
		overdue_.erase(*late);
		counters_.late_responses++;
	}
	newer_is_answered(from, late.value_or(overdue_.size()), now_ms);
}

// In version 2 a response does not name its keys. At most one request can be the one it answers.
void GroupMachine::delete_rkey_response(LinkIndex from, const wire::DeleteRkey &body,
					std::uint64_t now_ms, Effects &effects)
{
	const FlowResult result = body.negative ? FlowResult::kRefused : FlowResult::kDone;

	if (late_delete_response(from, result, now_ms, effects))
		return;
	if (running_.kind != FlowKind::kDeleteRkey || running_link_ != from) {
		unexpected(/*response=*/true);
		return;
	}
	newer_is_answered(from, overdue_.size(), now_ms);
	end_flow(result, effects);
}

void GroupMachine::test_link_response(LinkIndex from, const wire::TestLink &body,
				      std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[from];
	std::uint64_t number = 0;

	for (std::size_t i = 0; i < sizeof(number); i++)
		number |= std::uint64_t{body.user_data[i]} << (8 * i);
	if (link.test_number != 0 && number == link.test_number) {
		link.test_number = 0;
		newer_is_answered(from, sent_before(link.test_sent_ms), now_ms);
	} else if (number != 0 && number <= tests_sent_) {
		counters_.late_responses++;
	} else {
		unexpected(/*response=*/true);
		return;
	}
	emit(effects, LinkAnswered{from, number});
}

} // namespace smc::group
