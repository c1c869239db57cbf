// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/pool.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/elapsed.hpp"
#include "kernel/abi/stats.h"
#include "shell/base/alloc.hpp"

namespace smc::transport::rdma {

namespace {

u32 stat_run(smc_ib_buffer_kind kind)
{
	return SMC_STAT_OF(SMC_TECH_R, kind == SMC_IB_BUFFER_RMB ? SMC_TS_RX_BUF : SMC_TS_TX_BUF);
}

} // namespace

// ---- Taking -------------------------------------------------------------------------------------

// Of the slab with the most users, so that others lose theirs.
Buffer *Pool::take_free(u64 memory_group, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	shell::Guard guard(lock_);
	FreeList &list = free_[kind][size.code()];
	Buffer *best = nullptr;

	for (Buffer *buffer = list.front(); buffer != nullptr; buffer = list.next(*buffer)) {
		const Slab &slab = buffer->slab();

		if (slab.memory_group() == memory_group &&
		    (best == nullptr || slab.used_.under(lock_) > best->slab().used_.under(lock_)))
			best = buffer;
	}
	if (best != nullptr) {
		list.remove(*best);
		best->slab().used_.under(lock_)++;
	}
	return best;
}

u32 Pool::next_elements(u64 memory_group, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	u64 like_it = 0;
	u64 all = 0;

	shell::Guard guard(lock_);
	if (kind != SMC_IB_BUFFER_RMB || elements_max_ == 1 || smc_rings_are_many())
		return 1;
	for (const Slab *slab = members_.front(); slab != nullptr; slab = members_.next(*slab)) {
		if (slab->kind() != kind)
			continue;
		all += slab->elements_.size();
		if (slab->memory_group() == memory_group && slab->size() == size)
			like_it += slab->elements_.size();
	}
	const u64 most =
		std::min<u64>({elements_max_, Slab::kElementsMax,
			       std::min(kSlabMax_bytes, largest_bytes_) / size.bytes(),
			       group::kRtokensMax - std::min<u64>(all, group::kRtokensMax)});
	const u64 elements = std::min(std::bit_ceil(like_it + 1), std::bit_floor(most));

	return static_cast<u32>(std::max<u64>(elements, 1));
}

Buffer *Pool::create(struct sock *sk, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	const u32 elements = next_elements(smc_ring_group(sk), kind, size);
	Buffer *buffer = create_slab(sk, kind, size, elements);

	if (buffer == nullptr && elements > 1)
		buffer = create_slab(sk, kind, size, 1);
	// Kept slabs may have taken the memory. RMBs that the peer knows are freed later.
	if (buffer == nullptr && free_unused(true))
		buffer = create_slab(sk, kind, size, 1);
	return buffer;
}

// Its first element is taken.
Buffer *Pool::create_slab(struct sock *sk, smc_ib_buffer_kind kind, wire::BufferSize size,
			  u32 elements)
{
	auto slab = shell::make<Slab>(net_, smc_ring_group(sk), kind, size);
	if (!slab)
		return nullptr;
	for (u32 i = 0; i < elements; i++) {
		auto element = shell::make<Buffer>(*slab, i);
		if (!element)
			return nullptr;
		slab->elements_.push_back(*element.release());
	}
	if (smc_ib_buffer_create(sk, kind, slab->bytes(), buf_type_ != SMC_BUF_TYPE_VIRT,
				 &slab->memory_) != 0) {
		slab->memory_ = nullptr;
		return nullptr;
	}
	smc_count(counters_, SMC_STAT_BUF_NEW, 1);
	Buffer *first = slab->elements_.front();
	shell::Guard guard(lock_);
	for (Buffer *other = slab->elements_.next(*first); other != nullptr;
	     other = slab->elements_.next(*other))
		put_free(*other);
	slab->used_.under(lock_) = 1;
	members_.push_back(*slab);
	bytes_[kind] += slab->bytes();
	rmbs_ += kind == SMC_IB_BUFFER_RMB ? 1 : 0;
	(void)slab.release();
	return first;
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
			smc_count(counters_, stat_run(kind) + SMC_BUF_REUSE, 1);
		} else {
			buffer = create(sk, kind, size);
			if (buffer == nullptr)
				continue;
			smc_count(counters_, stat_run(kind) + SMC_BUF_ALLOC, 1);
		}
		if (size != asked)
			smc_count(counters_, stat_run(kind) + SMC_BUF_DOWNGRADE, 1);
		return buffer;
	}
	return nullptr;
}

// ---- Giving back --------------------------------------------------------------------------------

void Pool::put_free(Buffer &buffer)
{
	if (!buffer.slab().turned_down_.under(lock_))
		free_of(buffer.slab()).insert_behind(nullptr, buffer);
}

