// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>

// How many values and runs the expensive tests try. A kernel with KASAN and kmemleak, on an
// emulated processor, takes some hundred times as long as the host, and KUnit stops a case after
// five minutes.
namespace smc::testing {

// Random runs; in a kernel the first few of the same seeds.
constexpr std::uint32_t rounds(std::uint32_t on_host)
{
#ifdef __KERNEL__
	return on_host / 40;
#else
	return on_host;
#endif
}

// The values for each byte of a message where all would be too many.
#ifdef __KERNEL__
inline constexpr unsigned kByteValues[] = {0xff};
#else
inline constexpr unsigned kByteValues[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
#endif

// The changes to each byte of a message: all values, or in a kernel each bit.
#ifdef __KERNEL__
inline constexpr unsigned kByteMasks[] = {0, 1, 2, 4, 8, 16, 32, 64, 128};
#else
// Not std::views::iota(): clang 14, which counts the coverage, does not take libstdc++'s.
inline constexpr auto kByteMasks = [] {
	std::array<unsigned, 256> masks{};

	for (unsigned i = 0; i < masks.size(); i++)
		masks[i] = i;
	return masks;
}();
#endif

} // namespace smc::testing
