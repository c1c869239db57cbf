// SPDX-License-Identifier: GPL-2.0-only
//
// A send buffer whose memory comes and goes.
#include <gtest/gtest.h>

#include <string>

#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

void replace(End &end, std::uint32_t size_bytes)
{
	end.sndbuf.assign(size_bytes, '\xee');
	EXPECT_TRUE(end.connection.replace_send_buffer(size_bytes));
}

void await_completions(Pair &pair, End &end)
{
	end.connection.request_completion();
	end.transmit();
	pair.wire.settle();
}

TEST(SendBufferTest, IsIdleWhenAllHasCompleted)
{
	Pair pair;

	EXPECT_TRUE(pair.a.connection.send_buffer_is_idle());
	pair.a.append("held");
	EXPECT_FALSE(pair.a.connection.send_buffer_is_idle());
	pair.a.transmit();
	EXPECT_FALSE(pair.a.connection.send_buffer_is_idle());
	pair.wire.settle();
	// The peer has taken it, but the device may not know.
	EXPECT_EQ(pair.b.receive(), "held");
	EXPECT_FALSE(pair.a.connection.send_buffer_is_idle());
	await_completions(pair, pair.a);
	EXPECT_TRUE(pair.a.connection.send_buffer_is_idle());
}

TEST(SendBufferTest, BeginsAnewWithAnotherSize)
{
	for (const std::uint32_t size_bytes : {64u, 1000u, 16384u, 100'000u}) {
		Pair pair;

		pair.a.send(std::string(9999, 'x'));
		pair.wire.settle();
		EXPECT_EQ(pair.b.receive().size(), 9999u);
		await_completions(pair, pair.a);
		replace(pair.a, size_bytes);
		EXPECT_EQ(pair.a.connection.sndbuf_size_bytes(), size_bytes);
		EXPECT_EQ(pair.a.connection.sndbuf_free_bytes(), size_bytes);
		EXPECT_EQ(pair.a.connection.write_segments(1).begin()->offset_bytes, 0u);
		for (int i = 0; i < 50; i++) {
			const std::string said(60, static_cast<char>('a' + i % 26));

			EXPECT_EQ(pair.a.send(said), said.size());
			pair.wire.settle();
			EXPECT_EQ(pair.b.receive(), said);
			pair.wire.settle();
		}
	}
}

TEST(SendBufferTest, StaysWhileBytesOfItAreNeeded)
{
	Pair pair;

	pair.a.send("abc");
	EXPECT_FALSE(pair.a.connection.replace_send_buffer(4096));
	EXPECT_EQ(pair.a.connection.sndbuf_size_bytes(), 16384u);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "abc");
	await_completions(pair, pair.a);
	EXPECT_FALSE(pair.a.connection.replace_send_buffer(Connection::kMinRingBytes - 1));
	EXPECT_FALSE(pair.a.connection.replace_send_buffer(ring::kMaxSizeBytes + 1));
	EXPECT_EQ(pair.a.connection.sndbuf_size_bytes(), 16384u);
	EXPECT_FALSE(pair.a.connection.broken());
}

// What is said meanwhile needs no send buffer.
TEST(SendBufferTest, MayBeReplacedWhileMessagesAreUnderWay)
{
	Pair pair;
	const std::string full(16384, 'x');

	pair.b.send(full);
	pair.wire.settle();
	EXPECT_EQ(pair.a.receive(), full);
	EXPECT_FALSE(pair.a.posted.empty()); // an update
	EXPECT_FALSE(pair.a.connection.send_buffer_is_idle());
	replace(pair.a, 4096);
	pair.a.send("abc");
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "abc");
}

TEST(SendBufferTest, IsNotWritableWithoutMemory)
{
	Pair pair;
	Connection &connection = pair.a.connection;

	EXPECT_FALSE(connection.send_buffer_lacks());
	connection.note_send_buffer_lacks();
	EXPECT_TRUE(connection.send_buffer_lacks());
	EXPECT_FALSE(connection.writable_for_poll());
	connection.try_send_buffer_again();
	EXPECT_FALSE(connection.send_buffer_lacks());
	EXPECT_TRUE(connection.writable_for_poll());
	connection.note_send_buffer_lacks();
	replace(pair.a, 4096);
	EXPECT_TRUE(connection.writable_for_poll());
}

constexpr std::uint32_t kBorrowedBytes = 4096;

void borrow(End &end)
{
	end.sndbuf.assign(kBorrowedBytes, '\xee');
	EXPECT_TRUE(end.connection.replace_send_buffer(kBorrowedBytes, /*borrowed=*/true));
}

