// SPDX-License-Identifier: GPL-2.0-only
//
// Buffer: the RMBE or the send buffer of one connection, an element of a Slab. Sizes are those of
// RFC 7609's encoding, 16 KiB << code.
#pragma once

#include <cstddef>
#include <utility>

#include "core/group/limits.hpp"
#include "core/ring/segments.hpp"
#include "core/wire/ids.hpp"
#include "kernel/abi/types.h"
#include "kernel/abi/verbs.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::transport::rdma {

class Pool;
class Slab;

struct FreeTag;
struct ElementTag;

class Buffer : public shell::ListNode<FreeTag>, public shell::ListNode<ElementTag> {
public:
	Buffer(Slab &slab, u32 index) : slab_(slab), index_(index) {}

	[[nodiscard]] Slab &slab() const { return slab_; }
	// As the wire counts.
	[[nodiscard]] u8 rmbe_index() const { return static_cast<u8>(index_ + 1); }
	[[nodiscard]] wire::BufferSize size() const;
	[[nodiscard]] std::byte *data() const;
	// Where it begins in its slab, and in the slab's regions.
	[[nodiscard]] u32 offset_bytes() const { return index_ * size().bytes(); }

	// The device's writes need sync_for_cpu() before the CPU can read them.
	[[nodiscard]] bool must_sync(group::LinkIndex link) const;
	// Makes these pieces, which the device has written, visible to the CPU. The slab must be
	// mapped on the link. Any context.
	void sync_for_cpu(group::LinkIndex link, const ring::Segments &pieces) const;

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

private:
	friend class Pool;

	Slab &slab_;
	const u32 index_;
	shell::Guarded<std::size_t> retired_slot_; // by the group's lock
};

} // namespace smc::transport::rdma
