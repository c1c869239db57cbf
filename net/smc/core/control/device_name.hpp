// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace smc::control {

// Name of a network or RDMA device, at most kMax characters, never empty.
template <std::size_t kMax>
class DeviceName {
public:
	[[nodiscard]] static constexpr std::optional<DeviceName> from(std::string_view name)
	{
		if (name.empty() || name.size() > kMax)
			return std::nullopt;
		DeviceName result;
		for (std::size_t i = 0; i < name.size(); i++) {
			if (name[i] == '\0')
				return std::nullopt;
			result.chars_[i] = name[i];
		}
		result.length_ = name.size();
		return result;
	}

	[[nodiscard]] constexpr std::string_view view() const { return {chars_.data(), length_}; }

private:
	constexpr DeviceName() = default;

	std::array<char, kMax> chars_{};
	std::size_t length_ = 0;
};

} // namespace smc::control
