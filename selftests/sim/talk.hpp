// SPDX-License-Identifier: GPL-2.0-only
//
// Talk: the plan of two processes on one connection, and the verdict: each byte exactly once and in
// order, an end that is seen, no orderly end with bytes missing.
#pragma once

#include <map>
#include <set>

#include "kernel/abi/types.h"
#include "random.hpp"

namespace sim {

// How a process ends its side.
enum class Ending : u8 {
	kShutdown, // all is written, shutdown, all is read, close
	kFollow,   // all is written, all is read, close; the other side is one that shuts down
	kHasty,    // closes when all is written
	kReset,    // SO_LINGER 0
	kKilled,   // at any point
	kBoth,     // shutdown of both directions, close
};

struct Side {
	Ending ending = Ending::kShutdown;
	u64 total_bytes = 0;    // it will write
	u64 accepted_bytes = 0; // send() has taken
	u64 received_bytes = 0; // position in the peer's stream
	std::set<u64> urgent;   // positions of urgent bytes that it has sent
	bool ended = false;     // has shut down, or closed, without being asked to reset
	bool shut = false;      // both directions, before it had anything to say
	bool closed = false;
	bool saw_end = false;
	bool true_end = false; // it saw the end of everything that the other side sent
	bool ours = false;     // went by SMC
	bool arrived = false;
	bool broken_off = false; // it got the beginning of a Proposal as data, and then TCP died
	int error = 0;           // first one that a call returned
	u64 gave_up_us = 0;      // when it closed a connection that was reset
};

class Talk {
public:
	Talk(u64 id, u64 seed);

	[[nodiscard]] u64 id() const { return id_; }
	[[nodiscard]] Side &side(unsigned index) { return sides_[index]; }
	[[nodiscard]] bool orderly() const;

	// What side @from writes at this position.
	[[nodiscard]] u8 byte_at(unsigned from, u64 position) const;
	void fill(unsigned from, u64 position, u8 *bytes, size_t n) const;

	// ---- Verdicts ---------------------------------------------------------------------------

	// Side @to has received these bytes.
	void received(unsigned to, const u8 *bytes, size_t n);
	// MSG_PEEK has shown it the same bytes again.
	void peeked(unsigned to, const u8 *bytes, size_t n) const;
	void received_urgent(unsigned to, u8 value) const;
	// recv() returned 0: a true end, or one behind an error that another thread got.
	void end_seen(unsigned to);
	void failed(unsigned index, const char *call, int error);
	// A call of side @index, begun at that time, has returned.
	void came_back(unsigned index, const char *call, u64 began_us) const;
	// Both processes have ended.
	void check() const;

private:
	// Position behind @n bytes from @position on, if they are the right ones.
	[[nodiscard]] u64 follow(unsigned to, u64 position, const u8 *bytes, size_t n) const;

	u64 id_;
	u64 salt_;
	Side sides_[2];
};

class Talks {
public:
	[[nodiscard]] Talk &of(u64 id);
	// One that has begun, and in which a side breaks off.
	[[nodiscard]] bool is_disorderly(u64 id) const
	{
		const auto found = talks_.find(id);
		return found != talks_.end() && !found->second.orderly();
	}
	// No SMC for this one: the server has more clients than its backlog, or has aborted the
	// client's first connection.
	void refuse(u64 id) { refused_.insert(id); }
	[[nodiscard]] bool is_refused(u64 id) const { return refused_.contains(id); }
	void check() const;
	[[nodiscard]] size_t count() const { return talks_.size(); }
	[[nodiscard]] u64 bytes() const;

private:
	std::map<u64, Talk> talks_;
	std::set<u64> refused_;
};

[[nodiscard]] Talks &talks();

} // namespace sim
