// SPDX-License-Identifier: GPL-2.0-only
#include "talk.hpp"

#include <algorithm>

#include "scheduler.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace sim {
namespace {

// The longest stall of TCP; a link's heartbeat takes longer.
constexpr u64 kToldWithin_us = 22'000'000;

bool is_orderly(Ending ending)
{
	return ending == Ending::kShutdown || ending == Ending::kFollow;
}

} // namespace

Talk::Talk(u64 id, u64 seed) : id_(id), salt_(seed * 1000003 + id)
{
	Random random(salt_);
	const u64 most = world().knobs.bytes_max;

	for (Side &side : sides_) {
		side.total_bytes = random.one_in(4) ? 0 : random.below(most + 1);
		if (random.one_in(3))
			side.ending = static_cast<Ending>(random.below(6));
	}
	if (sides_[0].ending == Ending::kFollow && sides_[1].ending == Ending::kFollow)
		sides_[0].ending = Ending::kShutdown;
}

bool Talk::orderly() const
{
	return is_orderly(sides_[0].ending) && is_orderly(sides_[1].ending);
}

// Adjacent bytes differ, so that a missing one is noticed; and no text looks like CLC.
u8 Talk::byte_at(unsigned from, u64 position) const
{
	u64 x = (position + 1) * 0x9e3779b97f4a7c15u + salt_ + from;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return static_cast<u8>((x >> 58 << 1 | (position & 1)) & 0x7f);
}

void Talk::fill(unsigned from, u64 position, u8 *bytes, size_t n) const
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(from, position + i);
}

// An urgent byte may have been left out.
u64 Talk::follow(unsigned to, u64 position, const u8 *bytes, size_t n) const
{
	const unsigned from = 1 - to;
	const Side &sender = sides_[from];

	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != byte_at(from, position) && sender.urgent.contains(position))
			position++;
		if (bytes[i] != byte_at(from, position))
			fail("tcp-%llu: side %u gets a wrong byte at %llu of %llu", id_, to,
			     position, sender.accepted_bytes);
		position++;
	}
	return position;
}

void Talk::received(unsigned to, const u8 *bytes, size_t n)
{
	Side &side = sides_[to];

	// A stream that looks like SMC and ends early is served by TCP, and loses no byte.
	if (to == 1 && !side.ours && side.received_bytes == 0 && n != 0 && bytes[0] == 0xe2 &&
	    world().knobs.any_fault())
		side.broken_off = true;
	if (side.broken_off)
		return;
	side.received_bytes = follow(to, side.received_bytes, bytes, n);
	if (side.saw_end && n != 0)
		fail("tcp-%llu: data behind the end", id_);
}

void Talk::peeked(unsigned to, const u8 *bytes, size_t n) const
{
	if (!sides_[to].ours && to == 1 && (sides_[to].broken_off || bytes[0] == 0xe2))
		return;
	(void)follow(to, sides_[to].received_bytes, bytes, n);
}

void Talk::received_urgent(unsigned to, u8 value) const
{
	for (const u64 position : sides_[1 - to].urgent) {
		if (byte_at(1 - to, position) == value)
			return;
	}
	fail("tcp-%llu: side %u gets an urgent byte that nobody sent", id_, to);
}

void Talk::end_seen(unsigned to)
{
	const Side &sender = sides_[1 - to];
	Side &side = sides_[to];
	u64 position = side.received_bytes;

	while (sender.urgent.contains(position))
		position++;
	side.saw_end = true;
	// A connect() that is broken off may be seen to end before that call returns, or have begun
	// again by TCP.
	const bool ends = sender.ended || (world().knobs.signal != 0 && sender.accepted_bytes == 0);
	side.true_end = ends && position == sender.accepted_bytes;
	if (!side.true_end)
		note("tcp-%llu: side %u sees an end at %llu of %llu bytes", id_, to, position,
		     sender.accepted_bytes);
}

void Talk::failed(unsigned index, const char *call, int error)
{
	Side &side = sides_[index];

	note("tcp-%llu: side %u: %s fails, errno %d", id_, index, call, -error);
	if (side.error == 0)
		side.error = error;
	// Where everybody behaves and nothing breaks, no call fails.
	if (orderly() && !world().knobs.any_fault())
		fail("tcp-%llu: side %u: %s fails for no reason, errno %d", id_, index, call,
		     -error);
}

void Talk::came_back(unsigned index, const char *call, u64 began_us) const
{
	const Side &side = sides_[index];
	const Side &peer = sides_[1 - index];

	if (!side.ours || !peer.ours || peer.gave_up_us == 0)
		return;
	const u64 waited_us = scheduler().now_us() - std::max(began_us, peer.gave_up_us);
	if (waited_us > kToldWithin_us)
		fail("tcp-%llu: side %u is in %s for %llu us after the other one gave up", id_,
		     index, call, waited_us);
}

void Talk::check() const
{
	for (unsigned to = 0; to < 2; to++) {
		if (sides_[to].saw_end && !sides_[to].true_end && sides_[to].error == 0 &&
		    !sides_[to].broken_off)
			fail("tcp-%llu: side %u saw a clean end where there was none", id_, to);
	}
	if (!orderly() || world().knobs.any_fault())
		return;
	for (unsigned to = 0; to < 2; to++) {
		const Side &side = sides_[to];

		if (!side.saw_end)
			fail("tcp-%llu: side %u has not seen the end", id_, to);
		if (sides_[1 - to].accepted_bytes != sides_[1 - to].total_bytes)
			fail("tcp-%llu: side %u has not written all", id_, 1 - to);
		if (!side.ours && !talks().is_refused(id_))
			fail("tcp-%llu: side %u fell back for no reason", id_, to);
	}
}

Talks &talks()
{
	static Talks instance;
	return instance;
}

Talk &Talks::of(u64 id)
{
	return talks_.try_emplace(id, id, world().knobs.bytes_max + id).first->second;
}

void Talks::check() const
{
	for (const auto &[id, talk] : talks_)
		talk.check();
}

u64 Talks::bytes() const
{
	u64 sum = 0;

	for (const auto &[id, talk] : talks_) {
		Talk copy = talk;
		sum += copy.side(0).received_bytes + copy.side(1).received_bytes;
	}
	return sum;
}

} // namespace sim
