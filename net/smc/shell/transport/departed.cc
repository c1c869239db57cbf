// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/departed.hpp"

#include <algorithm>

#include "kernel/abi/ring_memory.h"
#include "shell/base/alloc.hpp"

namespace smc::transport {

namespace {

Departed *instance;

u64 share_bytes()
{
	return smc_ring_pressure_bytes() / Departed::kShare;
}

} // namespace

void Departed::hold(u32 bytes)
{
	shell::Guard guard(lock_);
	bytes_ += bytes;
}

void Departed::let_go(u32 bytes)
{
	shell::Guard guard(lock_);
	bytes_ -= bytes;
}

bool Departed::hold_too_much()
{
	shell::Guard guard(lock_);
	return bytes_ > share_bytes();
}

void Departed::note_resting(Departing &end)
{
	shell::Guard guard(lock_);

	if (!resting_.linked(end))
		resting_.push_back(end);
}

void Departed::forget(Departing &end)
{
	shell::Guard guard(lock_);
	resting_.remove(end);
}

shell::Ref<Departing> Departed::take_oldest(u64 max_bytes)
{
	shell::Guard guard(lock_);
	return bytes_ > max_bytes ? shell::Ref<Departing>::share(resting_.pop_front())
				  : shell::Ref<Departing>();
}

void Departed::shrink_to(u64 max_bytes)
{
	while (const auto oldest = take_oldest(max_bytes))
		oldest->leave();
}

void Departed::make_room()
{
	shrink_to(share_bytes());
}

void Departed::make_room_for(u32 bytes)
{
	u64 held_bytes;

	if (smc_ring_fits(bytes))
		return;
	{
		shell::Guard guard(lock_);
		held_bytes = bytes_;
	}
	shrink_to(held_bytes - std::min(held_bytes, kAhead * bytes));
}

Departed &departed()
{
	return *instance;
}

bool set_up_departed()
{
	return shell::make_single(instance);
}

void tear_down_departed()
{
	shell::free_single(instance);
}

} // namespace smc::transport
