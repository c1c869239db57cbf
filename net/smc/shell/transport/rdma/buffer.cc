// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/buffer.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/elapsed.hpp"
#include "kernel/abi/stats.h"

namespace smc::transport::rdma {

namespace {

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

Result<void, shell::Errno> Buffer::map(Link &link, const shell::Mutex &setup)
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

Registration Buffer::enable(Link &link)
{
	return link.post_registration(regions_[link.index()]);
}

bool Buffer::registering() const
{
	for (smc_ib_region *region : regions_) {
		if (region != nullptr && smc_ib_region_posted(region))
			return true;
	}
	return false;
}

void Buffer::sync_for_cpu(group::LinkIndex link, const ring::Segments &pieces) const
{
	for (const ring::Segment &piece : pieces)
		smc_ib_region_sync_for_cpu(regions_[link], piece.offset_bytes, piece.length_bytes);
}

// Its first @bytes, on each link.
void Buffer::sync_for_device(u32 bytes, const shell::Mutex &) const
{
	for (const smc_ib_region *region : regions_) {
		if (region != nullptr)
			smc_ib_region_sync_for_device(region, 0, bytes);
	}
}

void Buffer::unmap(group::LinkIndex link)
{
	if (regions_[link] == nullptr)
		return;
	smc_ib_region_destroy(regions_[link]);
	regions_[link] = nullptr;
	smc_stat_inc(net_, SMC_STAT_MR_FREE);
}

Buffer *Pool::take_free(u64 memory_group, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	shell::Guard guard(lock_);
	auto &list = free_[kind][size.code()];
	for (Buffer *buffer = list.front(); buffer != nullptr; buffer = list.next(*buffer)) {
		if (buffer->memory_group() == memory_group) {
			claim_locked(list, *buffer);
			return buffer;
		}
	}
	return nullptr;
}

Pool::FreeList &Pool::list_of_locked(const Buffer &buffer)
{
	return buffer.leaving_.under(lock_) ? leaving_ : free_[buffer.kind()][buffer.size().code()];
}

void Pool::keep_locked(Buffer &buffer)
{
	buffer.idle_since_ms_.under(lock_) = smc_now_ms();
	buffer.in_use_.under(lock_) = false;
	// The last one used is the next one taken: unneeded buffers grow old at the end.
	list_of_locked(buffer).insert_behind(nullptr, buffer);
}

// Nobody else takes or frees it.
void Pool::claim_locked(FreeList &list, Buffer &buffer)
{
	list.remove(buffer);
	buffer.in_use_.under(lock_) = true;
}

// The buffer in @list that has waited longest, and whose registration is not under way.
Buffer *Pool::take_oldest_locked(FreeList &list, u64 min_age_ms)
{
	const u64 now_ms = smc_now_ms();
	Buffer *buffer = list.back();

	while (buffer != nullptr && buffer->registering())
		buffer = list.previous(*buffer);
	if (buffer == nullptr ||
	    elapsed_ms(buffer->idle_since_ms_.under(lock_), now_ms) < min_age_ms)
		return nullptr;
	claim_locked(list, *buffer);
	return buffer;
}

// A stale buffer, or, with @all, any.
Buffer *Pool::take_unused_locked(smc_ib_buffer_kind kind, bool all)
{
	for (FreeList &list : free_[kind]) {
		Buffer *buffer = take_oldest_locked(list, all ? 0 : kStale_ms);

		if (buffer != nullptr)
			return buffer;
	}
	return nullptr;
}

bool Pool::free_unused(bool all)
{
	bool any = false;

	for (;;) {
		Buffer *buffer;
		{
			shell::Guard guard(lock_);
			buffer = take_oldest_locked(leaving_, 0);
			if (buffer == nullptr)
				buffer = take_unused_locked(SMC_IB_BUFFER_SEND,
							    all || smc_rings_are_many());
		}
		if (buffer == nullptr)
			return any;
		destroy(buffer);
		any = true;
	}
}

Buffer *Pool::create_or_make_room(struct sock *sk, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	Buffer *buffer = create(sk, kind, size);

	// Kept buffers may have taken the memory. RMBs that the peer knows are freed later.
	if (buffer == nullptr && free_unused(true))
		buffer = create(sk, kind, size);
	return buffer;
}

Buffer *Pool::create(struct sock *sk, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	auto buffer = shell::make<Buffer>(net_, smc_ring_group(sk), kind, size);
	if (!buffer)
		return nullptr;
	if (smc_ib_buffer_create(sk, kind, size.bytes(), buf_type_ != SMC_BUF_TYPE_VIRT,
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
		members_.remove(*buffer);
		bytes_[buffer->kind()] -= buffer->size().bytes();
		rmbs_ -= buffer->kind() == SMC_IB_BUFFER_RMB ? 1 : 0;
	}
	smc_stat_inc(net_, SMC_STAT_BUF_FREE);
	// unmap_all() may still be unmapping its pages.
	shell::Guard guard(unmapping_);
	free_memory(buffer, unmapping_);
}

void Pool::free_memory(Buffer *buffer, const shell::Mutex &)
{
	shell::Deleter()(buffer);
}

Buffer *Pool::take(struct sock *sk, smc_ib_buffer_kind kind, wire::BufferSize asked)
{
	for (int code = asked.code(); code >= 0; code--) {
		const wire::BufferSize size{static_cast<u8>(code)};

		// The smallest size is tried in any case: there is no other one left.
		if (size.bytes() > largest_bytes_ && code != 0)
			continue;
		Buffer *buffer = take_free(smc_ring_group(sk), kind, size);
		if (buffer != nullptr) {
			smc_stat_inc(net_, stat_run(kind) + SMC_BUF_REUSE);
		} else {
			buffer = create_or_make_room(sk, kind, size);
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

u32 Pool::rmbs()
{
	shell::Guard guard(lock_);
	return rmbs_;
}

Buffer *Pool::take_surplus_rmb(u32 most)
{
	shell::Guard guard(lock_);
	return take_unused_locked(SMC_IB_BUFFER_RMB, rmbs_ > most || smc_rings_are_many());
}

// Also the device's own copy, where it has one: it would be read if the next peer announced bytes
// that it has not written.
void Pool::wipe(Buffer &buffer, u32 bytes)
{
	std::memset(buffer.data(), 0, bytes);
	if (std::none_of(buffer.infos_.begin(), buffer.infos_.end(),
			 [](const struct smc_ib_region_info &info) { return info.must_sync; }))
		return;
	// Keeps the regions until unmap_all() has finished.
	shell::Guard unmapping(unmapping_);
	buffer.sync_for_device(bytes, unmapping_);
}

bool Pool::give_back(Buffer *buffer, u32 used_bytes)
{
	if (used_bytes > buffer->size().bytes())
		used_bytes = buffer->size().bytes();
	if (used_bytes != 0)
		wipe(*buffer, used_bytes);
	shell::Guard guard(lock_);
	if (closed_ || free_[buffer->kind()][buffer->size().code()].size() >= kKeepMax ||
	    smc_rings_are_many())
		return false;
	keep_locked(*buffer);
	return true;
}

void Pool::keep(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		if (!closed_) {
			keep_locked(*buffer);
			return;
		}
	}
	destroy(buffer);
}

void Pool::drop(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		if (!closed_ && buffer->registering()) {
			buffer->leaving_.under(lock_) = true;
			keep_locked(*buffer);
			return;
		}
	}
	destroy(buffer);
}

bool Pool::quarantine(Buffer *buffer)
{
	{
		shell::Guard guard(lock_);
		if (!closed_) {
			buffer->in_use_.under(lock_) = false;
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
			buffer->in_use_.under(lock_) = false;
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
			while (buffer != nullptr && buffer->in_use_.under(lock_))
				buffer = members_.next(*buffer);
			if (buffer != nullptr)
				claim_locked(list_of_locked(*buffer), *buffer);
		}
		if (buffer == nullptr)
			return;
		destroy(buffer);
	}
}

// It stays as long as @unmapping_ is held: one that is freed meanwhile has left members_ before.
Buffer *Pool::find_unmapped(group::LinkIndex link)
{
	shell::Guard guard(lock_);
	Buffer *buffer = members_.front();

	while (buffer != nullptr && buffer->region(link) != nullptr)
		buffer = members_.next(*buffer);
	return buffer;
}

bool Pool::map_all(Link &link, const shell::Mutex &setup)
{
	shell::Guard unmapping(unmapping_);
	while (Buffer *buffer = find_unmapped(link.index())) {
		if (!buffer->map(link, setup))
			return false;
	}
	return true;
}

Registration Pool::enable_all(Link &link)
{
	auto all = Registration::kDone;

	shell::Guard guard(lock_);
	for (Buffer *buffer = members_.front(); buffer != nullptr;
	     buffer = members_.next(*buffer)) {
		if (buffer->region(link.index()) == nullptr)
			continue;
		const Registration one = buffer->enable(link);

		if (one == Registration::kNoRoom || one == Registration::kFailed)
			return one;
		if (one == Registration::kUnderWay)
			all = one;
	}
	return all;
}

std::size_t Pool::rkey_pairs(group::LinkIndex known, group::LinkIndex link,
			     std::span<wire::RkeyPair> out)
{
	std::size_t count = 0;

	shell::Guard guard(lock_);
	for (Buffer *buffer = members_.front(); buffer != nullptr && count < out.size();
	     buffer = members_.next(*buffer)) {
		if (buffer->kind() != SMC_IB_BUFFER_RMB || buffer->region(known) == nullptr ||
		    buffer->region(link) == nullptr)
			continue;
		out[count++] = {wire::Rkey{buffer->on(known).remote_key},
				wire::Rkey{buffer->on(link).remote_key}, buffer->on(link).address};
	}
	return count;
}

smc_ib_region *Pool::take_region_locked(group::LinkIndex link)
{
	for (Buffer *buffer = members_.front(); buffer != nullptr;
	     buffer = members_.next(*buffer)) {
		smc_ib_region *region = std::exchange(buffer->regions_[link], nullptr);

		if (region != nullptr)
			return region;
	}
	return nullptr;
}

void Pool::unmap_all(group::LinkIndex link)
{
	shell::Guard unmapping(unmapping_);
	for (;;) {
		smc_ib_region *region;
		{
			shell::Guard guard(lock_);
			region = take_region_locked(link);
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
