// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace smc {

// Integers as they lie in a message: Size bytes, alignment 1, most significant byte first
// (or the machine's own order for Host…). They do not convert to integers by themselves, so an
// order can be neither forgotten nor applied twice. get() and set() are the only way across.
template <class Int, std::size_t Size, std::endian Order>
class WireInt {
	static_assert(Size >= 1 && Size <= sizeof(Int));

public:
	using Value = Int;

	constexpr WireInt() = default;

	// Bits above the field's width are dropped.
	[[nodiscard]] static constexpr WireInt from(Int value)
	{
		WireInt wire;
		wire.set(value);
		return wire;
	}

	[[nodiscard]] constexpr Int get() const { return get(std::make_index_sequence<Size>()); }

	constexpr void set(Int value) { set(value, std::make_index_sequence<Size>()); }

	friend constexpr bool operator==(const WireInt &, const WireInt &) = default;

private:
	// Without a loop, which compilers do not unroll for 8 bytes: then they see that it is one
	// load or store, with the bytes swapped.
	template <std::size_t... kIndices>
	[[nodiscard]] constexpr Int get(std::index_sequence<kIndices...>) const
	{
		return static_cast<Int>(
			((std::uint64_t{bytes_[kIndices]} << shift(kIndices)) | ...));
	}

	template <std::size_t... kIndices>
	constexpr void set(Int value, std::index_sequence<kIndices...>)
	{
		((bytes_[kIndices] =
			  static_cast<std::uint8_t>(std::uint64_t{value} >> shift(kIndices))),
		 ...);
	}

	static constexpr unsigned shift(std::size_t index)
	{
		const std::size_t rank = Order == std::endian::big ? Size - 1 - index : index;
		return static_cast<unsigned>(8 * rank);
	}

	std::uint8_t bytes_[Size] = {};
};

using Be16 = WireInt<std::uint16_t, 2, std::endian::big>;
using Be24 = WireInt<std::uint32_t, 3, std::endian::big>;
using Be32 = WireInt<std::uint32_t, 4, std::endian::big>;
using Be64 = WireInt<std::uint64_t, 8, std::endian::big>;

using Le16 = WireInt<std::uint16_t, 2, std::endian::little>;

// Fields that Linux leaves in the machine's own order: v2 LLC lengths and the SMC-D CDC.
using Host16 = WireInt<std::uint16_t, 2, std::endian::native>;

static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be24) == 3 && alignof(Be24) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);
static_assert(sizeof(Be64) == 8 && alignof(Be64) == 1);

} // namespace smc