// Of a user.
void Pool::put_back(Buffer &buffer)
{
	put_free(buffer);
	buffer.slab().used_.under(lock_)--;
	buffer.slab().idle_since_ms_.under(lock_) = smc_now_ms();
}

bool Pool::is_vacant(const Slab &slab) const
{
	return slab.used_.under(lock_) == 0 && !slab.claimed_.under(lock_) &&
	       (closed_ || slab.set_aside_.under(lock_) == 0);
}

void Pool::claim(Slab &slab)
{
	slab.claimed_.under(lock_) = true;
	withdraw(slab);
}

void Pool::withdraw(Slab &slab)
{
	for (Buffer *element = slab.elements_.front(); element != nullptr;
	     element = slab.elements_.next(*element))
		free_of(slab).remove(*element);
}

// Also the device's own copy, where it has one: it would be read if the next peer announced bytes
// that it has not written.
void Pool::wipe(const Buffer &buffer, u32 bytes)
{
	std::memset(buffer.data(), 0, bytes);
	if (!buffer.slab().must_sync())
		return;
	// Keeps the regions until unmap_all() has finished.
	shell::Guard unmapping(unmapping_);
	buffer.slab().sync_for_device(buffer.offset_bytes(), bytes, unmapping_);
}

Slab *Pool::give_back(Buffer *buffer, u32 used_bytes)
{
	Slab &slab = buffer->slab();

	if (used_bytes != 0)
		wipe(*buffer, std::min(used_bytes, buffer->size().bytes()));
	shell::Guard guard(lock_);
	put_back(*buffer);
	if (!is_vacant(slab))
		return nullptr;
	// Once deleted, its elements in doubt can be used again.
	if (!closed_ && slab.doubtful_.under(lock_) == 0 && !slab.turned_down_.under(lock_) &&
	    free_of(slab).size() <= keep_max(slab.size()) && !smc_rings_are_many())
		return nullptr;
	claim(slab);
	return &slab;
}

Slab *Pool::turn_down(Buffer *buffer)
{
	Slab &slab = buffer->slab();

	shell::Guard guard(lock_);
	elements_max_ = 1;
	slab.turned_down_.under(lock_) = true;
	withdraw(slab);
	put_back(*buffer);
	if (!is_vacant(slab))
		return nullptr;
	claim(slab);
	return &slab;
}

Slab *Pool::doubt(Buffer *buffer)
{
	Slab &slab = buffer->slab();

	shell::Guard guard(lock_);
	slab.doubtful_.under(lock_)++;
	slab.used_.under(lock_)--;
	if (!is_vacant(slab))
		return nullptr;
	claim(slab);
	return &slab;
}

void Pool::set_aside(Buffer *buffer)
{
	Slab *slab = &buffer->slab();
	{
		shell::Guard guard(lock_);
		slab->doubtful_.under(lock_)++;
		slab->set_aside_.under(lock_)++;
		slab->used_.under(lock_)--;
		if (!closed_ || slab->used_.under(lock_) != 0)
			return;
		claim(*slab);
		leave(*slab);
	}
	destroy(slab);
}

bool Pool::keep(Slab *slab)
{
	{
		shell::Guard guard(lock_);
		if (!closed_ && slab->doubtful_.under(lock_) != 0)
			return false;
		if (!closed_) {
			slab->claimed_.under(lock_) = false;
			slab->idle_since_ms_.under(lock_) = smc_now_ms();
			for (Buffer *element = slab->elements_.front(); element != nullptr;
			     element = slab->elements_.next(*element))
				put_free(*element);
			return true;
		}
		leave(*slab);
	}
	destroy(slab);
	return true;
}

bool Pool::quarantine(Slab *slab)
{
	{
		shell::Guard guard(lock_);
		if (!closed_) {
			slab->claimed_.under(lock_) = false;
			slab->set_aside_.under(lock_)++;
			return ++quarantined_ < kQuarantineMax;
		}
		leave(*slab);
	}
	destroy(slab);
	return true;
}

// ---- Freeing ------------------------------------------------------------------------------------

u32 Pool::rmbs()
{
	shell::Guard guard(lock_);
	return rmbs_;
}

// The vacant slab that has waited longest, of each size in turn, and whose registration is not
// under way: a stale one, or, with @all, any.
Slab *Pool::take_unused(smc_ib_buffer_kind kind, bool all)
{
	const u64 now_ms = smc_now_ms();

	for (FreeList &list : free_[kind]) {
		for (Buffer *buffer = list.back(); buffer != nullptr;
		     buffer = list.previous(*buffer)) {
			Slab &slab = buffer->slab();
			const u64 idle_ms = elapsed_ms(slab.idle_since_ms_.under(lock_), now_ms);

			if (!is_vacant(slab) || slab.registering() || (!all && idle_ms < kStale_ms))
				continue;
			claim(slab);
			return &slab;
		}
	}
	return nullptr;
}

