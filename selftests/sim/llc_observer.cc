// SPDX-License-Identifier: GPL-2.0-only
//
// A second decoder of LLC (RFC 7609 appendix A.2, SMC version 2): who may send what when, and what
// it has to say of the sender's queue pairs and RMBs.
#include "llc_observer.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "bytes.hpp"
#include "rdma_observer.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u8 kResponse = 0x80;
constexpr u8 kNegative = 0x20;
constexpr u8 kAll = 0x40;
constexpr u8 kOrderly = 0x20;
constexpr u8 kRejected = 0x40;
constexpr std::size_t kSize = 44;
constexpr std::size_t kRkeysMax = 255;
constexpr u64 kNoAsymmetricNeeded = 0x00050000;
constexpr u64 kUnknownLink = 0x00100000;

enum Type : u8 {
	kTestLink = 7,
	// Of links.
	kConfirmLink = 1,
	kDeleteLink = 4,
	kAddLink = 2,
	kAddLinkCont = 3,
	kReqAddLink = 5,
	// Of RMBs.
	kConfirmRkey = 6,
	kDeleteRkey = 9,
};

// One end of a group.
struct Side {
	bool over = false;        // DELETE_LINK of the whole group was sent
	std::set<RmbNumber> rmbs; // announced to the peer
};

struct Pair {
	u32 server_qpn = 0;
	u32 client_qpn = 0;
};

// What the server has offered by ADD_LINK.
struct Offer {
	u32 qpn = 0;
	u8 mtu = 0;
};

struct Group {
	u64 number = 0;
	u8 version = 0;
	u8 max_links = 0;
	std::map<u8, Pair> links; // by id, those that are gone, too
	std::map<u8, Offer> offers;
	Side client;
	Side server;
};

// A queue pair.
struct End {
	u32 peer = 0;
	u8 id = 0;
	bool server = false;
	Group *group = nullptr;
	bool confirm_sent = false; // CONFIRM_LINK request or response
	bool confirm_heard = false;
	std::map<u8, unsigned> asked; // requests that wait for an answer
	// Requests that have arrived and wait for an answer.
	std::map<u8, std::deque<std::string>> heard;

	[[nodiscard]] Side &side() const { return server ? group->server : group->client; }
	[[nodiscard]] bool is_v1() const { return group->version == 1; }
};

std::map<u32, End> ends;
std::deque<Group> groups;
bool impatient; // a request may go unanswered
u64 llcs, more_links;

End &end_of(const smc_ib_link &link)
{
	const auto found = ends.find(link.qpn);

	if (found == ends.end())
		fail("qp %u: LLC before CLC has come to its end", link.qpn);
	return found->second;
}

void expect(const smc_ib_link &link, bool right, const char *what)
{
	if (!right)
		fail("qp %u, LLC: %s", link.qpn, what);
}

bool lives(u32 qpn)
{
	const smc_ib_link *link = fabric().link(qpn);

	return link != nullptr && !link->broken && !link->closing;
}

void make_link(Group &group, u8 id, const Pair &pair)
{
	group.links[id] = pair;
	ends[pair.server_qpn] = {
		.peer = pair.client_qpn, .id = id, .server = true, .group = &group, .heard = {}};
	ends[pair.client_qpn] = {
		.peer = pair.server_qpn, .id = id, .server = false, .group = &group, .heard = {}};
}

// The queue pair of that end of that link.
u32 own_qpn(const End &end, const Pair &pair)
{
	return end.server ? pair.server_qpn : pair.client_qpn;
}

