// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/pnet_id.hpp"

#include "core/control/ascii.hpp"

namespace smc::control {

std::optional<PnetId> PnetId::parse(std::string_view text)
{
	text = ascii::trim(text);
	if (text.empty() || text.size() > kSize)
		return std::nullopt;

	PnetId id;
	for (std::size_t i = 0; i < text.size(); i++) {
		const char c = ascii::to_upper(text[i]);
		if (!ascii::is_upper(c) && !ascii::is_digit(c))
			return std::nullopt;
		id.bytes_[i] = static_cast<std::uint8_t>(c);
	}
	return id;
}

std::size_t PnetId::length() const
{
	std::size_t length = kSize;
	while (length > 0 && bytes_[length - 1] == ' ')
		length--;
	return length;
}

} // namespace smc::control
