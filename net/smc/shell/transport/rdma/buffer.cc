// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/buffer.hpp"

#include <cstring>

#include "kernel/abi/stats.h"
#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

namespace {

constexpr u32 kRegisterLimit_ms = 5000;

u32 stat_run(smc_ib_buffer_kind kind)
{
	return SMC_STAT_OF(SMC_TECH_R, kind == SMC_IB_BUFFER_RMB ? SMC_TS_RX_BUF : SMC_TS_TX_BUF);
}

} // namespace

Buffer::~Buffer()
{
	for (group::LinkIndex link = 0; link < group::kLinksMax; link++)
		unmap(link);
	if (memory_ != nullptr)
		smc_ib_buffer_destroy(memory_);
}

int Buffer::map(Link &link)
{
	smc_ib_region *&region = regions_[link.index()];
	if (region != nullptr)
		return 0;
	const int ret = smc_ib_region_create(link.handle(), memory_, &region);
	if (ret != 0) {
		region = nullptr;
		return ret;
	}
	smc_ib_region_info(region, &infos_[link.index()]);
	smc_stat_inc(net_, SMC_STAT_MR_NEW);
	return 0;
}

int Buffer::enable(Link &link)
{
	smc_ib_region *region = regions_[link.index()];
	int ret = link.post_registration(region);

	if (ret != 0)
		return ret;
	ret = smc_ib_region_wait(region, kRegisterLimit_ms);
	registering_ = ret != 0;
	return ret;
}

void Buffer::unmap(group::LinkIndex link)
{
	if (regions_[link] == nullptr)
		return;
	smc_ib_region_destroy(regions_[link]);
	regions_[link] = nullptr;
	smc_stat_inc(net_, SMC_STAT_MR_FREE);
}

Buffer *Pool::take_free(smc_ib_buffer_kind kind, wire::BufferSize size)
{
	shell::Guard guard(lock_);
	Buffer *buffer = free_[kind][size.code()].pop_front();
	if (buffer != nullptr)
		buffer->in_use_ = true;
	return buffer;
}

Buffer *Pool::create(smc_ib_buffer_kind kind, wire::BufferSize size)
{
	auto buffer = shell::make<Buffer>(net_, kind, size);
	if (!buffer)
		return nullptr;
	if (smc_ib_buffer_create(kind, size.bytes(), buf_type_ != SMC_BUF_TYPE_VIRT,
				 &buffer->memory_) != 0) {
		buffer->memory_ = nullptr;
		return nullptr;
	}
	smc_stat_inc(net_, SMC_STAT_BUF_NEW);
	shell::Guard guard(lock_);
	members_.push_back(*buffer);
	bytes_[kind] += size.bytes();
	rmbs_ += kind == SMC_IB_BUFFER_RMB ? 1 : 0;
	return buffer.release();
}

void Pool::destroy(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		free_[buffer->kind()][buffer->size().code()].remove(*buffer);
		members_.remove(*buffer);
		bytes_[buffer->kind()] -= buffer->size().bytes();
		rmbs_ -= buffer->kind() == SMC_IB_BUFFER_RMB ? 1 : 0;
	}
	smc_stat_inc(net_, SMC_STAT_BUF_FREE);
	// Its pages must not go while unmap_all() still unmaps them.
	shell::Guard guard(unmapping_);
	shell::Deleter()(buffer);
}

Buffer *Pool::take(smc_ib_buffer_kind kind, wire::BufferSize asked)
{
	for (int code = asked.code(); code >= 0; code--) {
		const wire::BufferSize size{static_cast<u8>(code)};

		// The smallest one is tried in any case: there is nothing else to try.
		if (size.bytes() > largest_bytes_ && code != 0)
			continue;
		Buffer *buffer = take_free(kind, size);
		if (buffer != nullptr) {
			smc_stat_inc(net_, stat_run(kind) + SMC_BUF_REUSE);
		} else {
			buffer = create(kind, size);
			if (buffer == nullptr)
				continue;
			smc_stat_inc(net_, stat_run(kind) + SMC_BUF_ALLOC);
		}
		if (size != asked)
			smc_stat_inc(net_, stat_run(kind) + SMC_BUF_DOWNGRADE);
		return buffer;
	}
	return nullptr;
}

Buffer *Pool::take_surplus_rmb(u32 most)
{
	shell::Guard guard(lock_);
	if (rmbs_ <= most)
		return nullptr;
	for (auto &list : free_[SMC_IB_BUFFER_RMB]) {
		if (Buffer *buffer = list.pop_front()) {
			buffer->in_use_ = true;
			return buffer;
		}
	}
	return nullptr;
}

bool Pool::give_back(Buffer *buffer, u32 used_bytes)
{
	if (used_bytes > buffer->size().bytes())
		used_bytes = buffer->size().bytes();
	if (used_bytes != 0)
		std::memset(buffer->data(), 0, used_bytes);
	shell::Guard guard(lock_);
	auto &list = free_[buffer->kind()][buffer->size().code()];
	if (closed_ || list.size() >= kKeepMax)
		return false;
	list.push_back(*buffer);
	buffer->in_use_ = false;
	return true;
}

void Pool::keep(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		if (!closed_) {
			free_[buffer->kind()][buffer->size().code()].push_back(*buffer);
			buffer->in_use_ = false;
			return;
		}
	}
	destroy(buffer);
}

void Pool::drop(Buffer *buffer)
{
	// Too many are no matter: its link is broken, and so the group's end is near.
	if (buffer->registering_)
		(void)quarantine(buffer);
	else
		destroy(buffer);
}

bool Pool::quarantine(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		if (!closed_) {
			buffer->in_use_ = false;
			return ++quarantined_ < kQuarantineMax;
		}
	}
	destroy(buffer);
	return true;
}

void Pool::set_aside(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		if (!closed_) {
			buffer->in_use_ = false;
			return;
		}
	}
	destroy(buffer);
}

void Pool::close()
{
	for (;;) {
		Buffer *buffer;
		{
			shell::Guard guard(lock_);
			closed_ = true;
			buffer = members_.front();
			while (buffer != nullptr && buffer->in_use_)
				buffer = members_.next(*buffer);
			// Claimed, so that nobody else takes or frees it.
			if (buffer != nullptr) {
				buffer->in_use_ = true;
				free_[buffer->kind()][buffer->size().code()].remove(*buffer);
			}
		}
		if (buffer == nullptr)
			return;
		destroy(buffer);
	}
}

void Pool::unmap_all(group::LinkIndex link)
{
	shell::Guard unmapping(unmapping_);
	for (;;) {
		smc_ib_region *region = nullptr;
		{
			shell::Guard guard(lock_);
			for (Buffer *buffer = members_.front(); buffer != nullptr;
			     buffer = members_.next(*buffer)) {
				region = std::exchange(buffer->regions_[link], nullptr);
				if (region != nullptr)
					break;
			}
		}
		if (region == nullptr)
			return;
		smc_ib_region_destroy(region);
		smc_stat_inc(net_, SMC_STAT_MR_FREE);
	}
}

u64 Pool::bytes(smc_ib_buffer_kind kind)
{
	shell::Guard guard(lock_);
	return bytes_[kind];
}

} // namespace smc::transport::rdma
