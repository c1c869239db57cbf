// SPDX-License-Identifier: GPL-2.0-only
//
// Pool: the memory of one link group's connections, kept between them. A used element is zeroed, as
// far as it was written, before the next user can see it. A kept slab stays in the memory cgroup
// that is charged for it, as long as there is room, and for kStale_ms.
//
// A new slab of RMBs has more elements than all of its size and cgroup so far, the next power of
// two, up to kSlabMax_bytes and net.smc.smcr_rmb_elements. So few slabs serve many connections, and
// less than half of the elements wait for a user. With memory scarce, or more elements than
// connections could use, it has one.
//
// Locking: its own (class POOL; POOL_UNMAP, taken before it, around unmapping and freeing).
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "core/group/limits.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc_list.hpp"
#include "kernel/abi/pernet.h"
#include "kernel/abi/ring_memory.h"
#include "kernel/abi/verbs.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/transport/rdma/buffer.hpp"
#include "shell/transport/rdma/link.hpp"
#include "shell/transport/rdma/slab.hpp"

namespace smc::transport::rdma {

class Pool {
public:
	// Unused elements that are kept of one size and kind; slabs beyond that are freed. Of large
	// ones, which rings grow to, as many as take no more memory than so much, or few.
	static constexpr u32 kKeepMax = 32;
	static constexpr u32 kKeepMin = 4;
	static constexpr u32 kKeepMax_bytes = 4U << 20;
	[[nodiscard]] static constexpr u32 keep_max(wire::BufferSize size)
	{
		return std::clamp(kKeepMax_bytes / size.bytes(), kKeepMin, kKeepMax);
	}
	static constexpr u32 kQuarantineMax = 64;
	// A slab that has been unused for longer is freed at some later run of the group.
	static constexpr u64 kStale_ms = 600'000;
	static constexpr u64 kSlabMax_bytes = u64{2} << 20;

	// @largest_bytes: the most that the group's device registers in one request.
	Pool(net *net, u64 largest_bytes)
		: net_(net), counters_(smc_counters(net)), buf_type_(smc_sysctl_smcr_buf_type(net)),
		  elements_max_(smc_sysctl_smcr_rmb_elements(net)), largest_bytes_(largest_bytes)
	{
	}

	// One of the size asked for, for @sk, or a smaller one if there is no memory for that or
	// the device cannot register it; nullptr if there is none at all. Process.
	[[nodiscard]] Buffer *take(struct sock *sk, smc_ib_buffer_kind kind,
				   wire::BufferSize asked);
	// Its slab could not be mapped: as give_back(), but the slab is not kept, and later ones
	// have one element each. Process.
	[[nodiscard]] Slab *turn_down(Buffer *buffer);
	// Takes it back. The first @used_bytes may hold a user's data. Returns its slab if that has
	// no more users and is not to be kept: then the caller frees it, by drop(), once the peer
	// has forgotten it. Process.
	[[nodiscard]] Slab *give_back(Buffer *buffer, u32 used_bytes);
	// Takes it back, but the peer may still write to it: nobody gets it until its slab has been
	// deleted, which it returns if it has no more users. Process.
	[[nodiscard]] Slab *doubt(Buffer *buffer);
	// The same where the peer must not be told, so that the slab stays until the group ends.
	// The caller counts. Process.
	void set_aside(Buffer *buffer);
	// Keeps a slab that give_back() or take_surplus() has returned, above keep_max(). False if
	// the peer may still write to it. Process.
	[[nodiscard]] bool keep(Slab *slab);
	// The peer may still write to the slab, or a device read it: it stays until the group ends.
	// False if there are kQuarantineMax already: then the group should end. Process.
	[[nodiscard]] bool quarantine(Slab *slab);
	// Frees it; if its registration is still under way, at a later free_unused(). Process.
	void drop(Slab *slab);
	// How many slabs of RMBs there are. Any context.
	[[nodiscard]] u32 rmbs();
	// A slab of unused RMBs that is not being registered, if there are more than @most slabs,
	// or it is stale, or memory for rings is scarce. The caller drops it, or keeps it after
	// all. Any context.
	[[nodiscard]] Slab *take_surplus(u32 most);
	// Frees dropped slabs, and stale send buffers, or all unused ones if memory for rings is
	// scarce, or @all of them anyway; none that is being registered. False if there was none.
	// Process.
	bool free_unused(bool all);
	// A new link: maps all slabs for it, used or not. (One that is on no link yet is mapped on
	// all by who takes it first.) Process, with the mutex that keeps the link, and that keeps
	// new slabs from being mapped meanwhile.
	[[nodiscard]] bool map_all(Link &link, const shell::Mutex &setup) SMC_REQUIRES(setup);
	// Registers all RMBs there. See Slab::enable(). Any context.
	[[nodiscard]] Registration enable_all(Link &link);
	// The rkey of each RMB on one link, with its key and address on another one. As many as fit
	// are put into @out; returns their number. Any context.
	[[nodiscard]] std::size_t rkey_pairs(group::LinkIndex known, group::LinkIndex link,
					     std::span<wire::RkeyPair> out);
	// The link is gone: unmaps all slabs, used or not. Process.
	void unmap_all(group::LinkIndex link);
	// No link is left: frees all slabs without users; another one is to be freed when its last
	// user gives it back. Process.
	void close();

