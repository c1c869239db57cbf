// SPDX-License-Identifier: GPL-2.0-only
//
// A second decoder of LLC (RFC 7609 appendix A.2, SMC version 2): who may send what when.
#include "llc_observer.hpp"

#include <deque>
#include <map>
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
constexpr std::size_t kSize = 44;
constexpr std::size_t kRkeysMax = 255;

enum Type : u8 {
	kConfirmLink = 1,
	kAddLink = 2,
	kDeleteLink = 4,
	kConfirmRkey = 6,
	kTestLink = 7,
	kDeleteRkey = 9,
};

struct End {
	u32 peer = 0;
	bool server = false;
	u8 version = 0;
	bool confirm_sent = false; // CONFIRM_LINK request or response
	bool confirm_heard = false;
	bool over = false;   // DELETE_LINK of the whole group was sent
	std::set<u32> rkeys; // announced to the peer
	// Requests that have arrived and wait for an answer, and own ones that wait.
	std::map<u8, std::deque<std::string>> heard;
	std::map<u8, unsigned> asked;
};

std::map<u32, End> ends;
bool impatient;          // a request may go unanswered
std::set<u32> forgotten; // rkeys whose owner knows that
u64 llcs;

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

void confirm_link(const smc_ib_link &link, End &end, const Reader &in, bool response)
{
	const net *host = link.device->host;

	expect(link, response != end.server, "CONFIRM_LINK by the wrong side");
	expect(link, !end.confirm_sent, "CONFIRM_LINK twice");
	expect(link, !response || end.confirm_heard, "CONFIRM_LINK response to nothing");
	expect(link, in.text(4, 6) == wire_mac(host), "CONFIRM_LINK: MAC");
	expect(link, in.text(10, 16) == wire_gid(host, end.version), "CONFIRM_LINK: GID");
	expect(link, in.number(26, 3) == link.qpn, "CONFIRM_LINK: QPN");
	expect(link, in.byte(29) == 1, "CONFIRM_LINK: link id");
	expect(link, (in.number(30, 4) & 0xff) == 1 && in.number(30, 4) >= 0x100,
	       "CONFIRM_LINK: link uid");
	expect(link, in.byte(34) == (end.version == 1 ? 2 : 1), "CONFIRM_LINK: max_links");
	expect(link, (in.byte(3) & 0x7f) == 3, "CONFIRM_LINK: flags");
	expect(link, in.is_zero(36, 8), "CONFIRM_LINK: reserved");
	end.confirm_sent = true;
}

void rkey_request(const smc_ib_link &link, End &end, u8 type, const Reader &in)
{
	const u32 key = static_cast<u32>(type == kConfirmRkey ? in.number(5, 4) : in.number(8, 4));
	const smc_ib_region *region = fabric().by_remote_key(key);

	// A host that has stopped waiting after two seconds may go on.
	impatient = impatient || world().knobs.any_fault() || world().knobs.deaf_to != 0 ||
		    world().knobs.mute;
	if (!impatient)
		expect(link, end.asked[kConfirmRkey] + end.asked[kDeleteRkey] == 0,
		       "a request while another one waits");
	end.asked[type]++;
	expect(link, region != nullptr && region->qpn == link.qpn, "an rkey of nothing");
	if (type == kConfirmRkey) {
		expect(link, in.byte(4) == 0, "CONFIRM_RKEY: other links");
		expect(link, in.number(9, 8) == region->address, "CONFIRM_RKEY: address");
		expect(link, in.is_zero(17, 27), "CONFIRM_RKEY: reserved");
		expect(link, region->state == smc_ib_region::State::kReady,
		       "CONFIRM_RKEY before the region is registered");
		end.rkeys.insert(key);
		expect(link, end.rkeys.size() <= kRkeysMax, "more RMBs than Linux has places for");
	} else {
		observe_rmb_going(key);
		expect(link, in.byte(4) == 1 && in.is_zero(5, 3) && in.is_zero(12, 32),
		       "DELETE_RKEY");
	}
}

