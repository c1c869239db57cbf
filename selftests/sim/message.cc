// SPDX-License-Identifier: GPL-2.0-only
//
// The messages of kernel/abi/sock.h, simulated.
#include "message.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/abi/sock.h"
#include "scheduler.hpp"
#include "trace.hpp"
#include "world.hpp"

using namespace sim;

namespace {

size_t whole(const msghdr *msg, size_t len)
{
	const size_t left = std::min(msg->length_bytes, msg->fault_at_bytes) - msg->done_bytes;
	return std::min(left, len);
}

} // namespace

size_t smc_msg_copy_from(msghdr *msg, void *to, size_t len)
{
	const size_t n = whole(msg, len);

	if (scheduler().current()->is_atomic())
		fail("a copy from the user in atomic context");
	scheduler().maybe_yield();
	if (msg->fetch)
		msg->fetch();
	std::memcpy(to, msg->from + msg->done_bytes, n);
	msg->done_bytes += n;
	return n;
}

size_t smc_msg_copy_to(msghdr *msg, const void *from, size_t len)
{
	const size_t n = whole(msg, len);

	if (scheduler().current()->is_atomic())
		fail("a copy to the user in atomic context");
	scheduler().maybe_yield();
	std::memcpy(msg->to + msg->done_bytes, from, n);
	msg->done_bytes += n;
	return n;
}

namespace {

// Whether all of the user's pages are there.
bool at_once(const msghdr *msg, size_t len)
{
	return !msg->fetch && whole(msg, len) == len &&
	       !scheduler().random().one_in(world().knobs.missing_page);
}

} // namespace

bool smc_msg_copy_from_at_once(msghdr *msg, void *to, size_t len)
{
	if (!at_once(msg, len))
		return false;
	std::memcpy(to, msg->from + msg->done_bytes, len);
	msg->done_bytes += len;
	return true;
}

bool smc_msg_copy_to_at_once(msghdr *msg, const void *from, size_t len)
{
	if (!at_once(msg, len))
		return false;
	std::memcpy(msg->to + msg->done_bytes, from, len);
	msg->done_bytes += len;
	return true;
}

bool smc_msg_control_is_good(struct sock *, msghdr *)
{
	return true;
}

void smc_msg_add_flags(msghdr *, u32) {}

void smc_msg_put_inq(const struct sock *, msghdr *, u32) {}

int smc_zerocopy_begin(struct sock *, const msghdr *, size_t, smc_zerocopy **)
{
	return 0;
}

void smc_zerocopy_end(smc_zerocopy *, bool) {}
