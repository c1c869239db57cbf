// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>

// How much the tests try that try a lot. A kernel with KASAN and kmemleak, on an emulated
// processor, takes some hundred times as long as the host, and KUnit gives a case five minutes.
namespace smc::testing {

// Of random runs, in a kernel the first few of the same seeds.
constexpr std::uint32_t rounds(std::uint32_t on_host)
{
#ifdef __KERNEL__
	return on_host / 40;
#else
	return on_host;
#endif
}

// What each byte of a message is set to where every value would be too many.
#ifdef __KERNEL__
inline constexpr unsigned kByteValues[] = {0xff};
#else
inline constexpr unsigned kByteValues[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
#endif

// What each byte of a message is changed by where it may be everything; in a kernel, each bit.
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
