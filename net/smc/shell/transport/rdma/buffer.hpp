// SPDX-License-Identifier: GPL-2.0-only
//
// Buffers of one link group: RMBs and send buffers, and the pool that keeps them between
// connections. Sizes are those of RFC 7609's encoding, 16 KiB << code. A buffer that had a user
// is zeroed, as far as it was written, before the next one can see it. It stays with the memory
// cgroup that it is charged to, for as long as there is room, and for kStale_ms.
#pragma once

#include <array>

#include "core/group/limits.hpp"
#include "core/ring/segments.hpp"
#include "core/wire/ids.hpp"
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
	// Address and keys on this link; valid once map() succeeded there.
	[[nodiscard]] const struct smc_ib_region_info &on(group::LinkIndex link) const
	{
		return infos_[link];
	}

	// On this link; nullptr when it is not mapped there.
	[[nodiscard]] const smc_ib_region *region(group::LinkIndex link) const
	{
		return regions_[link];
	}
	// The device does not see this memory itself: sync_for_cpu() is due on each arrival.
	[[nodiscard]] bool must_sync(group::LinkIndex link) const { return infos_[link].must_sync; }
	// The device has written these pieces; the CPU may read them now. It must be mapped on the
	// link. Any context.
	void sync_for_cpu(group::LinkIndex link, const ring::Segments &pieces) const;

	// That the peer has been told of it, or may have been: it has to be told that it goes. With
	// the group's lock.
	void note_told(const shell::SpinLock &group) SMC_REQUIRES(group)
	{
		told_.under(group) = true;
	}
	[[nodiscard]] bool told(const shell::SpinLock &group) const SMC_REQUIRES(group)
	{
		return told_.under(group);
	}

	// Makes it known to the link's device; its keys can be told to the peer. Process, with the
	// mutex that keeps the link.
	[[nodiscard]] Result<void, shell::Errno> map(Link &link, const shell::Mutex &setup)
		SMC_REQUIRES(setup);
	// Makes the keys work. The link must be ready to send. kDone: they do; kUnderWay and
	// kNoRoom: ask again when the link says that something was sent. Any context.
	[[nodiscard]] Registration enable(Link &link);
	// A request to do that stands in a link's queue: the buffer has to stay.
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
	// By the pool's lock.
	shell::Guarded<u64> idle_since_ms_; // when it is not in use
	shell::Guarded<bool> in_use_{true};
	shell::Guarded<bool> leaving_; // dropped, and kept by its registration alone
	// By the group's.
	shell::Guarded<bool> told_;
};

// Locking: its own (class POOL; and POOL_UNMAP, taken before it, around what unmaps and frees).
class Pool {
public:
	// Unused buffers kept of one size and kind; more are freed.
	static constexpr u32 kKeepMax = 32;
	static constexpr u32 kQuarantineMax = 64;
	// One that has been unused for longer is freed, at some later run of the group.
	static constexpr u64 kStale_ms = 600'000;

	// @largest_bytes: what the group's device registers in one go.
	Pool(net *net, u64 largest_bytes)
		: net_(net), buf_type_(smc_sysctl_smcr_buf_type(net)), largest_bytes_(largest_bytes)
	{
	}

	// One of the size asked for, for @sk, or smaller if there is no memory for that or the
	// device cannot register it; nullptr if there is none at all. Process.
	[[nodiscard]] Buffer *take(struct sock *sk, smc_ib_buffer_kind kind,
				   wire::BufferSize asked);
	// Takes it back. @used_bytes of it, from its start, may hold somebody's data. False if
	// there are enough of this kind: the caller drops it, once the peer does not know it any
	// more.
	// Process.
	[[nodiscard]] bool give_back(Buffer *buffer, u32 used_bytes);
	// Keeps one that give_back() did not want, above kKeepMax. It has been zeroed. Process.
	void keep(Buffer *buffer);
	// One that is not in use, nor being registered, if there are more than @most RMBs, or it is
	// stale, or memory for rings is scarce; the caller drops it, or keeps it after all. Any
	// context.
	[[nodiscard]] Buffer *take_surplus_rmb(u32 most);
	// Frees it; if its registration is still under way, at a later free_unused(). Process.
	void drop(Buffer *buffer);
	// Frees what has been dropped, and send buffers that are stale, or all that are not in use
	// if memory for rings is scarce, or @all of them anyway; none whose registration is under
	// way. False if there was none. Process.
	bool free_unused(bool all);
	// The peer may still write to it: it is put aside until the group ends. False if there are
	// kQuarantineMax already: then the group should end. Process.
	[[nodiscard]] bool quarantine(Buffer *buffer);
	// The same, however many there are: the caller counts. Process.
	void set_aside(Buffer *buffer);
	// The link is gone: unmaps all there are, in use or not. Process.
	void unmap_all(group::LinkIndex link);
	// No link is left: frees all that is not in use; what is given back later is freed, too.
	// Process.
	void close();

	[[nodiscard]] u64 bytes(smc_ib_buffer_kind kind);
	// SMC_BUF_TYPE_*: what net.smc.smcr_buf_type was when the group was made.
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
	// A region on that link, which it does not have any more; nullptr if none is left.
	[[nodiscard]] smc_ib_region *take_region_locked(group::LinkIndex link)
		SMC_REQUIRES(unmapping_, lock_);
	[[nodiscard]] Buffer *create(struct sock *sk, smc_ib_buffer_kind kind,
				     wire::BufferSize size);
	[[nodiscard]] Buffer *create_or_make_room(struct sock *sk, smc_ib_buffer_kind kind,
						  wire::BufferSize size);
	// Of one that is not in use.
	[[nodiscard]] FreeList &list_of_locked(const Buffer &buffer) SMC_REQUIRES(lock_);
	// It waits there, for the next user or for its registration.
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
	// By kind and size code.
	std::array<std::array<FreeList, kCodes>, 2> free_ SMC_GUARDED_BY(lock_);
	// Dropped while their registration is under way.
	FreeList leaving_ SMC_GUARDED_BY(lock_);
	shell::List<Buffer, MemberTag> members_ SMC_GUARDED_BY(lock_); // free or not
	std::array<u64, 2> bytes_ SMC_GUARDED_BY(lock_){};
	u32 rmbs_ SMC_GUARDED_BY(lock_) = 0; // of members_
	u32 quarantined_ SMC_GUARDED_BY(lock_) = 0;
	bool closed_ SMC_GUARDED_BY(lock_) = false;
};

} // namespace smc::transport::rdma
