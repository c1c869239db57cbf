// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <utility>

#include "core/base/check.hpp"
#include "core/group/machine.hpp"

// ADD_LINK: another link for the group. The server makes a queue pair and describes it (request);
// the client makes its own and answers (response). Each tells the other its RMBs' rkeys on the new
// link: in version 2 in these messages, in version 1 two at a time by ADD_LINK_CONT. Then the link
// is confirmed as the first one was: receive.cc.
namespace smc::group {
namespace {

// ADD_LINK_CONT requests: two of up to 255 rkeys go with each.
constexpr std::uint32_t kRoundsMax = kRtokensMax / 2 + 1;

} // namespace

bool GroupMachine::exchange_under_way() const
{
	return adding_.under_way && links_[adding_.link].state != LinkState::kPreparing;
}

bool GroupMachine::has_asymmetric_link() const
{
	for (std::size_t i = 0; i < links_.size(); i++) {
		for (std::size_t j = i + 1; j < links_.size(); j++) {
			if (links_[i].state == LinkState::kActive &&
			    links_[j].state == LinkState::kActive &&
			    share_port(links_[i], links_[j]))
				return true;
		}
	}
	return false;
}

// Two links; a third one only to replace one that shares a port with the other.
bool GroupMachine::lacks_link() const
{
	return config_.max_links > 1 && config_.adds_links && state_ == GroupState::kActive &&
	       (active_links() < 2 || (active_links() == 2 && has_asymmetric_link()));
}

// One is being added, which may fail; or there were so many that the next one has to wait.
bool GroupMachine::adds_later(std::uint64_t now_ms)
{
	if (!adding_.under_way && unused_link() && may_add(now_ms))
		return false;
	add_due_ms_ = now_ms + kAdditionForgotten_ms;
	return true;
}

// Server. False if no link is looked for.
bool GroupMachine::look_for_link(bool asked, std::uint64_t now_ms, Effects &effects)
{
	const auto carrier = active_link();

	if (config_.role != Role::kServer || !lacks_link() || !carrier || adds_later(now_ms))
		return false;
	const LinkIndex link = *unused_link();
	begin_addition(link, *carrier, now_ms);
	adding_.asked = asked;
	// A client that asks has a port of its own for it.
	emit(effects, PrepareLink{.link = link,
				  .beside = *carrier,
				  .same_port_will_do = asked && active_links() == 1,
				  .peer = std::nullopt});
	return true;
}

void GroupMachine::begin_addition(LinkIndex link, LinkIndex carrier, std::uint64_t now_ms)
{
	rtokens_.replace_link(link);
	newest_link_ = link;
	links_[link] = {};
	links_[link].deadline_ms = now_ms + config_.activation_ms;
	set_state(links_[link], LinkState::kPreparing);
	adding_ = {};
	adding_.under_way = true;
	adding_.link = link;
	adding_.carrier = carrier;
	additions_.spend(1, now_ms);
}

bool GroupMachine::may_add(std::uint64_t now_ms)
{
	additions_.spend(0, now_ms);
	return !additions_.used_up();
}

// Nobody is told.
void GroupMachine::give_up_addition(Effects &effects)
{
	const LinkIndex link = adding_.link;

	adding_ = {};
	set_state(links_[link], LinkState::kDown);
	rtokens_.lose_link(link);
	emit(effects, DestroyLink{link});
}

// At this end, or for want of an answer. A client whose end is made takes it down by itself when no
// CONFIRM_LINK comes; it is told all the same, so that it need not wait.
void GroupMachine::addition_failed(std::uint64_t now_ms, Effects &effects)
{
	const LinkIndex link = adding_.link;
	const LinkIndex carrier = adding_.carrier;
	const LinkState state = links_[link].state;
	const bool server = config_.role == Role::kServer;

	if (links_[carrier].state == LinkState::kActive) {
		if (!server && state == LinkState::kPreparing)
			refuse_link(carrier, adding_.request, effects);
		else if (server && state == LinkState::kPreparing && adding_.asked &&
			 config_.version == wire::LlcVersion::kV2)
			send(carrier, wire::ReqAddLink{}, /*response=*/true, effects);
		else if (server && state == LinkState::kPreparing && !adding_.asked)
			offer_no_link(carrier, effects);
		else if (server && state != LinkState::kPreparing && state != LinkState::kOffered)
			ask_for_deletion(link, wire::DeleteLinkReason::kLostPath,
					 /*orderly=*/false, now_ms, effects);
	}
	give_up_addition(effects);
	if (server && state != LinkState::kPreparing)
		count_attempt();
	if (!server || state != LinkState::kPreparing)
		try_again_later(now_ms);
}

// A server counts its offers, and a client what it has asked for.
void GroupMachine::count_attempt()
{
	additions_failed_ = std::min(additions_failed_ + 1, kAdditionFailuresMax);
}

// The way to the other port may be interrupted, which no event tells, nor its end. A server offers
// again, and a client asks again: Linux repeats neither.
void GroupMachine::try_again_later(std::uint64_t now_ms)
{
	add_due_ms_ = now_ms + (kAdditionForgotten_ms << additions_failed_);
}

void GroupMachine::alternate_found(const AlternateFound &event, std::uint64_t now_ms,
				   Effects &effects)
{
	const auto carrier = active_link();

	if (config_.role == Role::kServer) {
		additions_failed_ = 0;
		(void)look_for_link(/*asked=*/false, now_ms, effects);
		return;
	}
	if (!lacks_link() || !carrier || adds_later(now_ms))
		return;
	// A port that comes and goes must not flood the server.
	if (asked_ms_ != 0 && now_ms - asked_ms_ < kAdditionForgotten_ms) {
		add_due_ms_ = asked_ms_ + kAdditionForgotten_ms;
		return;
	}
	asked_ms_ = now_ms;
	count_attempt();
	try_again_later(now_ms);
	if (config_.version == wire::LlcVersion::kV2) {
		std::array<std::byte, 2 * wire::GidList::kItemSize> space{};
		const std::array<wire::Gid, 2> gids = {links_[*carrier].local.gid, event.gid};

		asked_++;
		send(*carrier, wire::ReqAddLink{wire::GidList::of(gids, space)},
		     /*response=*/false, effects);
		return;
	}
	wire::AddLink body;

	body.mac = event.mac;
	body.gid = event.gid;
	send(*carrier, body, /*response=*/false, effects);
}

void GroupMachine::link_prepared(const LinkPrepared &event, std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[event.link];

	if (link.state != LinkState::kPreparing)
		return;
	if (!event.local) {
		addition_failed(now_ms, effects);
		return;
	}
	const bool server = config_.role == Role::kServer;

	link.local = event.local->identity;
	adding_.rkeys = wire::RkeyPairList::of(event.rkeys, rkey_space_);
	running_.overtaken = running_link_ != adding_.carrier;
	if (server) {
		link.id = new_link_id();
		link.uid = uid_of(link.id);
		link.deadline_ms = now_ms + config_.response_ms;
		set_state(link, LinkState::kOffered);
		adding_.request.psn = event.local->psn;
		adding_.request.mtu = event.local->mtu;
		send_add_link(/*response=*/false, effects);
		return;
	}
	link.deadline_ms = now_ms + config_.first_request_ms;
	set_state(link, config_.version == wire::LlcVersion::kV2 ? LinkState::kAwaitRequest
								 : LinkState::kExchanging);
	adding_.request.psn = event.local->psn;
	adding_.request.mtu = std::min(event.local->mtu, adding_.peer.mtu);
	send_add_link(/*response=*/true, effects);
}

// Our end of the new link.
void GroupMachine::send_add_link(bool response, Effects &effects)
{
	const Link &link = links_[adding_.link];
	wire::AddLink body;

	body.mac = link.local.mac;
	body.gid = link.local.gid;
	body.qpn = link.local.qpn;
	body.link = link.id;
	body.mtu = adding_.request.mtu;
	body.psn = adding_.request.psn;
	if (config_.version == wire::LlcVersion::kV2) {
		body.extension.emplace();
		body.extension->v2_direct = config_.direct;
		body.extension->target_gid = links_[adding_.carrier].peer.gid;
		body.extension->rkeys = adding_.rkeys;
	}
	SendLlc effect;
	const std::size_t size =
		wire::encode({config_.version, response, body}, MutableByteSpan{long_message_});

	expects(size != 0);
	effect.link = adding_.carrier;
	effect.longer = ByteSpan{long_message_}.first(size);
	emit(effects, effect);
}

void GroupMachine::refuse_link(LinkIndex from, const wire::AddLink &request, Effects &effects)
{
	wire::AddLink reply = request;

	reply.rejected = true;
	reply.reject_reason = wire::AddLinkReject::kNoAlternatePath;
	reply.extension.reset();
	counters_.rejected_add_links++;
	send(from, reply, /*response=*/true, effects);
}

// Client: the server's end of another link. Server: the client of version 1 asks for one.
void GroupMachine::add_link_request(LinkIndex from, const wire::AddLink &body, std::uint64_t now_ms,
				    Effects &effects)
{
	if (config_.role == Role::kServer) {
		if (!look_for_link(/*asked=*/true, now_ms, effects))
			counters_.ignored++;
		return;
	}
	if (is_superseded_by_offer(from))
		give_up_addition(effects);
	const auto link = unused_link();
	const bool complete = body.mtu.is_known() && !body.qpn.is_zero() && !body.link.is_zero() &&
			      !find_link(body.link);

	if (!complete || !link || config_.max_links < 2 || !config_.adds_links ||
	    adding_.under_way || !may_add(now_ms)) {
		refuse_link(from, body, effects);
		if (body.mtu.is_known() ? complete : active_links() < 2)
			seek_alternate(now_ms, effects);
		return;
	}
	begin_addition(*link, from, now_ms);
	adding_.request = body;
	adding_.request.extension.reset();
	adding_.peer = {{body.mac, body.gid, body.qpn}, body.psn, body.mtu};
	links_[*link].id = body.link;
	links_[*link].peer = adding_.peer.identity;
	if (body.extension) {
		for (std::size_t i = 0; i < body.extension->rkeys.size(); i++)
			take_rkey(body.extension->rkeys[i]);
	}
	// A server that names the port in use has no other one: then this end needs one.
	const LinkIdentity &in_use = links_[from].peer;
	const bool same_port = body.gid == in_use.gid &&
			       (config_.version == wire::LlcVersion::kV2 || body.mac == in_use.mac);

	emit(effects, PrepareLink{.link = *link,
				  .beside = from,
				  .same_port_will_do = !same_port && active_links() == 1,
				  .peer = adding_.peer});
}

// Client: the server may have a port for its offers that this end had not, or none of its own.
void GroupMachine::seek_alternate(std::uint64_t now_ms, Effects &effects)
{
	if (lacks_link() && active_link() && !adds_later(now_ms))
		emit(effects, SeekAlternate{});
}

// Client: a server adds one link at a time, so it has given up the one that it offers no more. Once
// CONFIRM_LINK has come, it says that by DELETE_LINK.
bool GroupMachine::is_superseded_by_offer(LinkIndex from) const
{
	if (!adding_.under_way || adding_.carrier != from)
		return false;
	switch (links_[adding_.link].state) {
	case LinkState::kPreparing:
	case LinkState::kExchanging:
	case LinkState::kAwaitRequest: return true;
	default: return false;
	}
}

void GroupMachine::take_rkey(const wire::RkeyPair &pair)
{
	rtokens_.pair(adding_.carrier, pair.rkey, adding_.link, {pair.new_rkey, pair.new_address});
}

void GroupMachine::add_link_response(LinkIndex from, const wire::AddLink &body,
				     std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[adding_.link];

	if (!adding_.under_way || link.state != LinkState::kOffered || adding_.carrier != from ||
	    body.link != link.id) {
		// An empty offer is to be rejected. An addition may have been given up meanwhile.
		if (links_[from].offered && body.rejected)
			links_[from].offered = false;
		else if (config_.role == Role::kServer && !body.link.is_zero() &&
			 body.link.value() <= link_ids_given_ && !find_link(body.link))
			counters_.late_responses++;
		else
			unexpected(/*response=*/true);
		return;
	}
	if (body.rejected) {
		give_up_addition(effects);
		return;
	}
	if (body.qpn.is_zero() || !body.mtu.is_known()) {
		unexpected(/*response=*/true);
		set_state(link, LinkState::kReadying);
		addition_failed(now_ms, effects);
		return;
	}
	adding_.peer = {
		{body.mac, body.gid, body.qpn}, body.psn, std::min(body.mtu, adding_.request.mtu)};
	link.peer = adding_.peer.identity;
	if (config_.version == wire::LlcVersion::kV2) {
		if (body.extension) {
			for (std::size_t i = 0; i < body.extension->rkeys.size(); i++)
				take_rkey(body.extension->rkeys[i]);
		}
		make_ready(now_ms, effects);
		return;
	}
	link.deadline_ms = now_ms + config_.response_ms;
	set_state(link, LinkState::kExchanging);
	send_rkeys(/*response=*/false, effects);
}

// Server: both ends are known, and all rkeys.
void GroupMachine::make_ready(std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[adding_.link];

	link.deadline_ms = now_ms + config_.activation_ms;
	set_state(link, LinkState::kReadying);
	emit(effects, ReadyLink{adding_.link, adding_.peer});
}

void GroupMachine::link_ready(const LinkReady &event, std::uint64_t now_ms, Effects &effects)
{
	Link &link = links_[event.link];

	if (link.state != LinkState::kReadying)
		return;
	if (!event.ready) {
		addition_failed(now_ms, effects);
		return;
	}
	// The client makes its end ready first.
	link.deadline_ms = now_ms + config_.activation_ms;
	set_state(link, LinkState::kAwaitResponse);
	send_confirm_link(event.link, /*response=*/false, effects);
}

// ---- Version 1 ------------------------------------------------------------------------------

void GroupMachine::send_rkeys(bool response, Effects &effects)
{
	wire::AddLinkCont body;
	const std::size_t left = adding_.rkeys.size() - adding_.rkeys_sent;

	body.link = links_[adding_.link].id;
	body.rkeys_left = static_cast<std::uint8_t>(left);
	for (std::size_t i = 0; i < std::min(left, body.rkeys.size()); i++)
		body.rkeys[i] = adding_.rkeys[adding_.rkeys_sent + i];
	adding_.rkeys_sent += std::min(left, body.rkeys.size());
	adding_.rounds++;
	send(adding_.carrier, body, response, effects);
}

// The server asks and the client answers, at least once, until neither has an rkey left.
void GroupMachine::add_link_cont(LinkIndex from, const wire::AddLinkCont &body, bool response,
				 std::uint64_t now_ms, Effects &effects)
{
	const bool server = config_.role == Role::kServer;
	Link &link = links_[adding_.link];

	if (!adding_.under_way || link.state != LinkState::kExchanging || from != adding_.carrier ||
	    response != server || body.link != link.id || adding_.rounds > kRoundsMax) {
		unexpected(response);
		return;
	}
	const std::size_t count = std::min<std::size_t>(body.rkeys_left, body.rkeys.size());

	for (std::size_t i = 0; i < count; i++)
		take_rkey(body.rkeys[i]);
	if (!server)
		send_rkeys(/*response=*/true, effects);
	const bool over = body.rkeys_left == count && adding_.rkeys_sent == adding_.rkeys.size();

	if (over && server) {
		make_ready(now_ms, effects);
	} else if (over) {
		link.deadline_ms = now_ms + config_.first_request_ms;
		set_state(link, LinkState::kAwaitRequest);
	} else if (server) {
		link.deadline_ms = now_ms + config_.response_ms;
		send_rkeys(/*response=*/false, effects);
	}
}

// ---- The client's wish ----------------------------------------------------------------------

void GroupMachine::req_add_link_request(LinkIndex from, std::uint64_t now_ms, Effects &effects)
{
	if (config_.role == Role::kClient)
		unexpected(/*response=*/false);
	else if (!look_for_link(/*asked=*/true, now_ms, effects))
		send(from, wire::ReqAddLink{}, /*response=*/true, effects);
}

void GroupMachine::req_add_link_response()
{
	if (asked_ == 0)
		unexpected(/*response=*/true);
	else
		asked_--;
}

// ---- Asymmetric links -----------------------------------------------------------------------

// Server, with three links: the one goes that shares a port with another, if the two that are left
// share none.
void GroupMachine::drop_asymmetric(LinkIndex newest, std::uint64_t now_ms, Effects &effects)
{
	if (active_links() < kLinksMax)
		return;
	LinkIndex victim = newest;

	for (std::size_t i = 0; i < links_.size(); i++) {
		const Link &one = links_[(i + 1) % kLinksMax];
		const Link &other = links_[(i + 2) % kLinksMax];

		if (!share_port(one, other))
			victim = static_cast<LinkIndex>(i);
	}
	link_down(victim, now_ms, effects);
	ask_for_deletion(victim, wire::DeleteLinkReason::kNoAsymmetricNeeded, /*orderly=*/true,
			 now_ms, effects);
}

} // namespace smc::group
