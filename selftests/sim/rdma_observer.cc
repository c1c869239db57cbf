// SPDX-License-Identifier: GPL-2.0-only
//
// A second decoder of CDC, of its compact form, and of LLC (RFC 7609 section 4 and appendix A.2,
// A.3), which shares nothing with core/. It keeps its own accounts for each direction of each
// connection.
#include "rdma_observer.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "bytes.hpp"
#include "llc_observer.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u8 kCdc = 0xfe;
constexpr std::size_t kMessage = 44;
constexpr u8 kBlocked = 0x80;
constexpr u8 kUrgentPending = 0x40;
constexpr u8 kUrgentPresent = 0x20;
constexpr u8 kValidation = 0x08;
constexpr u8 kClosed = 0x40;
constexpr u8 kAborted = 0x20;
constexpr u8 kAnyClose = kClosed | kAborted;

// How many messages have been taken in: between the links alone.
bool is_credit(const std::string &message)
{
	return world().knobs.iwarp && message.size() == kMessage &&
	       static_cast<u8>(message[0]) == 0x7c;
}

// Positions in bytes that never wrap.
struct Direction {
	u16 sequence = 0;
	u64 produced = 0;         // by messages sent
	u64 consumed_said = 0;    // confirmed by this sender, of the other direction
	u64 produced_arrived = 0; // by messages that the device at the other end has
	u64 produced_heard = 0;   // by messages that have reached the other end
	u64 consumed_heard = 0;   // of our bytes, by messages that have reached us
	u8 flags = 0;             // state flags sent
	u8 flags_heard = 0;       // those of messages that have reached the other end
	u32 qpn = 0;              // the sender's queue pair
	u8 ring = 0;              // of the receiver, that is written
	u64 shift = 0;            // a position's place in that ring, less the position
	u8 ring_heard = 0;        // as the receiver knows
	bool has_spoken = false;  // by any message: a validation has no number of its own
	bool repeating = false;   // failover: what may not have arrived is sent once more
	u64 repeated = 0;         // up to here
};

struct Connection {
	u64 id = 0;
	std::array<Announced, 2> rmb; // [0]: the client's, which the server writes
	std::array<RmbNumber, 2> rmb_number{};
	std::array<std::optional<Announced>, 2> offer; // the next one
	std::array<bool, 2> offer_heard{};
	std::array<std::pair<RmbNumber, u32>, 2> left; // the one before, until that is heard
	std::array<Direction, 2> from;                 // [0]: what the client sends
};

// Of an RMB.
using Element = std::pair<RmbNumber, u32>;

struct Promise {
	u64 connection = 0;
	u32 rkey = 0;
	u32 qpn = 0;
};

struct Cdc {
	u16 sequence;
	u32 token;
	u64 producer_wrap, producer_count;
	u64 consumer_wrap, consumer_count;
	u8 producer_flags, state_flags;
	u8 ring;
	bool offers;
	Announced offer; // without a token
};

// Whose RMB it is.
struct User {
	u64 connection = 0;
	unsigned side = 0;
};

std::map<u64, Connection> connections;
// The connection whose messages reach that end of a group with a token.
std::map<std::pair<u64, u32>, std::pair<u64, unsigned>> by_token;
// The same by the slot alone: the newest one.
std::map<std::pair<u64, u32>, std::pair<u64, unsigned>> by_slot;
std::set<u64> compact_sides;
std::set<u64> growing_sides;
std::map<Element, User> rmb_users;
std::map<Element, Promise> promised; // who has no answer yet
u64 cdcs, compacts, writes, moves, rings_left;