void confirm_link(const smc_ib_link &link, End &end, const Reader &in, bool response)
{
	const smc_ib_device &device = *link.device;

	expect(link, response != end.server, "CONFIRM_LINK by the wrong side");
	expect(link, !end.confirm_sent, "CONFIRM_LINK twice");
	expect(link, !response || end.confirm_heard, "CONFIRM_LINK response to nothing");
	// The MAC of an iWARP server is a number that was drawn.
	expect(link,
	       (world().knobs.iwarp && end.server) ||
		       in.text(4, 6) == wire_mac(device.host, device.rail),
	       "CONFIRM_LINK: MAC");
	expect(link, in.text(10, 16) == wire_gid(device.host, device.rail, end.group->version),
	       "CONFIRM_LINK: GID");
	expect(link, in.number(26, 3) == link.qpn + qpn_bias(), "CONFIRM_LINK: QPN");
	expect(link, in.byte(29) == end.id, "CONFIRM_LINK: link id");
	expect(link, (in.number(30, 4) & 0xff) == end.id && in.number(30, 4) >= 0x100,
	       "CONFIRM_LINK: link uid");
	expect(link, in.byte(34) == end.group->max_links, "CONFIRM_LINK: max_links");
	expect(link, (in.byte(3) & 0x7f) == 3, "CONFIRM_LINK: flags");
	expect(link, in.is_zero(36, 8), "CONFIRM_LINK: reserved");
	end.confirm_sent = true;
}

// ---- RMBs -------------------------------------------------------------------------------------

// ADD_LINK lists RMBs that no CONFIRM_RKEY has announced yet. The announcement may come when the
// link that carried the list is gone: then the rkey of another link tells which RMB it means.
RmbNumber announced_rmb(const smc_ib_link &link, const Reader &in, const RmbKey &key)
{
	const std::size_t count = std::min<std::size_t>(in.byte(4), 2);

	for (std::size_t i = 0; i < count; i++)
		if (const auto rmb = rmb_of(static_cast<u32>(in.number(18 + 13 * i, 4)))) {
			tell_rmb_on(*rmb, link.qpn, key);
			return *rmb;
		}
	return tell_rmb(link.qpn, key);
}

// On other links than the one that carries the message.
void tell_on_others(const smc_ib_link &link, const End &end, RmbNumber rmb, const Reader &in)
{
	const smc_ib_region *here = fabric().by_remote_key(static_cast<u32>(in.number(5, 4)));
	const std::size_t count = in.byte(4);

	expect(link, count <= 2, "CONFIRM_RKEY: other links");
	for (std::size_t i = 0; i < count; i++) {
		const std::size_t at = 17 + 13 * i;
		const auto other = end.group->links.find(in.byte(at));
		const RmbKey key{static_cast<u32>(in.number(at + 1, 4)), in.number(at + 5, 8)};
		const smc_ib_region *region = fabric().by_remote_key(key.rkey);

		expect(link, other != end.group->links.end() && other->first != end.id,
		       "CONFIRM_RKEY: no such link");
		const u32 qpn = own_qpn(end, other->second);
		// The link may be going; an Accept that is under way may name that rkey still.
		if (!lives(qpn)) {
			if (region != nullptr && region->buffer == here->buffer)
				tell_rmb_on(rmb, qpn, key);
			continue;
		}
		expect(link,
		       region != nullptr && region->qpn == qpn && region->address == key.address &&
			       region->buffer == here->buffer,
		       "CONFIRM_RKEY: not that RMB on the other link");
		expect(link, region->state == smc_ib_region::State::kReady,
		       "CONFIRM_RKEY before the region is registered on the other link");
		tell_rmb_on(rmb, qpn, key);
	}
	expect(link, in.is_zero(17 + 13 * count, 27 - 13 * count), "CONFIRM_RKEY: reserved");
}

// Requests about RMBs that wait for an answer. Those of a link that is lost, at either end, get
// none.
unsigned requests_of(const End &end)
{
	unsigned waiting = 0;

	for (auto &[id, pair] : end.group->links) {
		const u32 qpn = own_qpn(end, pair);

		if (lives(pair.server_qpn) && lives(pair.client_qpn))
			waiting += ends[qpn].asked[kConfirmRkey] + ends[qpn].asked[kDeleteRkey];
	}
	return waiting;
}

