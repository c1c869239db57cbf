// SPDX-License-Identifier: GPL-2.0-only
//
// Buffers of one link group: RMBs and send buffers, and the pool that keeps them between
// connections. Sizes are those of RFC 7609's encoding, 16 KiB << code. A used buffer is zeroed, as
// far as it was written, before the next user can see it. A kept buffer stays in the memory cgroup
// that is charged for it, as long as there is room, and for kStale_ms.
#pragma once

#include <array>
#include <span>

#include "core/group/limits.hpp"
#include "core/ring/segments.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc_list.hpp"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/ring_memory.h"
#include "kernel/abi/verbs.h"
#include "shell/base/alloc.hpp"
#include "shell/base/errno.hpp"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

class Pool;

struct FreeTag;
struct MemberTag;

class Buffer : public shell::ListNode<FreeTag>, public shell::ListNode<MemberTag> {
public:
	Buffer(net *net, u64 memory_group, smc_ib_buffer_kind kind, wire::BufferSize size)
		: net_(net), memory_group_(memory_group), kind_(kind), size_(size)
	{
	}
	~Buffer();

	[[nodiscard]] std::byte *data() const
	{
		return static_cast<std::byte *>(smc_ib_buffer_data(memory_));
	}
	[[nodiscard]] wire::BufferSize size() const { return size_; }
	[[nodiscard]] smc_ib_buffer_kind kind() const { return kind_; }
	// smc_ring_group() of the sock that it was made for.
	[[nodiscard]] u64 memory_group() const { return memory_group_; }
	// Address and keys on this link; valid once map() has succeeded for it.
	[[nodiscard]] const struct smc_ib_region_info &on(group::LinkIndex link) const
	{
		return infos_[link];
	}

	// On this link; nullptr if it is not mapped there.
	[[nodiscard]] const smc_ib_region *region(group::LinkIndex link) const
	{
		return regions_[link];
	}
	// The device's writes need sync_for_cpu() before the CPU can read them.
	[[nodiscard]] bool must_sync(group::LinkIndex link) const { return infos_[link].must_sync; }
	// Makes these pieces, which the device has written, visible to the CPU. The buffer must be
	// mapped on the link. Any context.
	void sync_for_cpu(group::LinkIndex link, const ring::Segments &pieces) const;

	// Notes that the peer knows of it, or may: then the peer has to be told before it is freed.
	// With the group's lock.
	void note_told(const shell::SpinLock &group) SMC_REQUIRES(group)
	{
		told_.under(group) = true;
	}
	[[nodiscard]] bool told(const shell::SpinLock &group) const SMC_REQUIRES(group)
	{
		return told_.under(group);
	}

	// Notes that the peer has confirmed the group's @announcement'th CONFIRM_RKEY, which was
	// for this RMB. With the group's lock.
	void note_confirmed(u64 announcement, const shell::SpinLock &group) SMC_REQUIRES(group)
	{
		confirmed_.under(group) = announcement;
	}
	// The number of that CONFIRM_RKEY; 0: there was none.
	[[nodiscard]] u64 confirmed(const shell::SpinLock &group) const SMC_REQUIRES(group)
	{
		return confirmed_.under(group);
	}

	// The slot of the last connection that had it as its RMB stays taken as long as the peer
	// may write to it (0: none). With the group's lock.
	void note_retired_slot(std::size_t slot, const shell::SpinLock &group) SMC_REQUIRES(group)
	{
		retired_slot_.under(group) = slot;
	}
	[[nodiscard]] std::size_t take_retired_slot(const shell::SpinLock &group)
		SMC_REQUIRES(group)
	{
		return std::exchange(retired_slot_.under(group), 0);
	}

	// Maps it for the link's device, so that its keys can be announced. Process, with the mutex
	// that keeps the link.
	[[nodiscard]] Result<void, shell::Errno> map(Link &link, const shell::Mutex &setup)
		SMC_REQUIRES(setup);
	// Registers the keys. The link must be ready to send. kDone: they work; kUnderWay and
	// kNoRoom: call again when the link reports that something was sent. Any context.
	[[nodiscard]] Registration enable(Link &link);
	// A registration request is in a link's queue: the buffer has to stay.
	[[nodiscard]] bool registering() const;
	// The link is gone. Process.
	void unmap(group::LinkIndex link);

private:
	friend class Pool;

	void sync_for_device(u32 bytes, const shell::Mutex &unmapping) const
		SMC_REQUIRES(unmapping);

	smc_ib_buffer *memory_ = nullptr;
	std::array<smc_ib_region *, group::kLinksMax> regions_{};
	std::array<struct smc_ib_region_info, group::kLinksMax> infos_{};
	net *const net_;
	const u64 memory_group_;
	const smc_ib_buffer_kind kind_;
	const wire::BufferSize size_;
	// Guarded by the pool's lock.
	shell::Guarded<u64> idle_since_ms_; // when it is not in use
	shell::Guarded<bool> in_use_{true};
	shell::Guarded<bool> leaving_; // dropped, and kept by its registration alone
	// Guarded by the group's lock.
	shell::Guarded<bool> told_;
	shell::Guarded<u64> confirmed_;
	shell::Guarded<std::size_t> retired_slot_;
};

// Locking: its own (class POOL; POOL_UNMAP, taken before it, around unmapping and freeing).
class Pool {
public:
	// Unused buffers that are kept of one size and kind; more are freed.
	static constexpr u32 kKeepMax = 32;
	static constexpr u32 kQuarantineMax = 64;
	// A buffer that has been unused for longer is freed at some later run of the group.
	static constexpr u64 kStale_ms = 600'000;