Cdc read_cdc(const smc_ib_link &link, const std::string &message)
{
	const Reader in(message);

	if (message.size() != kMessage || in.byte(1) != kMessage)
		fail("qp %u: a CDC of %zu bytes", link.qpn, message.size());
	const bool may_grow = growing_sides.contains(side_of(link.qpn));
	const bool offers = may_grow && (in.byte(27) & 0x80) != 0;
	if (!in.is_zero(8, 2) || !in.is_zero(16, 2) || (!may_grow && in.byte(26) != 0) ||
	    !(offers ? in.is_zero(29, 3) && (in.byte(27) & 0x70) == 0 && in.byte(28) != 0
		     : in.is_zero(27, 17)))
		fail("qp %u: a CDC with reserved bytes set", link.qpn);
	if ((in.byte(24) & 0x07) != 0 || (in.byte(25) & 0x1f) != 0)
		fail("qp %u: a CDC with unknown flags", link.qpn);
	return {static_cast<u16>(in.number(2, 2)),
		static_cast<u32>(in.number(4, 4)),
		in.number(10, 2),
		in.number(12, 4),
		in.number(18, 2),
		in.number(20, 4),
		in.byte(24),
		in.byte(25),
		in.byte(26),
		offers,
		{.qpn = link.qpn,
		 .rkey = static_cast<u32>(in.number(32, 4)),
		 .address = in.number(36, 8),
		 .element = in.byte(28) - 1U,
		 .size_bytes = 16384U << (in.byte(27) & 0x0f)}};
}

// The position of a cursor in the ring that @written has written, the first one from @base on.
u64 position(u64 wrap, u64 count, u64 size, const Direction &written, u64 base, const char *which,
	     u32 qpn)
{
	if (count >= size)
		fail("qp %u: %s cursor outside of the ring", qpn, which);
	const u64 from = base + written.shift;
	const u64 lap = from / size;
	const u64 laps = (wrap - lap) & 0xffff;
	const u64 at = (lap + laps) * size + count;

	return (at < from ? at + 0x10000 * size : at) - written.shift;
}

// Where the ring that @to receives in lies for writes on that link.
RmbKey key_for(const smc_ib_link &link, const Connection &connection, unsigned to)
{
	const auto key = rmb_on(connection.rmb_number[to], link.path.peer_qpn);
	const Announced &rmb = connection.rmb[to];

	if (!key)
		fail("qp %u: tcp-%llu has no RMB on this link", link.qpn, connection.id);
	return {key->rkey, key->address + u64{rmb.size_bytes} * rmb.element};
}

// Where the bytes begin that are sent once more. None may be missing between those that the peer
// has and what comes now.
u64 repeated_from(const smc_ib_link &link, const Post &post, const RmbKey &key, u64 size,
		  const Direction &from)
{
	if (post.writes.empty())
		return from.produced;
	const u64 offset = post.writes.front().remote_address - key.address;
	if (offset >= size)
		fail("qp %u: a write outside of the RMB", link.qpn);
	const u64 behind = ((from.produced + from.shift) % size + size - offset) % size;
	const u64 at = from.produced - (behind != 0 ? behind : size);

	if (at > std::max(from.produced_arrived, from.repeated))
		fail("qp %u: bytes from %llu to %llu are sent again, %llu have arrived", link.qpn,
		     at, from.produced, from.produced_arrived);
	return at;
}

// Whoever has ended gives the RMB to the next one, and its peer must not write there any more.
void check_user(const smc_ib_link &link, const Connection &connection, unsigned to)
{
	const auto user = rmb_users.find({connection.rmb_number[to], connection.rmb[to].element});

	if (user != rmb_users.end() && user->second.connection != connection.id)
		fail("qp %u: tcp-%llu writes into the RMB that tcp-%llu has now", link.qpn,
		     connection.id, user->second.connection);
}