void rkey_request(const smc_ib_link &link, End &end, u8 type, const Reader &in)
{
	const u32 key = static_cast<u32>(type == kConfirmRkey ? in.number(5, 4) : in.number(8, 4));
	const smc_ib_region *region = fabric().by_remote_key(key);
	Side &side = end.side();

	// A host that has stopped waiting after two seconds may go on.
	impatient = impatient || world().knobs.any_fault() || world().knobs.deaf_to != 0 ||
		    world().knobs.mute;
	if (!impatient)
		expect(link, requests_of(end) == 0, "a request while another one waits");
	end.asked[type]++;
	expect(link, region != nullptr && region->qpn == link.qpn, "an rkey of nothing");
	const RmbKey mine{key, region->address};
	const RmbNumber rmb =
		type == kConfirmRkey ? announced_rmb(link, in, mine) : tell_rmb(link.qpn, mine);
	if (type == kConfirmRkey) {
		expect(link, in.number(9, 8) == region->address, "CONFIRM_RKEY: address");
		expect(link, region->state == smc_ib_region::State::kReady,
		       "CONFIRM_RKEY before the region is registered");
		tell_on_others(link, end, rmb, in);
		side.rmbs.insert(rmb);
		expect(link, side.rmbs.size() <= kRkeysMax, "more RMBs than Linux has places for");
	} else {
		observe_rmb_going(key);
		expect(link, in.byte(4) == 1 && in.is_zero(5, 3) && in.is_zero(12, 32),
		       "DELETE_RKEY");
	}
}

// The queue pair that an ADD_LINK names.
u32 offered_qpn(const Reader &in)
{
	return static_cast<u32>(in.number(28, 3)) - qpn_bias();
}

// What ADD_LINK and ADD_LINK_CONT say of the RMBs of @link's host on its queue pair @qpn.
void tell_pairs(const smc_ib_link &link, u32 qpn, const Reader &in, std::size_t at,
		std::size_t count)
{
	for (std::size_t i = 0; i < count; i++, at += 16) {
		const u32 old = static_cast<u32>(in.number(at, 4));
		const RmbKey key{static_cast<u32>(in.number(at + 4, 4)), in.number(at + 8, 8)};
		const smc_ib_region *before = fabric().by_remote_key(old);
		const smc_ib_region *now = fabric().by_remote_key(key.rkey);

		// The new end may be gone, for which nobody is told; or the RMB, of which the list
		// was made before: on all links by now, or on some.
		if (!lives(qpn))
			return;
		if (before == nullptr || (now == nullptr && is_forgotten(old)))
			continue;
		expect(link, before->qpn == link.qpn, "ADD_LINK: an rkey of another link");
		expect(link,
		       now != nullptr && now->qpn == qpn && now->address == key.address &&
			       now->buffer == before->buffer,
		       "ADD_LINK: not that RMB on the new link");
		tell_rmb_on(tell_rmb(link.qpn, {old, before->address}), qpn, key);
	}
}

// ---- Links ------------------------------------------------------------------------------------

// One of the sender's queue pairs that is to become a link.
void check_new_end(const smc_ib_link &link, const End &end, const Reader &in)
{
	const u32 qpn = offered_qpn(in);
	const net *host = link.device->host;
	const smc_ib_link *offered = fabric().link(qpn);
	const auto rail = rail_named(host, {.mac = in.text(4, 6),
					    .gid = in.text(12, 16),
					    .version = end.group->version,
					    .of_server = end.server});

	expect(link, rail.has_value(), "ADD_LINK: MAC, GID");
	expect(link, !ends.contains(qpn), "ADD_LINK: a queue pair that is a link");
	expect(link, in.byte(31) != 0, "ADD_LINK: link 0");
	// It may be gone by now.
	if (offered == nullptr)
		return;
	expect(link, offered->device->host == host && offered->device->rail == *rail,
	       "ADD_LINK: not on that port");
	expect(link, in.number(33, 3) <= 0xffffff && in.is_zero(36, 8), "ADD_LINK: reserved");
}

