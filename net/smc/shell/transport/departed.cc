// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/departed.hpp"

#include "shell/base/alloc.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::transport {

namespace {

Departed *instance;

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

bool Departed::hold_more_than(u64 max_bytes)
{
	shell::Guard guard(lock_);
	return bytes_ > max_bytes;
}

void Departed::note_resting(Endpoint &end)
{
	const shell::ListNode<RestingTag> &node = end;
	shell::Guard guard(lock_);

	if (!node.linked())
		resting_.push_back(end);
}

void Departed::forget(Endpoint &end)
{
	shell::Guard guard(lock_);
	resting_.remove(end);
}

shell::Ref<Endpoint> Departed::take_oldest(u64 max_bytes)
{
	shell::Guard guard(lock_);
	return bytes_ > max_bytes ? shell::Ref<Endpoint>::share(resting_.pop_front())
				  : shell::Ref<Endpoint>();
}

void Departed::make_room(u64 max_bytes)
{
	while (const auto oldest = take_oldest(max_bytes))
		oldest->leave();
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
