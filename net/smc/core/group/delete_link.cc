// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/machine.hpp"

// DELETE_LINK: a link, or all of them, is taken down. Only the server deletes links: it repeats a
// client's request as its own, which the client answers. A client that has lost a link takes it
// down at once, so it does not know that link any more when the server's request comes; Linux
// answers so, too.
namespace smc::group {

void GroupMachine::delete_link_request(LinkIndex from, const wire::DeleteLink &body,
				       std::uint64_t now_ms, Effects &effects)
{
	if (config_.role == Role::kClient)
		client_delete_link(from, body, now_ms, effects);
	else
		server_delete_link(from, body, now_ms, effects);
}

void GroupMachine::client_delete_link(LinkIndex from, const wire::DeleteLink &body,
				      std::uint64_t now_ms, Effects &effects)
{
	if (body.all) {
		terminate(TerminateCause::kPeer, body.reason, effects);
		return;
	}
	const auto index = find_link(body.link);
	wire::DeleteLink reply = body;

	(void)end_deletion(body.link);
	reply.reason = index ? wire::DeleteLinkReason::kNone : wire::DeleteLinkReason::kUnknownLink;
	if (links_[from].state == LinkState::kActive)
		send(from, reply, /*response=*/true, effects);
	if (index)
		take_down(*index, TerminateCause::kPeer, body.reason, now_ms, effects);
}

void GroupMachine::server_delete_link(LinkIndex from, const wire::DeleteLink &body,
				      std::uint64_t now_ms, Effects &effects)
{
	if (body.all) {
		delete_all(body.reason, /*orderly=*/true, effects);
		terminate(TerminateCause::kPeer, body.reason, effects);
		return;
	}
	const auto index = find_link(body.link);

	if (!index) {
		counters_.ignored++;
		return;
	}
	if (from == *index || links_[from].state != LinkState::kActive)
		send(from, body, /*response=*/false, effects);
	else
		ask_for_deletion(*index, body.reason, body.orderly, now_ms, effects);
	take_down(*index, TerminateCause::kPeer, body.reason, now_ms, effects);
}

// Only the server's requests are answered; perhaps twice, as they may be sent twice.
void GroupMachine::delete_link_response(const wire::DeleteLink &body)
{
	if (config_.role == Role::kClient)
		unexpected(/*response=*/true);
	else if (!end_deletion(body.link))
		counters_.ignored++;
}

// By the peer's wish.
void GroupMachine::take_down(LinkIndex index, TerminateCause cause, wire::DeleteLinkReason reason,
			     std::uint64_t now_ms, Effects &effects)
{
	const LinkState state = links_[index].state;

	if (state == LinkState::kActive) {
		link_down(index, now_ms, effects);
		end_if_no_link(cause, reason, effects);
	} else if (!adding_.under_way || adding_.link != index) {
		confirm_failed(index, wire::DeclineReason::kTimeoutCl, now_ms, effects);
	} else {
		give_up_addition(effects);
		if (config_.role == Role::kClient)
			try_again_later(now_ms);
		end_if_no_link(cause, reason, effects);
	}
}

// Tells the peer, by another link, that this one is down. Without another link the queue pair says
// so.
void GroupMachine::ask_for_deletion(LinkIndex index, wire::DeleteLinkReason reason, bool orderly,
				    std::uint64_t now_ms, Effects &effects)
{
	Deletion deletion;

	for (std::size_t i = 0; i < links_.size(); i++) {
		const auto carrier = static_cast<LinkIndex>(i);

		if (carrier == index || links_[carrier].state != LinkState::kActive)
			continue;
		deletion.body.link = links_[index].id;
		deletion.body.reason = reason;
		deletion.body.orderly = orderly;
		deletion.tries = 1;
		deletion.deadline_ms = now_ms + config_.response_ms;
		(void)end_deletion(deletion.body.link);
		(void)deletions_.push(deletion);
		send(carrier, deletion.body, /*response=*/false, effects);
		return;
	}
}

bool GroupMachine::end_deletion(wire::LinkId id)
{
	for (std::size_t i = 0; i < deletions_.size(); i++) {
		if (deletions_[i].body.link == id) {
			deletions_.erase(i);
			return true;
		}
	}
	return false;
}

// Linux parks one DELETE_LINK that comes at a bad time, and drops the next one.
void GroupMachine::deletion_timer(std::uint64_t now_ms, Effects &effects)
{
	const auto carrier = active_link();

	for (std::size_t i = deletions_.size(); i-- > 0;) {
		Deletion &deletion = deletions_[i];

		if (now_ms < deletion.deadline_ms)
			continue;
		if (!carrier || deletion.tries == kDeletionTries) {
			deletions_.erase(i);
			continue;
		}
		deletion.tries++;
		deletion.deadline_ms = now_ms + config_.response_ms;
		send(*carrier, deletion.body, /*response=*/false, effects);
	}
}

} // namespace smc::group
