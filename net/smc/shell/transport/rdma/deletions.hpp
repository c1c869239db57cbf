// SPDX-License-Identifier: GPL-2.0-only
//
// Deletions: the slabs that a group frees, each kept until the peer has answered a DELETE_RKEY for
// it. Until then the peer may write to it; if it never answers, it may for ever.
//
// Locking: the group's lock, which is held around every call.
#pragma once

#include <cstddef>
#include <optional>

#include "core/base/fixed_vector.hpp"
#include "core/group/machine.hpp"
#include "kernel/abi/types.h"

namespace smc::transport::rdma {

class Slab;

class Deletions {
public:
	// As many as there can be connections: all may end together.
	static constexpr std::size_t kMax = 256;
	// DELETE_RKEYs for each slab, until the peer counts as one that does not answer.
	static constexpr u32 kTries = 2;
	// FlowIds at and above this are DELETE_RKEYs, those below are tokens of endpoints.
	static constexpr group::FlowId kFirstFlow = u64{1} << 32;

	// A DELETE_RKEY for @slab is to be sent.
	struct Request {
		Slab *slab;
		group::FlowId flow;
		std::size_t next; // where the next look begins
	};
	// The deletion of @slab has ended; unless @answered, the peer may still write to it.
	struct Over {
		Slab *slab;
		bool answered;
	};

	[[nodiscard]] static bool has(group::FlowId flow) { return flow >= kFirstFlow; }

	[[nodiscard]] std::size_t size() const { return entries_.size(); }
	[[nodiscard]] bool full() const { return size() == kMax; }

	// Unless @told, the peer does not know @slab, and the deletion ends at once. False if there
	// is no room.
	[[nodiscard]] bool add(Slab *slab, bool told)
	{
		return entries_.push_back({.slab = slab, .done = !told});
	}

	// The first slab, from position @from on, whose DELETE_RKEY is to be sent. The machine
	// takes only so many at a time, since new connections wait in the same queue.
	[[nodiscard]] std::optional<Request> request(std::size_t from)
	{
		if (asked_ >= group::kDeletionsMax)
			return {};
		for (std::size_t i = from; i < entries_.size(); i++) {
			Entry &entry = entries_[i];

			if (entry.flow != 0 || entry.done)
				continue;
			entry.flow = next_flow_++;
			asked_++;
			return Request{entry.slab, entry.flow, i + 1};
		}
		return {};
	}

	// The flow of a request() has ended, and the peer has @answered or not.
	void on_done(group::FlowId flow, bool answered)
	{
		for (Entry &entry : entries_.span()) {
			if (entry.flow != flow)
				continue;
			entry.flow = 0;
			asked_--;
			entry.done = answered || ++entry.unanswered == kTries;
		}
	}

	// A deletion that has ended. @all: any, since the group has ended.
	[[nodiscard]] std::optional<Over> take(bool all)
	{
		for (std::size_t i = 0; i < entries_.size(); i++) {
			const Entry entry = entries_[i];

			if (!entry.done && !all)
				continue;
			asked_ -= entry.flow != 0 ? 1 : 0;
			entries_.erase(i);
			return Over{entry.slab, all || entry.unanswered < kTries};
		}
		return {};
	}

private:
	struct Entry {
		group::FlowId flow = 0; // 0: no DELETE_RKEY is under way
		Slab *slab = nullptr;
		u32 unanswered = 0; // requests so far without an answer
		bool done = false;
	};

	FixedVector<Entry, kMax> entries_;
	std::size_t asked_ = 0; // DELETE_RKEYs under way
	group::FlowId next_flow_ = kFirstFlow;
};

} // namespace smc::transport::rdma
