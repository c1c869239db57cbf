// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/peer_memory.hpp"

#include <gtest/gtest.h>

#include <set>

#include "control/peer.hpp"

namespace smc::control {
namespace {

constexpr std::uint64_t kLasts_ms = 1000;
using Kind = PeerMemory::Kind;
using test::peer;

TEST(PeerMemoryTest, KnowsNobodyAtFirst)
{
	const PeerMemory memory(1);

	EXPECT_EQ(memory.kind(peer(80), 5, kLasts_ms), Kind::kUnknown);
	EXPECT_EQ(memory.kind(Peer(), 5, kLasts_ms), Kind::kUnknown);
}

TEST(PeerMemoryTest, RemembersForAsLongAsItIsAskedTo)
{
	PeerMemory memory(1);

	memory.note_stranger(peer(80), 100, kLasts_ms);
	memory.note_server(peer(443), 100);
	EXPECT_EQ(memory.kind(peer(80), 1099, kLasts_ms), Kind::kStranger);
	EXPECT_EQ(memory.kind(peer(443), 1099, kLasts_ms), Kind::kServer);
	EXPECT_EQ(memory.kind(peer(80), 1100, kLasts_ms), Kind::kUnknown);
	EXPECT_EQ(memory.kind(peer(443), 1100, kLasts_ms), Kind::kUnknown);
	EXPECT_EQ(memory.kind(peer(80), 1100, kLasts_ms + 1), Kind::kStranger);
	// The clock of another processor may be a little behind.
	EXPECT_EQ(memory.kind(peer(80), 99, kLasts_ms), Kind::kStranger);
}

TEST(PeerMemoryTest, TellsPeersApart)
{
	PeerMemory memory(1);

	memory.note_stranger(peer(80), 100, kLasts_ms);
	EXPECT_EQ(memory.kind(peer(81), 100, kLasts_ms), Kind::kUnknown);
	EXPECT_EQ(memory.kind(peer(80, 2), 100, kLasts_ms), Kind::kUnknown);
	EXPECT_EQ(memory.kind(peer(80, 1, 3), 100, kLasts_ms), Kind::kUnknown);
}

TEST(PeerMemoryTest, AServerIsNoStrangerForOneFailure)
{
	PeerMemory memory(1);

	memory.note_server(peer(80), 100);
	memory.note_stranger(peer(80), 500, kLasts_ms);
	EXPECT_EQ(memory.kind(peer(80), 500, kLasts_ms), Kind::kServer);
	// But for one that comes when its last answer is forgotten.
	memory.note_stranger(peer(80), 1100, kLasts_ms);
	EXPECT_EQ(memory.kind(peer(80), 1100, kLasts_ms), Kind::kStranger);
	memory.note_server(peer(80), 1200);
	EXPECT_EQ(memory.kind(peer(80), 1200, kLasts_ms), Kind::kServer);
}

TEST(PeerMemoryTest, NotesAPeerOnce)
{
	PeerMemory memory(1);
	std::size_t rows = 0;

	for (std::uint64_t now_ms = 1; now_ms < 100; now_ms++)
		memory.note_server(peer(80), now_ms);
	for (std::size_t i = 0; i < PeerMemory::kRows; i++)
		rows += memory.row(i).kind != Kind::kUnknown ? 1 : 0;
	EXPECT_EQ(rows, 1U);
}

TEST(PeerMemoryTest, ForgetsTheOldestWhereThereIsNoRoom)
{
	PeerMemory memory(7);
	constexpr std::uint16_t kPeers = 60000;

	for (std::uint16_t port = 1; port <= kPeers; port++)
		memory.note_stranger(peer(port), port, 10 * kPeers);
	// The last ones are there, and those that went had been noted before.
	EXPECT_EQ(memory.kind(peer(kPeers), kPeers, 10 * kPeers), Kind::kStranger);
	std::size_t rows = 0;
	for (std::size_t i = 0; i < PeerMemory::kRows; i++) {
		const PeerMemory::Row &row = memory.row(i);

		rows += row.kind != Kind::kUnknown ? 1 : 0;
		EXPECT_GT(row.since_ms, kPeers / 2U);
	}
	EXPECT_EQ(rows, PeerMemory::kRows);
	memory.clear();
	EXPECT_EQ(memory.kind(peer(kPeers), kPeers, 10 * kPeers), Kind::kUnknown);
}

// Somebody who knows the hash could otherwise choose whose memory he displaces.
TEST(PeerMemoryTest, TheSeedDecidesWhoSharesASet)
{
	std::set<std::size_t> places;

	for (std::uint64_t seed = 1; seed <= 32; seed++) {
		PeerMemory memory(seed);

		memory.note_server(peer(80), 1);
		for (std::size_t i = 0; i < PeerMemory::kRows; i++) {
			if (memory.row(i).kind != Kind::kUnknown)
				places.insert(i / PeerMemory::kWays);
		}
	}
	EXPECT_GT(places.size(), 16U);
}

} // namespace
} // namespace smc::control