void check_extension(const smc_ib_link &link, const End &end, const Reader &in)
{
	if (end.is_v1()) {
		expect(link, in.size() == kSize, "ADD_LINK: length");
		return;
	}
	const std::size_t count = in.byte(70) | std::size_t{in.byte(71)} << 8;
	const smc_ib_link *peer = fabric().link(end.peer);

	expect(link, in.byte(44) == (world().knobs.way_is_direct() ? 0x80 : 0) && in.byte(45) == 0,
	       "ADD_LINK: v2_direct");
	if (peer != nullptr)
		expect(link, in.text(46, 16) == wire_gid(peer->device->host, peer->device->rail, 2),
		       "ADD_LINK: the peer's GID");
	expect(link, in.is_zero(62, 8) && count <= kRkeysMax && in.size() == 72 + 16 * count,
	       "ADD_LINK: extension");
	tell_pairs(link, offered_qpn(in), in, 72, count);
}

u8 mtu_of(const smc_ib_link &link)
{
	return link.device->host->index == 0 ? 3 : 5;
}

void add_link_request(const smc_ib_link &link, End &end, const Reader &in)
{
	Group &group = *end.group;
	const u8 id = in.byte(31);

	if (in.number(28, 3) == 0) {
		// "No other link", in version 2 where several were agreed; the client's wish for
		// one.
		expect(link,
		       (end.is_v1() || (end.server && group.max_links > 1)) && id == 0 &&
			       in.byte(32) == 0,
		       "ADD_LINK that offers nothing, and something");
		return;
	}
	expect(link, end.server && group.max_links > 1, "ADD_LINK: not to be sent");
	check_new_end(link, end, in);
	expect(link, !group.links.contains(id) || !lives(group.links[id].server_qpn),
	       "ADD_LINK: that link exists");
	expect(link, in.byte(32) == mtu_of(link), "ADD_LINK: MTU");
	check_extension(link, end, in);
	group.offers[id] = {offered_qpn(in), in.byte(32)};
}

// An offer takes the place of one that the client still prepares, which then gets no answer.
template <class IsAnswered>
void pass_over_offers(End &end, IsAnswered is_answered)
{
	std::deque<std::string> &offers = end.heard[kAddLink];

	while (offers.size() > 1 && !is_answered(offers.front()))
		offers.pop_front();
}

// True: a refusal, which repeats the request.
bool add_link_response(const smc_ib_link &link, End &end, const Reader &in)
{
	Group &group = *end.group;
	const u8 id = in.byte(31);
	const auto offer = group.offers.find(id);

	if ((in.byte(3) & kRejected) != 0)
		return true;
	expect(link, !end.server && in.byte(3) == kResponse, "ADD_LINK response by the server");
	expect(link, offer != group.offers.end(), "ADD_LINK response to no offer");
	check_new_end(link, end, in);
	expect(link, in.byte(32) == std::min(offer->second.mtu, mtu_of(link)), "ADD_LINK: MTU");
	make_link(group, id, {offer->second.qpn, offered_qpn(in)});
	more_links++;
	note("link %u: qp %u with qp %u", id, offer->second.qpn, offered_qpn(in));
	check_extension(link, end, in);
	pass_over_offers(end, [id](const std::string &one) { return Reader(one).byte(31) == id; });
	end.heard[kAddLink].pop_front();
	return false;
}

void add_link_cont(const smc_ib_link &link, const End &end, const Reader &in)
{
	const auto added = end.group->links.find(in.byte(4));

	expect(link, end.is_v1() && added != end.group->links.end(), "ADD_LINK_CONT");
	tell_pairs(link, own_qpn(end, added->second), in, 8, std::min<std::size_t>(in.byte(5), 2));
}

