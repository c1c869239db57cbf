// SPDX-License-Identifier: GPL-2.0-only
//
// Memory of rings (kernel/abi/ring_memory.h), simulated: an account for the host, with two marks,
// and one for each memory cgroup, with a limit. A sock belongs to the cgroup of its host's
// programs.
#pragma once

#include <cstddef>
#include <map>

#include "kernel/abi/ring_memory.h"
#include "kernel/abi/types.h"

struct sock;

namespace sim {

class RingMemory {
public:
	static constexpr u64 kUnlimited = ~u64{0};

	// Of the host: above @pressure_bytes there are rings of the smallest size only, above
	// @limit_bytes none that do not come @anyway.
	void set_marks(u64 pressure_bytes, u64 limit_bytes);
	void set_group_limit(u64 group, u64 limit_bytes)
	{
		groups_[group].limit_bytes = limit_bytes;
	}

	// False if that is too much.
	[[nodiscard]] bool enter(u64 group, std::size_t bytes, bool anyway = false);
	void leave(u64 group, std::size_t bytes);

	// Room for one more of that size.
	[[nodiscard]] bool has_room(std::size_t bytes) const
	{
		return bytes_ + bytes <= mark_of(bytes);
	}
	[[nodiscard]] u64 pressure_bytes() const { return pressure_bytes_; }
	[[nodiscard]] bool are_many() const { return bytes_ > pressure_bytes_; }
	[[nodiscard]] u64 bytes() const { return bytes_; }
	// The maximum since set_marks().
	[[nodiscard]] u64 peak_bytes() const { return peak_bytes_; }
	[[nodiscard]] u64 bytes_of(u64 group) { return groups_[group].bytes; }

private:
	struct Group {
		u64 bytes = 0;
		u64 limit_bytes = kUnlimited;
	};

	[[nodiscard]] u64 mark_of(std::size_t bytes) const
	{
		return bytes > SMC_RING_BYTES_MIN ? pressure_bytes_ : limit_bytes_;
	}

	u64 pressure_bytes_ = kUnlimited;
	u64 limit_bytes_ = kUnlimited;
	u64 bytes_ = 0;
	u64 peak_bytes_ = 0;
	std::map<u64, Group> groups_;
};

[[nodiscard]] RingMemory &rings();

// Marks with which the closed ends' share is so much.
void share_for_closed_ends(u64 bytes);

} // namespace sim
