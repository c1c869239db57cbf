// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "trace.hpp"

namespace sim {

// A message as the observers read it: by offset, big endian, with the bounds checked.
class Reader {
public:
	explicit Reader(const std::string &bytes) : bytes_(bytes) {}

	[[nodiscard]] std::size_t size() const { return bytes_.size(); }
	[[nodiscard]] std::uint64_t number(std::size_t at, std::size_t bytes) const
	{
		std::uint64_t value = 0;

		if (at + bytes > bytes_.size())
			fail("a message of %zu bytes ends before byte %zu", bytes_.size(),
			     at + bytes);
		for (std::size_t i = 0; i < bytes; i++)
			value = value << 8 | static_cast<std::uint8_t>(bytes_[at + i]);
		return value;
	}
	[[nodiscard]] std::uint8_t byte(std::size_t at) const
	{
		return static_cast<std::uint8_t>(number(at, 1));
	}
	[[nodiscard]] std::string text(std::size_t at, std::size_t bytes) const
	{
		if (at + bytes > bytes_.size())
			fail("a message of %zu bytes ends before byte %zu", bytes_.size(),
			     at + bytes);
		return bytes_.substr(at, bytes);
	}
	[[nodiscard]] bool is_zero(std::size_t at, std::size_t bytes) const
	{
		return text(at, bytes) == std::string(bytes, '\0');
	}

private:
	const std::string &bytes_;
};

} // namespace sim
