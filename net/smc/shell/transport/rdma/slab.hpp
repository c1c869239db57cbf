// SPDX-License-Identifier: GPL-2.0-only
//
// Slab: memory of one link group that is registered as a whole, so that one rkey names it: an RMB,
// whose elements (RMBEs; RFC 7609, 4.4.2) are of one size, or a send buffer, which has one element.
// Announced once, a slab serves all connections that get an element of it.
#pragma once

#include <array>

#include "core/group/limits.hpp"
#include "core/wire/ids.hpp"
#include "kernel/abi/verbs.h"
#include "shell/base/errno.hpp"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/transport/rdma/buffer.hpp"
#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

class Pool;

struct MemberTag;
struct LeavingTag;

class Slab : public shell::ListNode<MemberTag>, public shell::ListNode<LeavingTag> {
public:
	// The index of an element, from 1, is a byte.
	static constexpr u32 kElementsMax = 255;

	// @size: of each element.
	Slab(net *net, u64 memory_group, smc_ib_buffer_kind kind, wire::BufferSize size)
		: net_(net), memory_group_(memory_group), kind_(kind), size_(size)
	{
	}
	~Slab();

	[[nodiscard]] std::byte *data() const
	{
		return static_cast<std::byte *>(smc_ib_buffer_data(memory_));
	}
	[[nodiscard]] wire::BufferSize size() const { return size_; }
	[[nodiscard]] u64 bytes() const { return u64{size_.bytes()} * elements_.size(); }
	[[nodiscard]] smc_ib_buffer_kind kind() const { return kind_; }
	// smc_ring_group() of the sock that it was made for.
	[[nodiscard]] u64 memory_group() const { return memory_group_; }
	// Address and keys on this link; valid once map() has succeeded for it.
	[[nodiscard]] const struct smc_ib_region_info &on(group::LinkIndex link) const
	{
		return infos_[link];
	}
	// On this link; nullptr if it is not mapped there.
	[[nodiscard]] smc_ib_region *region(group::LinkIndex link) const { return regions_[link]; }

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
	// for this slab. With the group's lock.
	void note_confirmed(u64 announcement, const shell::SpinLock &group) SMC_REQUIRES(group)
	{
		confirmed_.under(group) = announcement;
	}
	// The number of that CONFIRM_RKEY; 0: there was none.
	[[nodiscard]] u64 confirmed(const shell::SpinLock &group) const SMC_REQUIRES(group)
	{
		return confirmed_.under(group);
	}

	// The token of the connection whose CONFIRM_RKEY for it is under way, 0: none. With the
	// group's lock.
	[[nodiscard]] u32 &announcer(const shell::SpinLock &group) SMC_REQUIRES(group)
	{
		return announcer_.under(group);
	}

	// The slots that its elements keep, see Buffer::note_retired_slot(). With the group's lock.
	template <class Visit>
	void take_retired_slots(const shell::SpinLock &group, Visit &&visit) SMC_REQUIRES(group)
	{
		for (Buffer *element = elements_.front(); element != nullptr;
		     element = elements_.next(*element)) {
			const std::size_t slot = element->take_retired_slot(group);

			if (slot != 0)
				visit(slot);
		}
	}

	// Maps it for the link's device, so that its keys can be announced. Process, with the mutex
	// that keeps the link.
	[[nodiscard]] Result<void, shell::Errno> map(Link &link, const shell::Mutex &setup)
		SMC_REQUIRES(setup);
	// Registers the keys. The link must be ready to send. kDone: they work; kUnderWay and
	// kNoRoom: call again when the link reports that something was sent. Any context.
	[[nodiscard]] Registration enable(Link &link);
	// On some link.
	[[nodiscard]] bool mapped() const;
	// A registration request is in a link's queue: the memory has to stay.
	[[nodiscard]] bool registering() const;
	// The link is gone. Process.
	void unmap(group::LinkIndex link);

private:
	friend class Pool;

	[[nodiscard]] bool must_sync() const;
	void sync_for_device(u32 offset_bytes, u32 bytes, const shell::Mutex &unmapping) const
		SMC_REQUIRES(unmapping);

	smc_ib_buffer *memory_ = nullptr;
	std::array<smc_ib_region *, group::kLinksMax> regions_{};
	std::array<struct smc_ib_region_info, group::kLinksMax> infos_{};
	net *const net_;
	const u64 memory_group_;
	const smc_ib_buffer_kind kind_;
	const wire::BufferSize size_;
	shell::List<Buffer, ElementTag> elements_; // by index; the same for all its life
	// Guarded by the pool's lock.
	shell::Guarded<u64> idle_since_ms_; // when no connection uses an element
	shell::Guarded<u32> used_;          // elements of connections
	shell::Guarded<u32> doubtful_;      // elements that the peer may still write to
	shell::Guarded<u32> set_aside_;     // of these, until the group ends
	shell::Guarded<bool> claimed_;      // somebody deletes or frees it
	shell::Guarded<bool> turned_down_;  // could not be mapped: nobody else gets an element
	// Guarded by the group's lock.
	shell::Guarded<bool> told_;
	shell::Guarded<u64> confirmed_;
	shell::Guarded<u32> announcer_;
};

} // namespace smc::transport::rdma
