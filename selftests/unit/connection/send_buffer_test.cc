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