// A response repeats its request.
void response_to(const smc_ib_link &link, End &end, u8 type, const std::string &message)
{
	std::deque<std::string> &requests = end.heard[type];

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
		if (end.version != 1)
			wanted.replace(8, 36, 36, '\0');
		expect(link, negative == (got[5] != 0), "DELETE_RKEY: errors");
		const Reader asked(request);
		for (u32 i = 0; i < asked.byte(4); i++) {
			const u32 key = static_cast<u32>(asked.number(8 + 4 * i, 4));

			known &= forgotten.insert(key).second;
			ends[end.peer].rkeys.erase(key);
		}
	} else if (type == kConfirmRkey) {
		expect(link, flags == kResponse || flags == (kResponse | kNegative | 0x10),
		       "CONFIRM_RKEY: flags");
		if (!negative)
			forgotten.erase(static_cast<u32>(Reader(message).number(5, 4)));
	} else if (type == kAddLink) {
		expect(link, flags == (kResponse | 0x40), "ADD_LINK: flags");
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

void delete_link(const smc_ib_link &link, End &end, const Reader &in)
{
	const u8 flags = in.byte(3);
	const u64 reason = in.number(5, 4);

	expect(link, (flags & ~kOrderly) == kAll, "DELETE_LINK: not the whole group");
	expect(link, in.byte(4) == 0 && in.is_zero(9, 35), "DELETE_LINK: reserved");
	expect(link, reason >= 0x00010000 && reason <= 0x00040000 && (reason & 0xffff) == 0,
	       "DELETE_LINK: reason");
	expect(link, reason != 0x00040000, "DELETE_LINK: the peer is said to break the protocol");
	expect(link, !end.over, "DELETE_LINK twice");
	end.over = true;
}

const char *name(u8 type)
{
	switch (type) {
	case kConfirmLink: return "CONFIRM_LINK";
	case kAddLink: return "ADD_LINK";
	case kDeleteLink: return "DELETE_LINK";
	case kConfirmRkey: return "CONFIRM_RKEY";
	case kTestLink: return "TEST_LINK";
	case kDeleteRkey: return "DELETE_RKEY";
	default: return "?";
	}
}

} // namespace

void observe_pair(u32 server_qpn, u32 client_qpn, u8 version, bool first_contact)
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
	ends[server_qpn] = {.peer = client_qpn, .server = true, .version = version};
	ends[client_qpn] = {.peer = server_qpn, .server = false, .version = version};
}

void observe_llc(const smc_ib_link &link, const std::string &message)
{
	const Reader in(message);
	End &end = end_of(link);
	const u8 type = in.byte(0) & 15;
	const bool response = (in.byte(3) & kResponse) != 0;
	const std::size_t length =
		end.version == 1 ? in.byte(1) : in.byte(1) | std::size_t{in.byte(2)} << 8;

	llcs++;
	note("qp %u sends %s %s", link.qpn, name(type), response ? "response" : "request");
	expect(link, in.byte(0) >> 4 == (end.version == 1 ? 0 : 2), "version");
	expect(link, length == message.size() && length >= kSize, "length");
	expect(link,
	       type == kConfirmLink || type == kDeleteLink ||
		       (end.confirm_sent && (end.server ? end.confirm_heard : true)),
	       "a link is used before it is confirmed");
	expect(link, !end.over, "a message behind DELETE_LINK");
	switch (type) {
	case kConfirmLink: confirm_link(link, end, in, response); break;
	case kDeleteLink:
		expect(link, !response, "DELETE_LINK response");
		delete_link(link, end, in);
		break;
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
		// Version 1 says "one link" only by offering none.
		expect(link, end.version == 1 && response != end.server, "ADD_LINK");
		if (response)
			response_to(link, end, type, message);
		else
			expect(link, in.number(28, 3) == 0 && in.byte(31) == 0 && in.byte(32) == 0,
			       "ADD_LINK that offers something");
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

bool is_forgotten(u32 rkey)
{
	return forgotten.contains(rkey);
}

bool is_told(u32 qpn, u32 rkey)
{
	const auto end = ends.find(qpn);

	return end != ends.end() && end->second.rkeys.contains(rkey);
}

u64 observed_llcs()
{
	return llcs;
}

} // namespace sim