void delete_link(const smc_ib_link &link, const End &end, const Reader &in, bool response)
{
	const u8 flags = in.byte(3) & 0x7f;
	const u64 reason = in.number(5, 4);

	expect(link, (flags & ~(kOrderly | kAll)) == 0 && in.is_zero(9, 35),
	       "DELETE_LINK: reserved");
	if ((flags & kAll) == 0) {
		expect(link, end.group->links.contains(in.byte(4)), "DELETE_LINK: no such link");
		if (response)
			expect(link, !end.server && (reason == 0 || reason == kUnknownLink),
			       "DELETE_LINK response");
		else
			expect(link,
			       reason == 0x00010000 ||
				       (end.server && reason == kNoAsymmetricNeeded),
			       "DELETE_LINK: reason");
		return;
	}
	expect(link, !response && in.byte(4) == 0, "DELETE_LINK of all");
	expect(link, reason >= 0x00010000 && reason <= 0x00040000 && (reason & 0xffff) == 0,
	       "DELETE_LINK: reason");
	expect(link, reason != 0x00040000, "DELETE_LINK: the peer is said to break the protocol");
	expect(link, !end.side().over, "DELETE_LINK twice");
	end.side().over = true;
}

// A response repeats its request.
void response_to(const smc_ib_link &link, End &end, u8 type, const std::string &message)
{
	std::deque<std::string> &requests = end.heard[type];

	if (type == kAddLink)
		pass_over_offers(end, [&message](const std::string &one) {
			return one.compare(4, kSize - 4, message, 4, kSize - 4) == 0;
		});
	expect(link, !requests.empty(), "a response to nothing");
	const std::string request = requests.front();
	std::string wanted = request;
	std::string got = message;
	const u8 flags = static_cast<u8>(message[3]);
	const bool negative = (flags & kNegative) != 0;
	bool known = true;

	wanted[3] = got[3] = 0;
	if (type == kDeleteRkey) {
		expect(link, (flags & ~kResponse & ~kNegative) == 0, "DELETE_RKEY: flags");
		wanted[5] = got[5];
		if (!end.is_v1())
			wanted.replace(8, 36, 36, '\0');
		expect(link, negative == (got[5] != 0), "DELETE_RKEY: errors");
		const Reader asked(request);
		for (u32 i = 0; i < asked.byte(4); i++) {
			const u32 key = static_cast<u32>(asked.number(8 + 4 * i, 4));
			const auto rmb = rmb_of(key);

			expect(link, rmb.has_value(), "DELETE_RKEY of nothing");
			known &= !is_forgotten(key);
			forget_rmb(*rmb);
			ends[end.peer].side().rmbs.erase(*rmb);
		}
	} else if (type == kConfirmRkey) {
		expect(link, flags == kResponse || flags == (kResponse | kNegative | 0x10),
		       "CONFIRM_RKEY: flags");
		if (!negative)
			remember_rmb(*rmb_of(static_cast<u32>(Reader(message).number(5, 4))));
	} else if (type == kAddLink) {
		expect(link, flags == (kResponse | kRejected), "ADD_LINK: flags");
		wanted.resize(kSize);
		wanted[1] = got[1];
		wanted[2] = got[2];
	} else {
		expect(link, flags == kResponse, "flags of a response");
	}
	expect(link, wanted == got, "a response that does not repeat its request");
	if (!world().knobs.any_fault())
		expect(link, !negative || type == kAddLink || !known, "a refusal");
	requests.pop_front();
}

const char *name(u8 type)
{
	switch (type) {
	case kConfirmLink: return "CONFIRM_LINK";
	case kAddLink: return "ADD_LINK";
	case kAddLinkCont: return "ADD_LINK_CONT";
	case kDeleteLink: return "DELETE_LINK";
	case kReqAddLink: return "REQ_ADD_LINK";
	case kConfirmRkey: return "CONFIRM_RKEY";
	case kTestLink: return "TEST_LINK";
	case kDeleteRkey: return "DELETE_RKEY";
	default: return "?";
	}
}

} // namespace

void observe_pair(u32 server_qpn, u32 client_qpn, u8 version, bool first_contact, u8 max_links)
{
	if (!first_contact) {
		const auto server = ends.find(server_qpn);

		if (server == ends.end() || server->second.peer != client_qpn)
			fail("qp %u and qp %u are no link", server_qpn, client_qpn);
		return;
	}
	for (const u32 qpn : {server_qpn, client_qpn}) {
		if (ends.contains(qpn))
			fail("qp %u: a second first contact", qpn);
	}
	groups.push_back({.number = groups.size() + 1,
			  .version = version,
			  .max_links = max_links,
			  .links = {},
			  .offers = {},
			  .client = {},
			  .server = {}});
	make_link(groups.back(), 1, {server_qpn, client_qpn});
}

