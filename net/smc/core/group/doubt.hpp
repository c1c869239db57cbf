// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/fixed_vector.hpp"

namespace smc::group {

// Other end of a TCP connection; version 4 as ::ffff:a.b.c.d.
using TcpAddress = std::array<std::uint8_t, 16>;

// What a server's group remembers of the addresses that handshakes come from.
//
// A handshake that its client leaves behind the Accept leaves an RMB in doubt: the peer may write
// into it, so that it rests until the group ends. GID and peer ID that let somebody join are no
// secrets, and whoever has a TCP connection can name them. So each address answers for the RMBs
// that it has brought into doubt, and when it has had its share, it alone finds no place here.
// One that has completed a handshake is the peer's: it has told of an RMB on the link.
//
// No locking of its own: the caller's lock of the link group guards it.
class Doubt {
public:
	// RMBs in doubt of an address of the peer's.
	static constexpr std::uint32_t kOwnMax = 64;
	// Of any other one: RMBs in doubt, and handshakes under way, any of which may leave one.
	static constexpr std::uint32_t kStrangerMax = 8;
	// RMBs in doubt of all such together.
	static constexpr std::uint32_t kStrangersMax = 32;
	static constexpr std::size_t kAddressesMax = 32;

	// Whose Proposal the group is made for: there is always a place for that one.
	explicit Doubt(const TcpAddress &founder);

	// May a handshake from there begin?
	[[nodiscard]] bool admits(const TcpAddress &from) const;
	// It does: one that is admitted. Ends with one of the three below.
	void begin(const TcpAddress &from);
	void completed(const TcpAddress &from);
	void given_up(const TcpAddress &from);
	void left_in_doubt(const TcpAddress &from);

	// In doubt, of all addresses.
	[[nodiscard]] std::uint32_t rmbs() const { return rmbs_; }

private:
	struct Entry {
		TcpAddress address{};
		std::uint32_t in_doubt = 0;
		std::uint32_t under_way = 0;
		bool own = false; // the peer's
	};

	[[nodiscard]] Entry *find(const TcpAddress &address);
	[[nodiscard]] const Entry *find(const TcpAddress &address) const;
	[[nodiscard]] std::size_t replaceable() const;
	void settle(Entry *entry);

	// The founder's is the first one.
	FixedVector<Entry, kAddressesMax> entries_;
	std::uint32_t rmbs_ = 0;
	std::uint32_t strangers_rmbs_ = 0;
};

} // namespace smc::group
