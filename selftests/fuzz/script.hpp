// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"

namespace smc::fuzz {

// The fuzzer's input as a sequence of decisions; 0 when it is used up.
class Script {
public:
	explicit Script(ByteSpan bytes) : left_(bytes) {}

	[[nodiscard]] bool done() const { return left_.empty(); }

	ByteSpan take(std::size_t size_bytes)
	{
		const ByteSpan taken = left_.first(std::min(size_bytes, left_.size()));

		left_ = left_.subspan(taken.size());
		return taken;
	}
	std::uint32_t number(std::size_t size_bytes)
	{
		std::uint32_t value = 0;

		for (const std::byte byte : take(size_bytes))
			value = value << 8 | std::to_integer<std::uint32_t>(byte);
		return value;
	}
	std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
	std::uint32_t below(std::uint32_t bound) { return byte() % bound; }

private:
	ByteSpan left_;
};

} // namespace smc::fuzz
