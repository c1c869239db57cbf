// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace smc::control {

// An enterprise ID: hosts that share one belong together and may use SMCv2 across subnets.
// ASCII, blank padded, as on the wire (SMCv2 CLC messages).
inline constexpr std::size_t kEidSize = 32;
using Eid = std::array<std::uint8_t, kEidSize>;

// A user's EID: A-Z, 0-9, '.' and '-', a letter or a digit first, blanks only at the end.
[[nodiscard]] bool is_valid_ueid(const Eid &eid);

// Of hosts with this module for which none is set: they speak with each other, and with nobody
// else.
[[nodiscard]] Eid default_eid();

// The user EIDs of one network namespace. No lock: the caller's.
class EidTable {
public:
	static constexpr std::size_t kCapacity = 4;

	enum class Added {
		kYes,
		kInvalid,
		kFull,
		kExists,
	};
	[[nodiscard]] Added add(const Eid &eid);
	// False if it was not there.
	[[nodiscard]] bool remove(const Eid &eid);
	void clear() { size_ = 0; }

	[[nodiscard]] std::size_t size() const { return size_; }
	[[nodiscard]] bool contains(const Eid &eid) const;

	struct Row {
		Eid eid;
		std::uint64_t serial; // from 1, growing, never reused
	};
	// In order of arrival.
	[[nodiscard]] std::span<const Row> rows() const { return {rows_.data(), size_}; }

private:
	std::array<Row, kCapacity> rows_{};
	std::size_t size_ = 0;
	std::uint64_t last_serial_ = 0;
};

} // namespace smc::control