void check_writes(const smc_ib_link &link, const Post &post, const Connection &connection,
		  unsigned to, Direction &from)
{
	if (!post.writes.empty())
		check_user(link, connection, to);
	const u64 size = connection.rmb[to].size_bytes;
	const RmbKey key = post.writes.empty() ? RmbKey{} : key_for(link, connection, to);
	u64 at = from.repeating ? repeated_from(link, post, key, size, from) : from.produced;
	const auto offset = [&] { return (at + from.shift) % size; };

	for (const Write &write : post.writes) {
		if (write.length_bytes == 0)
			fail("qp %u: an empty write", link.qpn);
		if (is_forgotten(write.remote_key))
			fail("qp %u: a write with rkey %x behind the answer to its DELETE_RKEY",
			     link.qpn, write.remote_key);
		if (write.remote_key != key.rkey || write.remote_address != key.address + offset())
			fail("qp %u: a write to %llx of rkey %x, where the ring goes on at %llx of "
			     "%x",
			     link.qpn, write.remote_address, write.remote_key,
			     key.address + offset(), key.rkey);
		if (offset() + write.length_bytes > size)
			fail("qp %u: a write over the end of the RMB", link.qpn);
		at += write.length_bytes;
		writes++;
	}
	// What is sent again may have been read already.
	if (at > from.consumed_heard + size)
		fail("qp %u: a write over bytes that were not read: up to %llu, %llu were read, "
		     "%llu "
		     "written",
		     link.qpn, at, from.consumed_heard, from.produced);
	if (at > from.produced && from.flags != 0)
		fail("qp %u: data behind the end", link.qpn);
	if (from.repeating && at > from.produced)
		fail("qp %u: new bytes among those that are sent again", link.qpn);
	if (!from.repeating)
		from.produced = at;
}

// The first message on another link. The old queue pair must have stopped at this end: it would
// repeat packets out of buffers that are filled anew, or take in bytes behind the cursor that goes
// out now.
void check_move(const smc_ib_link &link, const Cdc &cdc, Direction &from)
{
	const smc_ib_link *before = fabric().link(from.qpn);

	if (before != nullptr && !before->broken)
		fail("qp %u: a connection moves here while qp %u still works", link.qpn, from.qpn);
	// One that has not spoken was still in its handshake: its first message tells as much.
	if ((cdc.producer_flags & kValidation) == 0 && from.sequence != 0)
		fail("qp %u: a connection moves here without a validation", link.qpn);
	from.qpn = link.qpn;
	moves++;
}

void check_validation(const smc_ib_link &link, const Post &post, const Cdc &cdc, Direction &from)
{
	if (!post.writes.empty() || cdc.producer_flags != kValidation || cdc.state_flags != 0 ||
	    cdc.producer_wrap != 0 || cdc.producer_count != 0 || cdc.consumer_wrap != 0 ||
	    cdc.consumer_count != 0)
		fail("qp %u: a validation that says more", link.qpn);
	if (static_cast<std::int16_t>(from.sequence - cdc.sequence) < 0)
		fail("qp %u: a validation of message %u, %u was the last one", link.qpn,
		     cdc.sequence, from.sequence);
	from.repeating = true;
	from.repeated = 0;
	note("qp %u: validation of message %u of token %08x, %u were sent, %llu bytes, %llu have "
	     "arrived",
	     link.qpn, cdc.sequence, cdc.token, from.sequence, from.produced,
	     from.produced_arrived);
}

// The flags of a message that may follow on what both ends have sent.
void check_flags(const smc_ib_link &link, const Cdc &cdc, const Direction &from,
		 const Direction &back, bool producer_moved)
{
	if ((cdc.producer_flags & kUrgentPresent) != 0 &&
	    ((cdc.producer_flags & kUrgentPending) == 0 || !producer_moved))
		fail("qp %u: an urgent byte out of nowhere", link.qpn);
	if ((cdc.producer_flags & kBlocked) != 0 && cdc.state_flags != 0)
		fail("qp %u: more data is promised behind the end", link.qpn);
	// Before the end comes what stood before it.
	if (from.repeating)
		return;
	if ((from.flags & kAnyClose) != 0 && (back.flags_heard & kAnyClose) != 0)
		fail("qp %u: a CDC behind the end of both directions", link.qpn);
	if ((from.flags & ~cdc.state_flags) != 0)
		fail("qp %u: state flag %02x taken back", link.qpn, from.flags & ~cdc.state_flags);
	if ((from.flags & kAborted) != 0)
		fail("qp %u: a CDC behind an abort", link.qpn);
}

void note_sender(Post &post, const Connection &connection, unsigned side, u64 produced)
{
	post.said = {connection.id, side, produced, connection.from[side].consumed_said};
}