// The peer reads nothing, or in small pieces. Whatever a borrowed buffer has taken leaves it.
TEST(SendBufferTest, IsNotHeldByASlowPeerWhenBorrowed)
{
	Pair pair;
	Connection &connection = pair.a.connection;
	const std::string bytes(3000, 'x');
	std::size_t sent = 0;
	std::size_t received = 0;

	borrow(pair.a);
	for (int i = 0; i < 1000; i++) {
		sent += pair.a.append(bytes);
		EXPECT_LE(connection.unsent_bytes(), connection.peer_window_bytes());
		pair.a.transmit();
		pair.wire.settle();
		await_completions(pair, pair.a);
		EXPECT_TRUE(connection.send_buffer_is_idle());
		if (i == 100) {
			EXPECT_GT(sent, connection.peer_rmb_size_bytes() / 2);
		}
		if (i >= 100)
			received += pair.b.receive(700).size();
	}
	EXPECT_GT(sent, 100'000u);
	EXPECT_EQ(sent - received, pair.b.connection.readable_bytes());
}

// What has no room is not taken, and the writer is told when there is some.
TEST(SendBufferTest, WaitsForThePeerWhenBorrowed)
{
	Pair pair;
	Connection &connection = pair.a.connection;
	const std::uint32_t ring_bytes = connection.peer_rmb_size_bytes();

	pair.a.send(std::string(ring_bytes, 'x'));
	pair.wire.settle();
	await_completions(pair, pair.a);
	EXPECT_FALSE(connection.may_borrow());
	borrow(pair.a);
	EXPECT_FALSE(connection.awaits_peer_room());
	EXPECT_EQ(pair.a.append("y"), 0u);
	EXPECT_TRUE(connection.awaits_peer_room());
	EXPECT_FALSE(connection.writable_for_poll());
	EXPECT_TRUE(connection.send_buffer_is_idle());
	// That it also looks for memory of its own changes nothing about that.
	connection.note_send_buffer_lacks();
	EXPECT_EQ(pair.a.append("y"), 0u);
	EXPECT_TRUE(connection.send_buffer_lacks());
	EXPECT_EQ(pair.b.receive().size(), ring_bytes);
	pair.wire.settle();
	EXPECT_FALSE(connection.awaits_peer_room());
	EXPECT_TRUE(connection.writable_for_poll());
	EXPECT_TRUE(connection.may_borrow());
	EXPECT_EQ(pair.a.send("y"), 1u);
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive(), "y");
	// One of its own takes what has no room.
	await_completions(pair, pair.a);
	replace(pair.a, 16384);
	EXPECT_EQ(pair.a.append(std::string(16384, 'z')), 16384u);
}

// Nothing is borrowed for a peer without room, either, and none of its own has been found.
TEST(SendBufferTest, WaitsForThePeerBeforeItBorrows)
{
	Pair pair;
	Connection &connection = pair.a.connection;

	pair.a.send(std::string(connection.peer_rmb_size_bytes(), 'x'));
	pair.wire.settle();
	await_completions(pair, pair.a);
	connection.await_peer_room();
	connection.note_send_buffer_lacks();
	EXPECT_FALSE(connection.writable_for_poll());
	EXPECT_FALSE(pair.b.receive().empty());
	pair.wire.settle();
	EXPECT_TRUE(connection.writable_for_poll());
	EXPECT_FALSE(connection.send_buffer_lacks());
}

// The short way keeps nothing back in a borrowed buffer.
TEST(SendBufferTest, GathersNothingWhenBorrowed)
{
	for (const bool borrowed : {false, true}) {
		Config config{.sndbuf_size_bytes = 16384,
			      .rmb_size_bytes = 16384,
			      .peer_rmb_size_bytes = 16384,
			      .autocorking_size_bytes = 4096};
		Pair pair(config);
		Connection &connection = pair.a.connection;
		QuickPlan plan;

		if (borrowed)
			borrow(pair.a);
		pair.a.send("a");
		pair.a.send("b"); // behind what is unread: signalled
		EXPECT_EQ(connection.plan_quickly(1, plan) == QuickWay::kWait, !borrowed);
	}
}

// The limits go with the size.
TEST(SendBufferTest, CorksBySize)
{
	Pair pair;
	Connection &connection = pair.a.connection;

	replace(pair.a, 1000);
	connection.set_corked(true);
	pair.a.send(std::string(249, 'x'));
	EXPECT_TRUE(pair.a.posted.empty());
	pair.a.send("x");
	EXPECT_FALSE(pair.a.posted.empty());
}

// Nothing of the old buffer is sent once more.
TEST(SendBufferTest, LossOfTheLinkLooksOnlyAtTheNewOne)
{
	Pair pair;

	pair.a.send(std::string(10'000, 'x'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.receive().size(), 10'000u);
	await_completions(pair, pair.a);
	replace(pair.a, 64);
	for (const bool sends : {false, true}) {
		if (sends)
			pair.a.send("abc");
		for (End *end : {&pair.a, &pair.b}) {
			pair.wire.lose_link(*end, 0, false, SIZE_MAX);
			Wire::move(*end);
		}
		pair.wire.settle();
		EXPECT_EQ(pair.b.receive(), sends ? "abc" : "");
	}
}

} // namespace
} // namespace smc::connection::test
