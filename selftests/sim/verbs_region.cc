// SPDX-License-Identifier: GPL-2.0-only
//
// Buffers and memory regions.
#include <algorithm>
#include <cerrno>

#include "kernel/abi/ring_memory.h"
#include "llc_observer.hpp"
#include "rdma_observer.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {

smc_ib_region *Fabric::by_remote_key(u32 key) const
{
	const auto found = remote.find(key);
	return found == remote.end() ? nullptr : found->second;
}

smc_ib_region *Fabric::by_local_key(u32 key) const
{
	const auto found = regions.find(key);
	return found == regions.end() ? nullptr : found->second;
}

} // namespace sim

using namespace sim;

int smc_ib_buffer_create(struct sock *sk, smc_ib_buffer_kind kind, size_t size_bytes, bool,
			 smc_ib_buffer **out)
{
	if (scheduler().current()->is_atomic())
		fail("a buffer is made in atomic context");
	scheduler().maybe_yield();
	if (world().lacks(world().knobs.no_memory))
		return -ENOMEM;
	const bool anyway = kind == SMC_IB_BUFFER_SEND && size_bytes == SMC_RING_BYTES_MIN;
	if (!rings().enter(smc_ring_group(sk), size_bytes, anyway))
		return -ENOMEM;
	fabric().buffers++;
	*out = new smc_ib_buffer{kind, std::vector<u8>(size_bytes), 0, smc_ring_group(sk)};
	return 0;
}

void smc_ib_buffer_destroy(smc_ib_buffer *buffer)
{
	if (buffer->regions != 0)
		fail("a buffer is freed that is still mapped");
	rings().leave(buffer->memory_group, buffer->bytes.size());
	fabric().buffers--;
	delete buffer;
}

void *smc_ib_buffer_data(const smc_ib_buffer *buffer)
{
	return const_cast<u8 *>(buffer->bytes.data());
}

int smc_ib_region_create(smc_ib_link *link, smc_ib_buffer *buffer, smc_ib_region **out)
{
	Random &random = scheduler().random();

	scheduler().maybe_yield();
	if (!link->device->present)
		return -ENODEV;
	// As one that is not contiguous.
	if (buffer->bytes.size() > kRegionMaxBytes)
		return -E2BIG;
	if (world().lacks(world().knobs.no_memory) ||
	    buffer->bytes.size() > world().knobs.mapping_bytes)
		return -ENOMEM;
	auto *region = new smc_ib_region;
	region->qpn = link->qpn;
	region->buffer = buffer;
	region->address = fabric().next_address;
	fabric().next_address +=
		(buffer->bytes.size() + 4096 * random.below(4) + 4095) & ~u64{4095};
	region->local_key = fabric().next_key++;
	if (buffer->kind == SMC_IB_BUFFER_RMB) {
		region->remote_key = fabric().next_key++;
		fabric().remote[region->remote_key] = region;
	} else if (!world().knobs.scattered) {
		region->state = smc_ib_region::State::kReady;
	}
	if (world().knobs.bouncing)
		region->bounce = buffer->bytes;
	fabric().regions[region->local_key] = region;
	buffer->regions++;
	*out = region;
	return 0;
}

void smc_ib_region_destroy(smc_ib_region *region)
{
	smc_ib_link *link = fabric().link(region->qpn);

	// Also on a broken link: its device reports each registration in its own time.
	if (link != nullptr && region->state == smc_ib_region::State::kPosted)
		fail("a region is destroyed while it is being registered");
	if (link != nullptr && !link->broken) {
		observe_rmb_going(region->remote_key);
		if (region->buffer->kind == SMC_IB_BUFFER_RMB &&
		    region->state == smc_ib_region::State::kReady &&
		    (is_told(region->qpn, region->remote_key) ||
		     has_been_used(region->remote_key)) &&
		    !is_forgotten(region->remote_key))
			fail("qp %u: rkey %x goes, and the peer has not said that it knows",
			     link->qpn, region->remote_key);
		for (const auto &post : link->wire) {
			for (const Write &write : post->writes) {
				if (write.local_key == region->local_key)
					fail("a region is destroyed that posted work reads");
			}
		}
	}
	fabric().regions.erase(region->local_key);
	fabric().remote.erase(region->remote_key);
	// The hardware takes its time.
	scheduler().sleep_us(scheduler().random().below(50));
	region->buffer->regions--;
	delete region;
}

void smc_ib_region_info(const smc_ib_region *region, struct smc_ib_region_info *out)
{
	*out = {};
	out->address = region->address;
	out->local_key = region->local_key;
	out->remote_key = region->remote_key;
	out->must_sync = !region->bounce.empty();
}

namespace {

void copy_stretch(const std::vector<u8> &from, std::vector<u8> &to, u32 offset, u32 length)
{
	if (offset + u64{length} > from.size() || from.size() != to.size())
		fail("%u bytes at %u of %zu are synchronised", length, offset, from.size());
	std::copy_n(from.begin() + offset, length, to.begin() + offset);
}

} // namespace

void smc_ib_region_sync_for_cpu(const smc_ib_region *region, u32 offset, u32 length)
{
	if (!region->bounce.empty())
		copy_stretch(region->bounce, region->buffer->bytes, offset, length);
}

void smc_ib_region_sync_for_device(const smc_ib_region *region, u32 offset, u32 length)
{
	// The device's own copy is not part of the region's info.
	if (!region->bounce.empty())
		copy_stretch(region->buffer->bytes, const_cast<smc_ib_region *>(region)->bounce,
			     offset, length);
}

int smc_ib_region_post(smc_ib_region *region)
{
	smc_ib_link *link = fabric().link(region->qpn);

	switch (region->state) {
	case smc_ib_region::State::kNew: break;
	case smc_ib_region::State::kPosted: return -EINPROGRESS;
	case smc_ib_region::State::kReady: return 0;
	case smc_ib_region::State::kFailed: return -EIO;
	}
	if (link == nullptr)
		fail("a registration without its link");
	if (link->broken)
		return -ENOTCONN;
	if (link->state != smc_ib_link::State::kReadyToSend)
		fail("qp %u: a registration before it is ready to send", link->qpn);
	if (link->registrations >= SMC_IB_REGISTRATIONS ||
	    link->wr_head - link->wr_tail + 1 > world().knobs.send_queue)
		return -EAGAIN;
	link->registrations++;
	region->state = smc_ib_region::State::kPosted;
	auto post = std::make_shared<Post>();
	post->registered_key = region->local_key;
	post->signalled = true;
	post->wr_end = ++link->wr_head;
	post->seq = link->seq;
	link->wr_signalled = link->wr_head;
	link->wire.push_back(std::move(post));
	arm_registration(link);
	return -EINPROGRESS;
}

bool smc_ib_region_posted(const smc_ib_region *region)
{
	return region->state == smc_ib_region::State::kPosted;
}