// An RMB may be given to another connection only if the one that had it has ended on the wire.
void check_reuse(const Announced &rmb, RmbNumber number)
{
	const auto user = rmb_users.find({number, rmb.element});

	if (user == rmb_users.end())
		return;
	const auto [id, owner] = user->second;
	const Connection &before = connections[id];
	if ((before.from[1 - owner].flags_heard & kAnyClose) == 0)
		fail("rkey %x of tcp-%llu is given to another connection although its peer has not "
		     "closed",
		     rmb.rkey, id);
	if ((before.from[owner].flags & kAnyClose) == 0)
		fail("rkey %x of tcp-%llu is given to another connection although its owner has "
		     "not closed",
		     rmb.rkey, id);
}

// Bytes that others have received in it must not be read there, whatever the peer announces.
void check_empty(const Announced &rmb)
{
	const smc_ib_region *region = fabric().by_remote_key(rmb.rkey);
	const auto is_empty = [&rmb](const std::vector<u8> &bytes) {
		const std::size_t from = std::size_t{rmb.size_bytes} * rmb.element;
		const std::size_t to = std::min(bytes.size(), from + rmb.size_bytes);

		return std::all_of(bytes.data() + std::min(from, to), bytes.data() + to,
				   [](u8 byte) { return byte == 0; });
	};

	if (region == nullptr)
		return;
	if (!is_empty(region->buffer->bytes))
		fail("rkey %x is told with old bytes in it", rmb.rkey);
	if (!is_empty(region->bounce))
		fail("rkey %x is told, and its device still has old bytes", rmb.rkey);
}

// @side has a larger ring. Each message says so until the other side writes there.
void check_offer(const smc_ib_link &link, Connection &connection, unsigned side,
		 const Announced &offer)
{
	const auto number = rmb_of(offer.rkey);
	const Direction &writer = connection.from[1 - side];

	// It has not heard yet, or not taken in, that it is used.
	if (writer.ring != 0 && number == connection.rmb_number[side] &&
	    offer.element == connection.rmb[side].element)
		return;
	if (writer.ring != writer.ring_heard)
		fail("qp %u: another ring is offered before that one is used", link.qpn);
	if (!number || !rmb_on(*number, link.qpn))
		fail("qp %u: rkey %x is offered, which the peer does not know", link.qpn,
		     offer.rkey);
	if (const auto &before = connection.offer[side]) {
		if (rmb_of(before->rkey) != number || before->element != offer.element ||
		    before->size_bytes != offer.size_bytes)
			fail("qp %u: another ring is offered before that one is used", link.qpn);
		return;
	}
	if (offer.size_bytes <= connection.rmb[side].size_bytes)
		fail("qp %u: a ring of %u bytes is offered in place of one of %u", link.qpn,
		     offer.size_bytes, connection.rmb[side].size_bytes);
	check_reuse(offer, *number);
	check_empty(offer);
	rmb_users[{*number, offer.element}] = {connection.id, side};
	connection.offer[side] = offer;
	connection.offer_heard[side] = false;
}

// From here on the other ring of @to is written, at the same cursors.
void change_ring(const smc_ib_link &link, Connection &connection, unsigned to, u8 ring)
{
	Direction &from = connection.from[1 - to];
	Announced &rmb = connection.rmb[to];
	const auto offer = connection.offer[to];

	if (ring != static_cast<u8>(from.ring + 1) || !offer || !connection.offer_heard[to])
		fail("qp %u: ring %u is written behind ring %u", link.qpn, ring, from.ring);
	if (from.consumed_heard != from.produced)
		fail("qp %u: ring %u is left with %llu of %llu bytes read", link.qpn, from.ring,
		     from.consumed_heard, from.produced);
	const u64 at = from.produced + from.shift;
	from.shift = at / rmb.size_bytes * offer->size_bytes + at % rmb.size_bytes - from.produced;
	from.ring = ring;
	connection.left[to] = {connection.rmb_number[to], rmb.element};
	connection.rmb_number[to] = *rmb_of(offer->rkey);
	rmb.rkey = offer->rkey;
	rmb.address = offer->address;
	rmb.element = offer->element;
	rmb.size_bytes = offer->size_bytes;
	connection.offer[to].reset();
	rings_left++;
}