Slab *Pool::take_surplus(u32 most)
{
	shell::Guard guard(lock_);
	return take_unused(SMC_IB_BUFFER_RMB, rmbs_ > most || smc_rings_are_many());
}

// Dropped before, and its registration has ended.
Slab *Pool::take_left()
{
	for (Slab *slab = leaving_.front(); slab != nullptr; slab = leaving_.next(*slab)) {
		if (slab->registering())
			continue;
		leaving_.remove(*slab);
		return slab;
	}
	return nullptr;
}

bool Pool::free_unused(bool all)
{
	bool any = false;

	for (;;) {
		Slab *slab;
		{
			shell::Guard guard(lock_);
			slab = take_left();
			if (slab == nullptr)
				slab = take_unused(SMC_IB_BUFFER_SEND, all || smc_rings_are_many());
			if (slab != nullptr)
				leave(*slab);
		}
		if (slab == nullptr)
			return any;
		destroy(slab);
		any = true;
	}
}

void Pool::drop(Slab *slab)
{
	{
		shell::Guard guard(lock_);
		if (!closed_ && slab->registering()) {
			leaving_.push_back(*slab);
			return;
		}
		leave(*slab);
	}
	destroy(slab);
}

void Pool::leave(Slab &slab)
{
	members_.remove(slab);
	bytes_[slab.kind()] -= slab.bytes();
	rmbs_ -= slab.kind() == SMC_IB_BUFFER_RMB ? 1 : 0;
}

void Pool::destroy(Slab *slab)
{
	smc_count(counters_, SMC_STAT_BUF_FREE, 1);
	// unmap_all() may still be unmapping its pages.
	shell::Guard guard(unmapping_);
	free_memory(slab, unmapping_);
}

void Pool::free_memory(Slab *slab, const shell::Mutex &)
{
	shell::Deleter()(slab);
}

void Pool::close()
{
	for (;;) {
		Slab *slab;
		{
			shell::Guard guard(lock_);
			closed_ = true;
			slab = members_.front();
			while (slab != nullptr && !leaving_.linked(*slab) &&
			       (slab->used_.under(lock_) != 0 || slab->claimed_.under(lock_)))
				slab = members_.next(*slab);
			if (slab != nullptr) {
				claim(*slab);
				leaving_.remove(*slab);
				leave(*slab);
			}
		}
		if (slab == nullptr)
			return;
		destroy(slab);
	}
}

// ---- Links --------------------------------------------------------------------------------------

// It stays as long as @unmapping_ is held: one that is freed meanwhile has left members_ before.
Slab *Pool::find_unmapped(group::LinkIndex link)
{
	shell::Guard guard(lock_);
	Slab *slab = members_.front();

	while (slab != nullptr &&
	       (slab->region(link) != nullptr || !slab->mapped() ||
		(slab->turned_down_.under(lock_) && slab->used_.under(lock_) == 0)))
		slab = members_.next(*slab);
	return slab;
}

bool Pool::map_all(Link &link, const shell::Mutex &setup)
{
	shell::Guard unmapping(unmapping_);
	while (Slab *slab = find_unmapped(link.index())) {
		if (!slab->map(link, setup))
			return false;
	}
	return true;
}

Registration Pool::enable_all(Link &link)
{
	auto all = Registration::kDone;

	shell::Guard guard(lock_);
	for (Slab *slab = members_.front(); slab != nullptr; slab = members_.next(*slab)) {
		if (slab->kind() != SMC_IB_BUFFER_RMB || slab->region(link.index()) == nullptr)
			continue;
		const Registration one = slab->enable(link);

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
	for (Slab *slab = members_.front(); slab != nullptr && count < out.size();
	     slab = members_.next(*slab)) {
		if (slab->kind() != SMC_IB_BUFFER_RMB || slab->region(known) == nullptr ||
		    slab->region(link) == nullptr)
			continue;
		out[count++] = {wire::Rkey{slab->on(known).remote_key},
				wire::Rkey{slab->on(link).remote_key}, slab->on(link).address};
	}
	return count;
}

smc_ib_region *Pool::take_region(group::LinkIndex link)
{
	for (Slab *slab = members_.front(); slab != nullptr; slab = members_.next(*slab)) {
		smc_ib_region *region = std::exchange(slab->regions_[link], nullptr);

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
			region = take_region(link);
		}
		if (region == nullptr)
			return;
		smc_ib_region_destroy(region);
		smc_count(counters_, SMC_STAT_MR_FREE, 1);
	}
}

u64 Pool::bytes(smc_ib_buffer_kind kind)
{
	shell::Guard guard(lock_);
	return bytes_[kind];
}

} // namespace smc::transport::rdma
