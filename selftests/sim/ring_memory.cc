// SPDX-License-Identifier: GPL-2.0-only
#include "ring_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/abi/mem.h"
#include "shell/transport/departed.hpp"
#include "socket.hpp"
#include "trace.hpp"

namespace sim {

RingMemory &rings()
{
	static RingMemory instance;
	return instance;
}

void share_for_closed_ends(u64 bytes)
{
	rings().set_marks(smc::transport::Departed::kShare * bytes, RingMemory::kUnlimited);
}

void RingMemory::set_marks(u64 pressure_bytes, u64 limit_bytes)
{
	pressure_bytes_ = pressure_bytes;
	limit_bytes_ = limit_bytes;
	peak_bytes_ = bytes_;
}

bool RingMemory::enter(u64 group, std::size_t bytes, bool anyway)
{
	Group &owner = groups_[group];

	if ((!has_room(bytes) && !anyway) || owner.bytes + bytes > owner.limit_bytes) {
		note("no room for a ring of %zu bytes beside %llu", bytes, bytes_);
		return false;
	}
	bytes_ += bytes;
	peak_bytes_ = std::max(peak_bytes_, bytes_);
	owner.bytes += bytes;
	return true;
}

void RingMemory::leave(u64 group, std::size_t bytes)
{
	Group &owner = groups_[group];

	if (owner.bytes < bytes || bytes_ < bytes)
		fail("more memory of rings is given back than was taken");
	owner.bytes -= bytes;
	bytes_ -= bytes;
}

namespace {

// Whose each one is.
std::map<void *, std::pair<u64, std::size_t>> lent;

} // namespace
} // namespace sim

using namespace sim;

void *smc_ring_alloc(struct sock *sk, size_t size_bytes, bool)
{
	const u64 group = smc_ring_group(sk);

	if (!rings().enter(group, size_bytes))
		return nullptr;
	void *ring = smc_mem_alloc(size_bytes);
	if (ring == nullptr) {
		rings().leave(group, size_bytes);
		return nullptr;
	}
	std::memset(ring, 0, size_bytes);
	lent[ring] = {group, size_bytes};
	return ring;
}

void smc_ring_free(void *ring, size_t size_bytes)
{
	if (ring == nullptr)
		return;
	const auto found = lent.find(ring);
	if (found == lent.end() || found->second.second != size_bytes)
		fail("%zu bytes of a ring are freed that has another size", size_bytes);
	rings().leave(found->second.first, size_bytes);
	lent.erase(found);
	smc_mem_free(ring);
}

u64 smc_ring_group(const struct sock *sk)
{
	return sk != nullptr ? sk->memory_group : 0;
}

bool smc_ring_fits(size_t size_bytes)
{
	return rings().has_room(size_bytes);
}

u64 smc_ring_pressure_bytes()
{
	return rings().pressure_bytes();
}

bool smc_rings_are_many()
{
	return rings().are_many();
}