void check_cdc(const smc_ib_link &link, Post &post)
{
	const Cdc cdc = read_cdc(link, post.message);
	const auto found = by_token.find({side_of(link.path.peer_qpn), cdc.token});

	cdcs++;
	if (found == by_token.end())
		fail("qp %u: a CDC for token %08x, which nobody has", link.qpn, cdc.token);
	Connection &connection = connections[found->second.first];
	const unsigned to = found->second.second;
	Direction &from = connection.from[1 - to];
	Direction &back = connection.from[to];

	if (side_of(connection.rmb[1 - to].qpn) != side_of(link.qpn))
		fail("qp %u: a CDC on a link that is not the connection's", link.qpn);
	if (!is_confirmed(link.qpn))
		fail("qp %u: a CDC before the link is confirmed", link.qpn);
	if (from.qpn != link.qpn)
		check_move(link, cdc, from);
	from.has_spoken = true;
	if ((cdc.producer_flags & kValidation) != 0)
		return check_validation(link, post, cdc, from);
	if (cdc.sequence != static_cast<u16>(from.sequence + 1))
		fail("qp %u: sequence %u behind %u", link.qpn, cdc.sequence, from.sequence);
	const u64 before = from.produced;
	from.sequence = cdc.sequence;
	if (cdc.ring != from.ring)
		change_ring(link, connection, to, cdc.ring);
	const u64 size = connection.rmb[to].size_bytes;
	if (cdc.offers)
		check_offer(link, connection, 1 - to, cdc.offer);
	else if (connection.offer[1 - to])
		fail("qp %u: the offer of a ring is taken back", link.qpn);
	check_writes(link, post, connection, to, from);
	// What is sent again may end before what the peer has heard of.
	const u64 least =
		from.repeating ? from.produced - std::min(from.produced, size) : from.produced;
	const u64 produced = position(cdc.producer_wrap, cdc.producer_count, size, from, least,
				      "producer", link.qpn);
	check_flags(link, cdc, from, back, produced != 0);
	if (from.repeating ? produced > from.produced : produced != from.produced)
		fail("qp %u: producer cursor at %llu, %llu were written", link.qpn, produced,
		     from.produced);
	const u64 consumed =
		position(cdc.consumer_wrap, cdc.consumer_count, connection.rmb[1 - to].size_bytes,
			 back, from.consumed_said, "consumer", link.qpn);
	if (consumed > back.produced_heard)
		fail("qp %u: consumer cursor at %llu, %llu have come", link.qpn, consumed,
		     back.produced_heard);
	from.consumed_said = consumed;
	from.repeated = produced;
	if (from.repeating && produced == before)
		from.repeating = false;
	if (!from.repeating)
		from.flags = cdc.state_flags;
	mix(cdc.sequence * 0x10001u ^ produced ^ consumed << 20);
	note_sender(post, connection, 1 - to, produced);
}

void check_compact(const smc_ib_link &link, Post &post)
{
	const u32 immediate = *post.immediate;
	const auto found = by_slot.find({side_of(link.path.peer_qpn), immediate >> 24});

	compacts++;
	if (!compact_sides.contains(side_of(link.qpn)))
		fail("qp %u: a compact message that was not agreed on", link.qpn);
	if (found == by_slot.end())
		fail("qp %u: a compact message for slot %u, which nobody has", link.qpn,
		     immediate >> 24);
	Connection &connection = connections[found->second.first];
	const unsigned to = found->second.second;
	Direction &from = connection.from[1 - to];
	const Direction &back = connection.from[to];

	if (from.qpn != link.qpn || from.repeating)
		fail("qp %u: a compact message on a link that is not the connection's", link.qpn);
	if (from.flags != 0)
		fail("qp %u: a compact message takes back state flags", link.qpn);
	if (!back.has_spoken)
		fail("qp %u: a compact message to a peer that has not spoken", link.qpn);
	from.has_spoken = true;
	from.sequence++;
	const bool wraps = post.writes.size() == 2 &&
			   post.writes[1].remote_address == key_for(link, connection, to).address;
	if (((immediate >> 23 & 1) != 0) != wraps || (post.writes.size() == 2 && !wraps) ||
	    post.writes.size() > 2)
		fail("qp %u: a compact message %08x for %zu writes", link.qpn, immediate,
		     post.writes.size());
	check_writes(link, post, connection, to, from);
	from.consumed_said += immediate & 0x3fffff;
	if (from.consumed_said > back.produced_heard)
		fail("qp %u: %llu bytes consumed, %llu have come", link.qpn, from.consumed_said,
		     back.produced_heard);
	mix(immediate ^ from.produced);
	note_sender(post, connection, 1 - to, from.produced);
}

