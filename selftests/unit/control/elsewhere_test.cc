// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/elsewhere.hpp"

#include <gtest/gtest.h>

#include "control/peer.hpp"

namespace smc::control {
namespace {

using test::peer;

TEST(ElsewhereTest, HostsAreKnownForAWhile)
{
	Elsewhere elsewhere(1);

	EXPECT_FALSE(elsewhere.has(peer(80, 1), 100, 0));
	elsewhere.note(peer(80, 1), 100, 0);
	EXPECT_TRUE(elsewhere.has(peer(80, 1), 100, 0));
	EXPECT_TRUE(elsewhere.has(peer(443, 1), 100 + Elsewhere::kLasts_ms - 1, 0));
	EXPECT_FALSE(elsewhere.has(peer(80, 1), 100 + Elsewhere::kLasts_ms, 0));
	EXPECT_FALSE(elsewhere.has(peer(80, 2), 100, 0));
	EXPECT_FALSE(elsewhere.has(peer(80, 1, 3), 100, 0));
}

TEST(ElsewhereTest, ChangesEndIt)
{
	Elsewhere elsewhere(1);

	elsewhere.note(peer(80, 1), 100, 0);
	EXPECT_FALSE(elsewhere.has(peer(80, 1), 100, 1));
	elsewhere.note(peer(80, 2), 100, 1);
	EXPECT_FALSE(elsewhere.has(peer(80, 1), 100, 1));
	EXPECT_TRUE(elsewhere.has(peer(80, 2), 100, 1));
	// Found before the change, and noted after it.
	elsewhere.note(peer(80, 3), 100, 0);
	EXPECT_FALSE(elsewhere.has(peer(80, 3), 100, 1));
}

} // namespace
} // namespace smc::control