	[[nodiscard]] u64 bytes(smc_ib_buffer_kind kind);
	// SMC_BUF_TYPE_*: the value of net.smc.smcr_buf_type when the group was made.
	[[nodiscard]] u32 buf_type() const { return buf_type_; }

private:
	using FreeList = shell::List<Buffer, FreeTag>;
	static constexpr u32 kCodes = wire::BufferSize::kCodeMax + 1;

	[[nodiscard]] FreeList &free_of(const Slab &slab) SMC_REQUIRES(lock_)
	{
		return free_[slab.kind()][slab.size().code()];
	}
	[[nodiscard]] Buffer *take_free(u64 memory_group, smc_ib_buffer_kind kind,
					wire::BufferSize size);
	// How many elements the next slab gets.
	[[nodiscard]] u32 next_elements(u64 memory_group, smc_ib_buffer_kind kind,
					wire::BufferSize size);
	[[nodiscard]] Buffer *create(struct sock *sk, smc_ib_buffer_kind kind,
				     wire::BufferSize size);
	[[nodiscard]] Buffer *create_slab(struct sock *sk, smc_ib_buffer_kind kind,
					  wire::BufferSize size, u32 elements);
	[[nodiscard]] bool is_vacant(const Slab &slab) const SMC_REQUIRES(lock_);
	// Nobody else takes an element of it, or frees it.
	void claim(Slab &slab) SMC_REQUIRES(lock_);
	// Takes its free elements out of the list.
	void withdraw(Slab &slab) SMC_REQUIRES(lock_);
	void put_free(Buffer &buffer) SMC_REQUIRES(lock_);
	void put_back(Buffer &buffer) SMC_REQUIRES(lock_);
	[[nodiscard]] Slab *take_unused(smc_ib_buffer_kind kind, bool all) SMC_REQUIRES(lock_);
	[[nodiscard]] Slab *take_left() SMC_REQUIRES(lock_);
	// A slab that is mapped elsewhere, but not there; nullptr if there is none.
	[[nodiscard]] Slab *find_unmapped(group::LinkIndex link) SMC_REQUIRES(unmapping_);
	// A region on that link, which its slab loses; nullptr if none is left.
	[[nodiscard]] smc_ib_region *take_region(group::LinkIndex link)
		SMC_REQUIRES(unmapping_, lock_);
	void wipe(const Buffer &buffer, u32 bytes);
	// No link finds it any more. In the hold of the lock in which it was seen that no
	// registration of it is under way: another link may be about to register all members.
	void leave(Slab &slab) SMC_REQUIRES(lock_);
	// Frees one that has left.
	void destroy(Slab *slab);
	static void free_memory(Slab *slab, const shell::Mutex &unmapping) SMC_REQUIRES(unmapping);

	net *const net_;
	struct smc_counters *const counters_;
	const u32 buf_type_;
	shell::SpinLock lock_{SMC_LOCK_POOL};
	shell::Mutex unmapping_{SMC_LOCK_POOL_UNMAP};
	u32 elements_max_ SMC_GUARDED_BY(lock_); // of a slab
	const u64 largest_bytes_;
	// Indexed by kind and size code. The last one used is the next one taken: unneeded ones
	// grow old at the end.
	std::array<std::array<FreeList, kCodes>, 2> free_ SMC_GUARDED_BY(lock_);
	// Dropped while being registered.
	shell::List<Slab, LeavingTag> leaving_ SMC_GUARDED_BY(lock_);
	shell::List<Slab, MemberTag> members_ SMC_GUARDED_BY(lock_); // used or not
	std::array<u64, 2> bytes_ SMC_GUARDED_BY(lock_){};
	u32 rmbs_ SMC_GUARDED_BY(lock_) = 0; // of members_
	u32 quarantined_ SMC_GUARDED_BY(lock_) = 0;
	bool closed_ SMC_GUARDED_BY(lock_) = false;
};

} // namespace smc::transport::rdma
