// SPDX-License-Identifier: GPL-2.0-only
//
// Lists of variable length inside LLC messages: their items, and how these lie on the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/bytes.hpp"
#include "core/base/check.hpp"
#include "core/base/endian.hpp"
#include "core/wire/ids.hpp"

namespace smc::wire {

// An RMB's key on the link that carries the message, and its key and address on the new link.
struct RkeyPair {
	Rkey rkey;
	Rkey new_rkey;
	std::uint64_t new_address = 0;

	friend constexpr bool operator==(const RkeyPair &, const RkeyPair &) = default;
};

// How one item of a list lies on the wire.
struct RkeyPairCodec {
	using Value = RkeyPair;
	static constexpr std::size_t kSize = 16;
	static void put(const Value &value, std::byte *to);
	static Value get(const std::byte *from);
};

namespace layout {

struct RkeyPairEntry {
	Be32 rkey{};
	Be32 new_rkey{};
	Be64 new_address{};
};
static_assert(sizeof(RkeyPairEntry) == RkeyPairCodec::kSize);

} // namespace layout

struct RkeyCodec {
	using Value = Rkey;
	static constexpr std::size_t kSize = 4;
	static void put(const Value &value, std::byte *to);
	static Value get(const std::byte *from);
};
struct GidCodec {
	using Value = Gid;
	static constexpr std::size_t kSize = 16;
	static void put(const Value &value, std::byte *to);
	static Value get(const std::byte *from);
};

// A list inside a message: a view of bytes that were found to be all there. It is as short-lived
// as those bytes, i.e. as the receive buffer, or as the caller's own space when encoding.
template <class Codec>
class WireList {
public:
	using Value = typename Codec::Value;
	static constexpr std::size_t kItemSize = Codec::kSize;

	constexpr WireList() = default;

	// The list that lies in these bytes; a rest that makes no whole item is left out.
	[[nodiscard]] static constexpr WireList over(ByteSpan bytes)
	{
		WireList list;
		list.bytes_ = bytes.first(bytes.size() - bytes.size() % kItemSize);
		return list;
	}

	// Lays items out in space of the caller's, for an encoder to copy from. Those that do not
	// fit are left out.
	[[nodiscard]] static WireList of(std::span<const Value> items, MutableByteSpan space)
	{
		std::size_t count = 0;
		for (const Value &item : items) {
			if (space.size() - count * kItemSize < kItemSize)
				break;
			Codec::put(item, space.data() + count * kItemSize);
			count++;
		}
		return over(space.first(count * kItemSize));
	}

	[[nodiscard]] constexpr std::size_t size() const { return bytes_.size() / kItemSize; }
	[[nodiscard]] constexpr bool empty() const { return bytes_.empty(); }
	[[nodiscard]] Value operator[](std::size_t index) const
	{
		expects(index < size());
		return Codec::get(bytes_.data() + index * kItemSize);
	}
	[[nodiscard]] constexpr ByteSpan bytes() const { return bytes_; }

	friend bool operator==(const WireList &a, const WireList &b)
	{
		return a.bytes_.size() == b.bytes_.size() &&
		       (a.empty() ||
			std::memcmp(a.bytes_.data(), b.bytes_.data(), a.bytes_.size()) == 0);
	}

private:
	ByteSpan bytes_;
};

using RkeyPairList = WireList<RkeyPairCodec>;
using RkeyList = WireList<RkeyCodec>;
using GidList = WireList<GidCodec>;

} // namespace smc::wire
