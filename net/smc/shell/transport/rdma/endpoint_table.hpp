// SPDX-License-Identifier: GPL-2.0-only
//
// EndpointTable: the connections of a link group by token; it holds a reference to each.
//
// Locking: the group's lock is held around every call but look().
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "core/group/token_table.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/rdma/rdma_endpoint.hpp"

namespace smc::transport::rdma {

class EndpointTable {
public:
	static constexpr std::size_t kSlots = group::TokenTable<RdmaEndpoint>::kCapacity + 1;

	[[nodiscard]] static std::size_t slot_of(wire::Token token) { return token.value() & 0xff; }

	// Its token, with these random bits; none if the table is full.
	[[nodiscard]] std::optional<wire::Token> insert(shell::Ref<RdmaEndpoint> endpoint,
							u32 random24)
	{
		const auto token = tokens_.insert(endpoint.get(), random24);

		if (token)
			(void)endpoint.release();
		return token;
	}
	// The endpoint is complete: look() finds it from now on.
	void show(RdmaEndpoint &endpoint, wire::Token token)
	{
		slots_[slot_of(token)].store(&endpoint, std::memory_order_release);
	}
	// Its reference; none if it is not in the table. With @retire the slot stays taken until
	// free_retired().
	[[nodiscard]] shell::Ref<RdmaEndpoint> erase(wire::Token token, bool retire)
	{
		auto endpoint = shell::Ref<RdmaEndpoint>::adopt(retire ? tokens_.retire(token)
								       : tokens_.erase(token));

		if (endpoint)
			slots_[slot_of(token)].store(nullptr, std::memory_order_release);
		return endpoint;
	}
	void free_retired(std::size_t slot) { tokens_.free_retired(slot); }
	[[nodiscard]] std::size_t retired() const { return tokens_.retired(); }

	// A message for this token, or for this slot, may be for a connection that has ended.
	[[nodiscard]] bool is_past(wire::Token token) const { return tokens_.is_past(token); }
	[[nodiscard]] bool is_retired(std::size_t slot) const { return tokens_.is_retired(slot); }

	[[nodiscard]] RdmaEndpoint *find(wire::Token token) const { return tokens_.find(token); }
	// The endpoint in this slot, in 1..kSlots - 1, if it is shown.
	[[nodiscard]] RdmaEndpoint *in_slot(std::size_t slot) const
	{
		return slots_[slot].load(std::memory_order_relaxed);
	}
	template <class Visit>
	void for_each(Visit &&visit) const
	{
		tokens_.for_each(
			[&visit](RdmaEndpoint &endpoint, wire::Token) { visit(endpoint); });
	}
	[[nodiscard]] std::size_t size() const { return tokens_.size(); }
	[[nodiscard]] bool empty() const { return tokens_.empty(); }

	// The endpoint in this slot, in 0..kSlots - 1; its token has more bits. Any context,
	// without the lock.
	[[nodiscard]] RdmaEndpoint *look(std::size_t slot) const
		SMC_REQUIRES_SHARED(shell::rcu_read_side)
	{
		return slots_[slot].load(std::memory_order_acquire);
	}

private:
	group::TokenTable<RdmaEndpoint> tokens_;
	std::array<std::atomic<RdmaEndpoint *>, kSlots> slots_{};
};

} // namespace smc::transport::rdma
