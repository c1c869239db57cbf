// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/peer_memory.hpp"

#include <bit>

#include "core/base/elapsed.hpp"
#include "core/base/hash.hpp"

namespace smc::control {

std::size_t PeerMemory::set_of(const Peer &peer) const
{
	std::uint64_t hash = seed_;
	const auto add = [&hash](std::uint64_t value) {
		hash = mix(hash, value);
		hash ^= hash >> 32;
	};

	for (const std::uint64_t half : std::bit_cast<std::array<std::uint64_t, 2>>(peer.address))
		add(half);
	add(std::uint64_t{peer.scope_id} << 16 | peer.port);
	return hash % kSets;
}

PeerMemory::Row &PeerMemory::place(Set &set, const Peer &peer)
{
	Row *oldest = &set.front();

	for (Row &row : set) {
		if (row.kind != Kind::kUnknown && row.peer == peer)
			return row;
		// One that is free has never been noted.
		if (row.since_ms < oldest->since_ms)
			oldest = &row;
	}
	return *oldest;
}

PeerMemory::Kind PeerMemory::kind(const Peer &peer, std::uint64_t now_ms,
				  std::uint64_t lasts_ms) const
{
	for (const Row &row : sets_[set_of(peer)]) {
		if (row.kind != Kind::kUnknown && row.peer == peer)
			return elapsed_ms(row.since_ms, now_ms) < lasts_ms ? row.kind
									   : Kind::kUnknown;
	}
	return Kind::kUnknown;
}

void PeerMemory::note(const Peer &peer, Kind kind, std::uint64_t now_ms)
{
	place(sets_[set_of(peer)], peer) = {peer, kind, now_ms};
}

void PeerMemory::note_server(const Peer &peer, std::uint64_t now_ms)
{
	note(peer, Kind::kServer, now_ms);
}

void PeerMemory::note_stranger(const Peer &peer, std::uint64_t now_ms, std::uint64_t lasts_ms)
{
	if (kind(peer, now_ms, lasts_ms) != Kind::kServer)
		note(peer, Kind::kStranger, now_ms);
}

void PeerMemory::clear()
{
	sets_ = {};
}

} // namespace smc::control
