// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace sim {

// splitmix64: the same numbers for the same seed, everywhere and for ever.
class Random {
public:
	explicit Random(std::uint64_t seed) : state_(seed) {}

	std::uint64_t next()
	{
		std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		return z ^ (z >> 31);
	}
	// 0 … bound - 1.
	std::uint64_t below(std::uint64_t bound) { return next() % bound; }
	// from … to, both included.
	std::uint64_t between(std::uint64_t from, std::uint64_t to)
	{
		return from + below(to - from + 1);
	}
	// Never, for 0.
	bool one_in(std::uint64_t n) { return n != 0 && below(n) == 0; }
	bool percent(std::uint64_t p) { return below(100) < p; }
	template <class T, std::size_t N>
	const T &pick(const T (&values)[N])
	{
		return values[below(N)];
	}

private:
	std::uint64_t state_;
};

} // namespace sim