void observe_llc(const smc_ib_link &link, const std::string &message)
{
	const Reader in(message);
	End &end = end_of(link);
	const u8 type = in.byte(0) & 15;
	const bool response = (in.byte(3) & kResponse) != 0;
	const std::size_t length =
		end.is_v1() ? in.byte(1) : in.byte(1) | std::size_t{in.byte(2)} << 8;

	llcs++;
	note("qp %u sends %s %s", link.qpn, name(type), response ? "response" : "request");
	expect(link, in.byte(0) >> 4 == (end.is_v1() ? 0 : 2), "version");
	expect(link, length == message.size() && length >= kSize, "length");
	expect(link,
	       type == kConfirmLink || type == kDeleteLink ||
		       (end.confirm_sent && (end.server ? end.confirm_heard : true)),
	       "a link is used before it is confirmed");
	expect(link, !end.side().over, "a message behind DELETE_LINK");
	switch (type) {
	case kConfirmLink: confirm_link(link, end, in, response); break;
	case kDeleteLink: delete_link(link, end, in, response); break;
	case kConfirmRkey:
	case kDeleteRkey:
		if (response)
			response_to(link, end, type, message);
		else
			rkey_request(link, end, type, in);
		break;
	case kTestLink:
		if (response)
			response_to(link, end, type, message);
		else
			expect(link, !in.is_zero(4, 16) && in.is_zero(20, 24), "TEST_LINK");
		break;
	case kAddLink:
		if (!response)
			add_link_request(link, end, in);
		else if (add_link_response(link, end, in))
			response_to(link, end, type, message);
		break;
	case kAddLinkCont:
		expect(link, response != end.server, "ADD_LINK_CONT by the wrong side");
		add_link_cont(link, end, in);
		break;
	case kReqAddLink:
		expect(link, !end.is_v1() && response == end.server, "REQ_ADD_LINK");
		break;
	default: fail("qp %u: LLC of type %u", link.qpn, type);
	}
}

void observe_llc_received(const smc_ib_link &link, const std::string &message)
{
	const u8 type = static_cast<u8>(message[0]) & 15;
	const bool response = (static_cast<u8>(message[3]) & kResponse) != 0;
	End &end = end_of(link);

	if (type == kConfirmLink)
		end.confirm_heard = true;
	else if (response && end.asked[type] != 0)
		end.asked[type]--;
	else if (!response)
		end.heard[type].push_back(message);
}

void observe_device_going()
{
	impatient = true;
}

u64 side_of(u32 qpn)
{
	const auto end = ends.find(qpn);

	return end == ends.end() ? 0 : end->second.group->number * 2 + end->second.server;
}

bool is_confirmed(u32 qpn)
{
	const auto end = ends.find(qpn);

	return end != ends.end() && end->second.confirm_sent && end->second.confirm_heard;
}

bool is_being_confirmed(u32 qpn)
{
	const auto end = ends.find(qpn);

	return end != ends.end() && end->second.confirm_sent != end->second.confirm_heard;
}

bool has_live_sibling(u32 qpn)
{
	const auto end = ends.find(qpn);

	if (end == ends.end())
		return false;
	return std::any_of(end->second.group->links.begin(), end->second.group->links.end(),
			   [&](const auto &entry) {
				   const u32 other = own_qpn(end->second, entry.second);

				   return other != qpn && lives(other);
			   });
}

bool is_told(u32 qpn, u32 rkey)
{
	const auto end = ends.find(qpn);
	const auto rmb = rmb_of(rkey);

	return end != ends.end() && rmb && end->second.side().rmbs.contains(*rmb);
}

u64 observed_llcs()
{
	return llcs;
}

u64 observed_links()
{
	return more_links;
}

} // namespace sim
