// SPDX-License-Identifier: GPL-2.0-only
//
// Two ends that have spoken to each other: from then on they may use compact messages.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "connection/two_ends.hpp"

namespace smc::connection::test {

inline Config compact_config()
{
	Config config = plain_config();

	config.compact = true;
	return config;
}

// Rings so large that a reader can take more than a compact message can say.
inline Config spacious_config()
{
	Config config = compact_config();

	config.sndbuf_size_bytes = 16U << 20;
	config.rmb_size_bytes = 16U << 20;
	config.peer_rmb_size_bytes = 16U << 20;
	return config;
}

// Both ends have heard from each other.
struct Acquainted : Pair {
	explicit Acquainted(const Config &config = compact_config())
		: Acquainted(config, mirrored(config))
	{
	}
	Acquainted(const Config &config_a, const Config &config_b) : Pair(config_a, config_b)
	{
		for (auto [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
			from->send("hello");
			wire.settle();
			EXPECT_EQ(to->receive(), "hello");
			wire.settle();
		}
	}
};

} // namespace smc::connection::test
