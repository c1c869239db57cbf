// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "core/control/peer_memory.hpp"

namespace smc::control {

// Hosts to which no device of this one leads, as connections to them have just found. What can
// change that (a device, a port, an address, a PNET ID, an EID) begins a new epoch, and what was
// known before does not count any more. Routes change without that: nothing is known for long. No
// lock: the caller's.
class Elsewhere {
public:
	static constexpr std::uint64_t kLasts_ms = 10'000;

	// @seed: see PeerMemory.
	explicit Elsewhere(std::uint64_t seed) : hosts_(seed) {}

	// now_ms: any monotonic clock, the same in all calls. @epoch: the one that it is.
	[[nodiscard]] bool has(const Peer &peer, std::uint64_t now_ms, std::uint64_t epoch) const
	{
		return epoch == epoch_ &&
		       hosts_.kind(host_of(peer), now_ms, kLasts_ms) != PeerMemory::Kind::kUnknown;
	}
	// @epoch: the one in which that was found.
	void note(const Peer &peer, std::uint64_t now_ms, std::uint64_t epoch)
	{
		if (epoch != epoch_)
			hosts_.clear();
		epoch_ = epoch;
		hosts_.note_stranger(host_of(peer), now_ms, kLasts_ms);
	}

private:
	// No route depends on the port.
	[[nodiscard]] static Peer host_of(const Peer &peer)
	{
		return {.address = peer.address, .scope_id = peer.scope_id};
	}

	PeerMemory hosts_; // strangers only
	std::uint64_t epoch_ = 0;
};

} // namespace smc::control
