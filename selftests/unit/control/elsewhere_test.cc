// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/elsewhere.hpp"

#include <gtest/gtest.h>

namespace smc::control {
namespace {

Peer peer(std::uint8_t last, std::uint16_t port = 80, std::uint32_t scope_id = 0)
{
	Peer result{.scope_id = scope_id, .port = port};

	result.address[10] = result.address[11] = 0xff;
	result.address[12] = 10;
	result.address[15] = last;
	return result;
}

TEST(ElsewhereTest, HostsAreKnownForAWhile)
{
	Elsewhere elsewhere(1);

	EXPECT_FALSE(elsewhere.has(peer(1), 100, 0));
	elsewhere.note(peer(1), 100, 0);
	EXPECT_TRUE(elsewhere.has(peer(1), 100, 0));
	EXPECT_TRUE(elsewhere.has(peer(1, 443), 100 + Elsewhere::kLasts_ms - 1, 0));
	EXPECT_FALSE(elsewhere.has(peer(1), 100 + Elsewhere::kLasts_ms, 0));
	EXPECT_FALSE(elsewhere.has(peer(2), 100, 0));
	EXPECT_FALSE(elsewhere.has(peer(1, 80, 3), 100, 0));
}

TEST(ElsewhereTest, ChangesEndIt)
{
	Elsewhere elsewhere(1);

	elsewhere.note(peer(1), 100, 0);
	EXPECT_FALSE(elsewhere.has(peer(1), 100, 1));
	elsewhere.note(peer(2), 100, 1);
	EXPECT_FALSE(elsewhere.has(peer(1), 100, 1));
	EXPECT_TRUE(elsewhere.has(peer(2), 100, 1));
	// Found before the change, and noted after it.
	elsewhere.note(peer(3), 100, 0);
	EXPECT_FALSE(elsewhere.has(peer(3), 100, 1));
}

} // namespace
} // namespace smc::control
