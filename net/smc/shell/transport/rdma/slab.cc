// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/slab.hpp"

#include <algorithm>

#include "kernel/abi/stats.h"
#include "shell/base/alloc.hpp"

namespace smc::transport::rdma {

wire::BufferSize Buffer::size() const
{
	return slab_.size();
}

std::byte *Buffer::data() const
{
	return slab_.data() + offset_bytes();
}

bool Buffer::must_sync(group::LinkIndex link) const
{
	return slab_.on(link).must_sync;
}

void Buffer::sync_for_cpu(group::LinkIndex link, const ring::Segments &pieces) const
{
	for (const ring::Segment &piece : pieces)
		smc_ib_region_sync_for_cpu(slab_.region(link), offset_bytes() + piece.offset_bytes,
					   piece.length_bytes);
}

Slab::~Slab()
{
	for (group::LinkIndex link = 0; link < group::kLinksMax; link++)
		unmap(link);
	if (memory_ != nullptr)
		smc_ib_buffer_destroy(memory_);
	while (Buffer *element = elements_.pop_front())
		shell::Deleter()(element);
}

Result<void, shell::Errno> Slab::map(Link &link, const shell::Mutex &setup)
{
	smc_ib_region *&region = regions_[link.index()];
	if (region != nullptr)
		return {};
	const int ret = smc_ib_region_create(link.handle(setup), memory_, &region);
	if (ret != 0) {
		region = nullptr;
		return fail(shell::Errno{ret});
	}
	smc_ib_region_info(region, &infos_[link.index()]);
	smc_stat_inc(net_, SMC_STAT_MR_NEW);
	return {};
}

Registration Slab::enable(Link &link)
{
	return link.post_registration(regions_[link.index()]);
}

bool Slab::mapped() const
{
	return std::any_of(regions_.begin(), regions_.end(),
			   [](const smc_ib_region *region) { return region != nullptr; });
}

bool Slab::registering() const
{
	for (smc_ib_region *region : regions_) {
		if (region != nullptr && smc_ib_region_posted(region))
			return true;
	}
	return false;
}

bool Slab::must_sync() const
{
	return std::any_of(infos_.begin(), infos_.end(),
			   [](const struct smc_ib_region_info &info) { return info.must_sync; });
}

// On each link.
void Slab::sync_for_device(u32 offset_bytes, u32 bytes, const shell::Mutex &) const
{
	for (const smc_ib_region *region : regions_) {
		if (region != nullptr)
			smc_ib_region_sync_for_device(region, offset_bytes, bytes);
	}
}

void Slab::unmap(group::LinkIndex link)
{
	if (regions_[link] == nullptr)
		return;
	smc_ib_region_destroy(regions_[link]);
	regions_[link] = nullptr;
	smc_stat_inc(net_, SMC_STAT_MR_FREE);
}

} // namespace smc::transport::rdma
