// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>

// Prints values for the report of a failed case.
namespace testing::internal {

inline void print_hex(std::string &out, std::uint64_t value, unsigned digits)
{
	while (digits-- > 0)
		out += "0123456789abcdef"[value >> (4 * digits) & 15];
}

// A type that cannot be printed.
inline void print_bytes(std::string &out, const void *object, std::size_t size)
{
	out += std::to_string(size) + "-byte object <";
	for (std::size_t i = 0; i < size; i++)
		print_hex(out, static_cast<const unsigned char *>(object)[i], 2);
	out += '>';
}

template <class Value>
void print(std::string &out, const Value &value)
{
	if constexpr (std::is_same_v<Value, bool>) {
		out += value ? "true" : "false";
	} else if constexpr (std::is_null_pointer_v<Value>) {
		out += "nullptr";
	} else if constexpr (std::is_convertible_v<const Value &, std::string_view>) {
		out += '"';
		out += std::string_view(value);
		out += '"';
	} else if constexpr (std::is_pointer_v<Value>) {
		print_hex(out, reinterpret_cast<std::uintptr_t>(value), 2 * sizeof(value));
	} else if constexpr (std::is_enum_v<Value>) {
		out += std::to_string(static_cast<std::underlying_type_t<Value>>(value));
	} else if constexpr (std::is_integral_v<Value>) {
		out += std::to_string(value);
	} else if constexpr (std::ranges::range<const Value>) {
		out += '{';
		for (const auto &element : value) {
			out += ' ';
			print(out, element);
		}
		out += " }";
	} else if constexpr (requires {
				     {
					     value.has_value()
					     } -> std::same_as<bool>;
				     *value;
			     }) {
		if (value.has_value())
			print(out, *value);
		else
			out += "nothing";
	} else {
		print_bytes(out, &value, sizeof(value));
	}
}

// What a case adds with <<: text without quotation marks.
template <class Value>
void append(std::string &out, const Value &value)
{
	if constexpr (std::is_convertible_v<const Value &, std::string_view>)
		out += std::string_view(value);
	else if constexpr (std::is_same_v<Value, char>)
		out += value;
	else
		print(out, value);
}

} // namespace testing::internal
