// SPDX-License-Identifier: GPL-2.0-only
//
// Deletions: the RMBs that a group gives up, each until the peer has been told by DELETE_RKEY and
// has answered. It may write to one until then; if it never answers, it may for ever.
//
// Locking: the group's lock, which is held around every call.
#pragma once

#include <cstddef>
#include <optional>

#include "core/base/fixed_vector.hpp"
#include "core/group/machine.hpp"
#include "kernel/abi/types.h"

namespace smc::transport::rdma {

class Buffer;

class Deletions {
public:
	// As many as there can be connections: all may end at once.
	static constexpr std::size_t kMax = 256;
	// Requests for each, before the peer counts as one that does not answer them.
	static constexpr u32 kTries = 2;
	// FlowIds at and above this are DELETE_RKEYs, those below are tokens of endpoints.
	static constexpr group::FlowId kFirstFlow = u64{1} << 32;

	// The peer is to be asked to forget @rmb.
	struct Request {
		Buffer *rmb;
		group::FlowId flow;
		std::size_t next; // where to look for one more
	};
	// @rmb can go; unless @answered, the peer may still write to it.
	struct Over {
		Buffer *rmb;
		bool answered;
	};

	[[nodiscard]] static bool has(group::FlowId flow) { return flow >= kFirstFlow; }

	[[nodiscard]] std::size_t size() const { return entries_.size(); }
	[[nodiscard]] bool full() const { return size() == kMax; }

	// Unless @told, the peer knows nothing of it, and it is over at once. False if there is no
	// room.
	[[nodiscard]] bool add(Buffer *rmb, bool told)
	{
		return entries_.push_back({.rmb = rmb, .done = !told});
	}

	// The first one from @from on that the peer has to be asked for. The machine takes so many
	// at a time, as connections that begin wait for its turn, too.
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
			return Request{entry.rmb, entry.flow, i + 1};
		}
		return {};
	}

	// The machine is through with a request(), and whether the peer has @answered it.
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

	// One that is over. @all: the group has ended, and so each of them is.
	[[nodiscard]] std::optional<Over> take(bool all)
	{
		for (std::size_t i = 0; i < entries_.size(); i++) {
			const Entry entry = entries_[i];

			if (!entry.done && !all)
				continue;
			asked_ -= entry.flow != 0 ? 1 : 0;
			entries_.erase(i);
			return Over{entry.rmb, all || entry.unanswered < kTries};
		}
		return {};
	}

private:
	struct Entry {
		group::FlowId flow = 0; // 0: the peer is not being asked
		Buffer *rmb = nullptr;
		u32 unanswered = 0; // requests
		bool done = false;
	};

	FixedVector<Entry, kMax> entries_;
	std::size_t asked_ = 0; // of them
	group::FlowId next_flow_ = kFirstFlow;
};

} // namespace smc::transport::rdma
