// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace smc {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

// A wire struct: nothing but bytes, so that any address and any content is a valid one.
template <class T>
concept WireStruct = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
		     std::is_default_constructible_v<T> && alignof(T) == 1;

// Copies the struct at an offset out of a message; nothing if it would reach past the end.
template <WireStruct T>
[[nodiscard]] inline std::optional<T> load(ByteSpan bytes, std::size_t offset = 0)
{
	if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
		return std::nullopt;
	T value;
	std::memcpy(&value, bytes.data() + offset, sizeof(T));
	return value;
}

// Copies a struct to an offset of a message; false, and nothing written, if it does not fit.
template <WireStruct T>
[[nodiscard]] inline bool store(MutableByteSpan bytes, std::size_t offset, const T &value)
{
	if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
		return false;
	std::memcpy(bytes.data() + offset, &value, sizeof(T));
	return true;
}

} // namespace smc