	// @largest_bytes: the most that the group's device registers in one request.
	Pool(net *net, u64 largest_bytes)
		: net_(net), buf_type_(smc_sysctl_smcr_buf_type(net)), largest_bytes_(largest_bytes)
	{
	}

	// One of the size asked for, for @sk, or a smaller one if there is no memory for that or
	// the device cannot register it; nullptr if there is none at all. Process.
	[[nodiscard]] Buffer *take(struct sock *sk, smc_ib_buffer_kind kind,
				   wire::BufferSize asked);
	// Takes it back. The first @used_bytes may hold a user's data. False if there are enough of
	// this kind: then the caller drops it once the peer has forgotten it. Process.
	[[nodiscard]] bool give_back(Buffer *buffer, u32 used_bytes);
	// Keeps a buffer that give_back() refused, above kKeepMax. It has been zeroed. Process.
	void keep(Buffer *buffer);
	// How many RMBs there are. Any context.
	[[nodiscard]] u32 rmbs();
	// An unused RMB that is not being registered, if there are more than @most RMBs, or it is
	// stale, or memory for rings is scarce. The caller drops it, or keeps it after all. Any
	// context.
	[[nodiscard]] Buffer *take_surplus_rmb(u32 most);
	// Frees it; if its registration is still under way, at a later free_unused(). Process.
	void drop(Buffer *buffer);
	// Frees dropped buffers, and stale send buffers, or all unused ones if memory for rings is
	// scarce, or @all of them anyway; none that is being registered. False if there was none.
	// Process.
	bool free_unused(bool all);
	// The peer may still write to it: it is put aside until the group ends. False if there are
	// kQuarantineMax already: then the group should end. Process.
	[[nodiscard]] bool quarantine(Buffer *buffer);
	// The same without that limit: the caller counts. Process.
	void set_aside(Buffer *buffer);
	// A new link: maps all buffers for it, used or not. Process, with the mutex that keeps the
	// link, and that keeps new buffers from being mapped meanwhile.
	[[nodiscard]] bool map_all(Link &link, const shell::Mutex &setup) SMC_REQUIRES(setup);
	// Registers all of them there. See Buffer::enable(). Any context.
	[[nodiscard]] Registration enable_all(Link &link);
	// The rkey of each RMB on one link, with its key and address on another one. As many as fit
	// are put into @out; returns their number. Any context.
	[[nodiscard]] std::size_t rkey_pairs(group::LinkIndex known, group::LinkIndex link,
					     std::span<wire::RkeyPair> out);
	// The link is gone: unmaps all buffers, used or not. Process.
	void unmap_all(group::LinkIndex link);
	// No link is left: frees all unused buffers; a buffer that is given back later is freed at
	// once. Process.
	void close();

	[[nodiscard]] u64 bytes(smc_ib_buffer_kind kind);
	// SMC_BUF_TYPE_*: the value of net.smc.smcr_buf_type when the group was made.
	[[nodiscard]] u32 buf_type() const { return buf_type_; }

private:
	using FreeList = shell::List<Buffer, FreeTag>;
	static constexpr u32 kCodes = wire::BufferSize::kCodeMax + 1;

	[[nodiscard]] Buffer *take_free(u64 memory_group, smc_ib_buffer_kind kind,
					wire::BufferSize size);
	[[nodiscard]] Buffer *take_oldest_locked(FreeList &list, u64 min_age_ms)
		SMC_REQUIRES(lock_);
	[[nodiscard]] Buffer *take_unused_locked(smc_ib_buffer_kind kind, bool all)
		SMC_REQUIRES(lock_);
	// A buffer that is not mapped there; nullptr if all are.
	[[nodiscard]] Buffer *find_unmapped(group::LinkIndex link) SMC_REQUIRES(unmapping_);
	// A region on that link, which its buffer loses; nullptr if none is left.
	[[nodiscard]] smc_ib_region *take_region_locked(group::LinkIndex link)
		SMC_REQUIRES(unmapping_, lock_);
	[[nodiscard]] Buffer *create(struct sock *sk, smc_ib_buffer_kind kind,
				     wire::BufferSize size);
	[[nodiscard]] Buffer *create_or_make_room(struct sock *sk, smc_ib_buffer_kind kind,
						  wire::BufferSize size);
	// Of an unused buffer.
	[[nodiscard]] FreeList &list_of_locked(const Buffer &buffer) SMC_REQUIRES(lock_);
	// It waits there for its next user, or for its registration to end.
	void keep_locked(Buffer &buffer) SMC_REQUIRES(lock_);
	void claim_locked(FreeList &list, Buffer &buffer) SMC_REQUIRES(lock_);
	void wipe(Buffer &buffer, u32 bytes);
	void destroy(Buffer *buffer);
	static void free_memory(Buffer *buffer, const shell::Mutex &unmapping)
		SMC_REQUIRES(unmapping);

	net *const net_;
	const u32 buf_type_;
	const u64 largest_bytes_;
	shell::SpinLock lock_{SMC_LOCK_POOL};
	shell::Mutex unmapping_{SMC_LOCK_POOL_UNMAP};
	// Indexed by kind and size code.
	std::array<std::array<FreeList, kCodes>, 2> free_ SMC_GUARDED_BY(lock_);
	// Dropped while being registered.
	FreeList leaving_ SMC_GUARDED_BY(lock_);
	shell::List<Buffer, MemberTag> members_ SMC_GUARDED_BY(lock_); // used or not
	std::array<u64, 2> bytes_ SMC_GUARDED_BY(lock_){};
	u32 rmbs_ SMC_GUARDED_BY(lock_) = 0; // of members_
	u32 quarantined_ SMC_GUARDED_BY(lock_) = 0;
	bool closed_ SMC_GUARDED_BY(lock_) = false;
};

} // namespace smc::transport::rdma
