// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/fixed_vector.hpp"

namespace smc::control {

// With whom a network namespace does SMC, as its administrator says. The first rule that matches
// decides; without one SMC is allowed.
struct PeerRule {
	bool allow = false;
	bool out = true; // connections that are made from here
	bool in = true;  // that come here
	// The peer's: IPv4 is ::ffff:a.b.c.d with 96 bits more. 0 bits are every address.
	std::array<std::uint8_t, 16> address{};
	std::uint8_t prefix_bits = 0;
	// The server's, whichever side that is.
	std::uint16_t port_first = 0;
	std::uint16_t port_last = UINT16_MAX;

	friend bool operator==(const PeerRule &, const PeerRule &) = default;
};

// What rules are asked about.
struct PeerQuestion {
	bool out = false;
	std::array<std::uint8_t, 16> address{}; // the peer's
	std::uint16_t port = 0;                 // the server's
};

// No lock: the caller's.
class PeerRules {
public:
	static constexpr std::size_t kCapacity = 64;

	enum class Added {
		kYes,
		kInvalid, // no direction, ports the wrong way round, or bits behind the prefix
		kFull,
		kExists,
	};
	// Behind the others.
	[[nodiscard]] Added add(const PeerRule &rule);
	// False if it was not there.
	[[nodiscard]] bool remove(const PeerRule &rule);
	void clear() { rules_.clear(); }

	[[nodiscard]] bool allow(const PeerQuestion &question) const;

	[[nodiscard]] std::size_t size() const { return rules_.size(); }
	// Below size().
	[[nodiscard]] const PeerRule &rule(std::size_t index) const { return rules_[index]; }

private:
	FixedVector<PeerRule, kCapacity> rules_;
};

} // namespace smc::control
