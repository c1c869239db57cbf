// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/fixed_vector.hpp"

namespace smc::group {

// Other end of a TCP connection; version 4 as ::ffff:a.b.c.d.
using TcpAddress = std::array<std::uint8_t, 16>;

// Limits the RMBs that a peer's unfinished handshakes cost a server's group, by the client's
// address.
//
// A client that leaves its handshake after the Accept leaves an RMB in doubt: it may still write
// into it, so the RMB stays unused until the group ends. GID and peer ID, which decide whether a
// client joins a group, are no secrets: anybody with a TCP connection can name them. So RMBs in
// doubt are counted for each address, and an address with too many of them is no longer admitted;
// others are not affected. An address that has completed a handshake belongs to the peer itself: it
// has announced an RMB on the link.
//
// No locking of its own: the caller's lock of the link group guards it.
class Doubt {
public:
	// RMBs in doubt, for an address that belongs to the peer.
	static constexpr std::uint32_t kOwnMax = 64;
	// For any other address: RMBs in doubt and handshakes under way, each of which may leave
	// one.
	static constexpr std::uint32_t kStrangerMax = 8;
	// RMBs in doubt of all other addresses together.
	static constexpr std::uint32_t kStrangersMax = 32;
	static constexpr std::size_t kAddressesMax = 32;

	// @founder: whose Proposal the group is made for. It always keeps its entry.
	explicit Doubt(const TcpAddress &founder);

	// True if a handshake of this address may begin.
	[[nodiscard]] bool admits(const TcpAddress &from) const;
	// It begins; needs admits(). Ends with one of the three calls below.
	void begin(const TcpAddress &from);
	void completed(const TcpAddress &from);
	void given_up(const TcpAddress &from);
	void left_in_doubt(const TcpAddress &from);

	// RMBs in doubt, of all addresses.
	[[nodiscard]] std::uint32_t rmbs() const { return rmbs_; }

private:
	struct Entry {
		TcpAddress address{};
		std::uint32_t in_doubt = 0;
		std::uint32_t under_way = 0;
		bool own = false; // belongs to the peer
	};

	[[nodiscard]] Entry *find(const TcpAddress &address);
	[[nodiscard]] const Entry *find(const TcpAddress &address) const;
	[[nodiscard]] std::size_t replaceable() const;
	void settle(Entry *entry);

	// The first one is the founder's.
	FixedVector<Entry, kAddressesMax> entries_;
	std::uint32_t rmbs_ = 0;
	std::uint32_t strangers_rmbs_ = 0;
};

} // namespace smc::group