// What the message says has come. By another link later messages may be heard of before.
void hear(const Said &said, u8 flags)
{
	Direction &from = connections[said.connection].from[said.side];
	Direction &back = connections[said.connection].from[1 - said.side];

	from.produced_heard = std::max(from.produced_heard, said.produced);
	back.consumed_heard = std::max(back.consumed_heard, said.consumed);
	from.flags_heard |= flags;
}

void hear_rings(Connection &connection, unsigned side, const Cdc &cdc)
{
	Direction &from = connection.from[side];

	if (cdc.offers)
		connection.offer_heard[side] = true;
	if (from.ring_heard == cdc.ring)
		return;
	from.ring_heard = cdc.ring;
	rmb_users.erase(connection.left[1 - side]);
}

void hear_cdc(const smc_ib_link &link, const std::string &message, const Said &said)
{
	const Cdc cdc = read_cdc(link, message);
	const auto found = by_token.find({side_of(link.qpn), cdc.token});

	// A validation says only which messages there were.
	if (found == by_token.end() || (cdc.producer_flags & kValidation) != 0)
		return;
	Connection &connection = connections[found->second.first];
	const unsigned to = found->second.second;
	if (said.connection != 0) {
		hear(said, cdc.state_flags);
		return hear_rings(connection, 1 - to, cdc);
	}
	const Direction &from = connection.from[1 - to];
	const Direction &back = connection.from[to];
	const auto heard = [&](u64 wrap, u64 count, u64 size, const Direction &written, u64 least,
			       const char *which) {
		return position(wrap, count, size, written, least - std::min(least, size), which,
				link.qpn);
	};

	hear({.connection = connection.id,
	      .side = 1 - to,
	      .produced =
		      heard(cdc.producer_wrap, cdc.producer_count, connection.rmb[to].size_bytes,
			    from, from.produced_heard, "producer"),
	      .consumed = heard(cdc.consumer_wrap, cdc.consumer_count,
				connection.rmb[1 - to].size_bytes, back, back.consumed_heard,
				"consumer")},
	     cdc.state_flags);
}

} // namespace

void observe_connection(u64 id, u8 version, bool first_contact, u16 capabilities, u8 max_links,
			const Announced &server, const Announced &client)
{
	Connection connection;

	observe_pair(server.qpn, client.qpn, version, first_contact, max_links);
	if ((capabilities & kCompactMessages) != 0)
		compact_sides.insert({side_of(server.qpn), side_of(client.qpn)});
	if ((capabilities & kGrowingRings) != 0)
		growing_sides.insert({side_of(server.qpn), side_of(client.qpn)});

	connection.id = id;
	connection.rmb = {client, server};
	for (unsigned side = 0; side < 2; side++) {
		const Announced &rmb = connection.rmb[side];
		const RmbNumber number = tell_rmb(rmb.qpn, {rmb.rkey, rmb.address});
		const u64 end = side_of(rmb.qpn);

		connection.rmb_number[side] = number;
		connection.from[side].qpn = rmb.qpn;
		check_reuse(rmb, number);
		check_empty(rmb);
		rmb_users[{number, rmb.element}] = {id, side};
		// Random: with thousands of tokens, one that is free comes again.
		const auto user = by_token.find({end, rmb.token});
		if (user != by_token.end() &&
		    (connections[user->second.first].from[user->second.second].flags & kAnyClose) ==
			    0)
			fail("token %08x is given twice", rmb.token);
		by_token[{end, rmb.token}] = {id, side};
		by_slot[{end, rmb.token & 0xff}] = {id, side};
	}
	connections[id] = connection;
	note("tcp-%llu: connection of qp %u token %08x with qp %u token %08x", id, client.qpn,
	     client.token, server.qpn, server.token);
}

