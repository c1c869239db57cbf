// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

// Character classes that do not depend on a locale or on the kernel's Latin-1 table: PNET IDs and
// EIDs are ASCII whatever the host thinks a letter is.
namespace smc::control::ascii {

[[nodiscard]] constexpr bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

[[nodiscard]] constexpr bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

[[nodiscard]] constexpr char to_upper(char c)
{
	return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

[[nodiscard]] constexpr std::string_view trim(std::string_view text)
{
	while (!text.empty() && is_space(text.front()))
		text.remove_prefix(1);
	while (!text.empty() && is_space(text.back()))
		text.remove_suffix(1);
	return text;
}

} // namespace smc::control::ascii
