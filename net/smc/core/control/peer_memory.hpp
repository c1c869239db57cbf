// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace smc::control {

// Whom a program connects to, as the program names him.
struct Peer {
	std::array<std::uint8_t, 16> address{}; // IPv4 as ::ffff:a.b.c.d
	std::uint32_t scope_id = 0;             // of a link-local address
	std::uint16_t port = 0;

	friend bool operator==(const Peer &, const Peer &) = default;
};

// How the peers that this host has connected to took the SMC option. Bounded: a new peer takes the
// place of the one in his set that was noted longest ago. No lock: the caller's. 32 KiB.
class PeerMemory {
public:
	static constexpr std::size_t kSets = 256; // a power of two
	static constexpr std::size_t kWays = 4;
	static constexpr std::size_t kRows = kSets * kWays;

	enum class Kind : std::uint8_t {
		kUnknown,
		kStranger, // showed the option, and then gave no CLC message for an answer
		kServer,   // answered by CLC
	};
	struct Row {
		Peer peer;
		Kind kind = Kind::kUnknown;
		std::uint64_t since_ms = 0;
	};

	// @seed: random, so that nobody knows who shares a set.
	explicit PeerMemory(std::uint64_t seed) : seed_(seed) {}

	// now_ms: any monotonic clock, the same in all calls. What is older than @lasts_ms is
	// forgotten.
	[[nodiscard]] Kind kind(const Peer &peer, std::uint64_t now_ms,
				std::uint64_t lasts_ms) const;
	void note_server(const Peer &peer, std::uint64_t now_ms);
	// Does not make a stranger of a server: it may only have been restarted.
	void note_stranger(const Peer &peer, std::uint64_t now_ms, std::uint64_t lasts_ms);
	void clear();

	// Below kRows; a free one is kUnknown.
	[[nodiscard]] const Row &row(std::size_t index) const
	{
		return sets_[index / kWays][index % kWays];
	}

private:
	using Set = std::array<Row, kWays>;

	[[nodiscard]] std::size_t set_of(const Peer &peer) const;
	[[nodiscard]] static Row &place(Set &set, const Peer &peer);
	void note(const Peer &peer, Kind kind, std::uint64_t now_ms);

	const std::uint64_t seed_;
	std::array<Set, kSets> sets_{};
};

} // namespace smc::control