void observe_accept(u64 connection, const Announced &server)
{
	const RmbNumber rmb = tell_rmb(server.qpn, {server.rkey, server.address});

	promised[{rmb, server.element}] = {connection, server.rkey, server.qpn};
}

bool has_been_used(u32 rkey)
{
	const auto rmb = rmb_of(rkey);

	const auto first = rmb ? rmb_users.lower_bound({*rmb, 0}) : rmb_users.end();

	return first != rmb_users.end() && first->first.first == *rmb;
}

void observe_answer(u64 connection)
{
	std::erase_if(promised,
		      [&](const auto &entry) { return entry.second.connection == connection; });
}

void observe_rmb_going(u32 rkey)
{
	const auto rmb = rmb_of(rkey);
	const auto found = rmb ? promised.lower_bound({*rmb, 0}) : promised.end();

	if (found != promised.end() && found->first.first == *rmb)
		fail("tcp-%llu: rkey %x goes, and its client may be writing there",
		     found->second.connection, rkey);
}

void observe_post(const smc_ib_link &link, Post &post)
{
	if (post.immediate)
		return check_compact(link, post);
	if (static_cast<u8>(post.message[0]) == kCdc)
		return check_cdc(link, post);
	if (!post.writes.empty())
		fail("qp %u: writes with an LLC message", link.qpn);
	if (is_credit(post.message))
		return;
	observe_llc(link, post.message);
}

void observe_arrived(const Post &post)
{
	if (post.said.connection == 0)
		return;
	Direction &from = connections[post.said.connection].from[post.said.side];

	from.produced_arrived = std::max(from.produced_arrived, post.said.produced);
}

void observe_written(const smc_ib_link &link, u32 immediate, const Said &said)
{
	const auto found = by_slot.find({side_of(link.qpn), immediate >> 24});

	if (said.connection == 0)
		return; // forged
	if (found == by_slot.end() || found->second.first != said.connection)
		fail("qp %u: a compact message of tcp-%llu finds another connection in its slot",
		     link.qpn, said.connection);
	hear(said, 0);
}

void observe_received(const smc_ib_link &link, const std::string &message, const Said &said)
{
	if (static_cast<u8>(message[0]) == kCdc)
		hear_cdc(link, message, said);
	else if (!is_credit(message))
		observe_llc_received(link, message);
}

void observe_link_created(const smc_ib_link &link)
{
	note("qp %u: created", link.qpn);
}

void observe_link_broken(const smc_ib_link &link)
{
	// What was announced on it is void, and with the group's last link everything.
	std::erase_if(promised, [&](const auto &entry) { return entry.second.qpn == link.qpn; });
	if (has_live_sibling(link.qpn))
		return;
	std::erase_if(rmb_users, [&](const auto &entry) {
		const Connection &connection = connections[entry.second.connection];
		const u64 side = side_of(link.qpn);

		return side != 0 && (side_of(connection.rmb[0].qpn) == side ||
				     side_of(connection.rmb[1].qpn) == side);
	});
}

std::string observed_counts()
{
	return std::to_string(connections.size()) + " connections by SMC, " + std::to_string(cdcs) +
	       " CDC, " + std::to_string(compacts) + " compact, " + std::to_string(writes) +
	       " writes, " + std::to_string(observed_llcs()) + " LLC, " +
	       std::to_string(observed_links()) + " more links, " + std::to_string(moves) +
	       " moves, " + std::to_string(rings_left) + " rings left";
}

} // namespace sim
