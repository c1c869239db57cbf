// SPDX-License-Identifier: GPL-2.0-only
//
// In place, an empty ring is replaced during the connection.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "connection/in_place.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection {
namespace {

constexpr std::uint32_t kSizeBytes = 4096;

class ReplaceRingTest : public testing::Test {
protected:
	void SetUp() override
	{
		const Config config = in_place_config(kSizeBytes);

		ASSERT_TRUE(writer_.init(config));
		ASSERT_TRUE(reader_.init(config));
	}
	static bool speak(Connection &from, Connection &to)
	{
		bool spoken = false;

		while (const auto saying = from.speak()) {
			EXPECT_TRUE(to.hear(*saying).ok());
			spoken = true;
		}
		return spoken;
	}
	void converse()
	{
		while (speak(writer_, reader_) || speak(reader_, writer_)) {}
		EXPECT_FALSE(writer_.broken() || reader_.broken());
	}
	// Puts the next bytes of the stream into the ring.
	void write(std::uint32_t bytes, SendHint hint = SendHint::kNormal)
	{
		for (const ring::Segment &piece : writer_.write_segments(bytes)) {
			for (std::uint32_t i = 0; i < piece.length_bytes; i++)
				ring_[piece.offset_bytes + i] = byte_at(written_bytes_++);
		}
		writer_.produce(bytes, hint);
		converse();
	}
	// Takes so many out of it, which must be the next ones.
	void read(std::uint32_t bytes)
	{
		for (const ring::Segment &piece : reader_.read_segments(bytes)) {
			for (std::uint32_t i = 0; i < piece.length_bytes; i++)
				ASSERT_EQ(ring_[piece.offset_bytes + i], byte_at(read_bytes_++));
		}
		if (reader_.consume(bytes))
			converse();
	}
	bool replace(std::uint32_t size_bytes)
	{
		if (!Connection::replace_ring(writer_, reader_, size_bytes))
			return false;
		ring_.assign(size_bytes, 0);
		return true;
	}
	static std::uint8_t byte_at(std::uint64_t position_bytes)
	{
		return static_cast<std::uint8_t>(position_bytes * 7 + position_bytes / 251);
	}

	Connection writer_;
	Connection reader_;
	std::vector<std::uint8_t> ring_ = std::vector<std::uint8_t>(kSizeBytes);
	std::uint64_t written_bytes_ = 0;
	std::uint64_t read_bytes_ = 0;
};

TEST_F(ReplaceRingTest, ALargerOneBeginsEmptyAtItsStart)
{
	write(3000);
	read(3000);
	write(2000);
	read(2000);
	ASSERT_TRUE(replace(4 * kSizeBytes));
	EXPECT_EQ(writer_.sndbuf_free_bytes(), 4 * kSizeBytes);
	EXPECT_EQ(writer_.send_quantum_bytes(), 2 * kSizeBytes);
	EXPECT_EQ(reader_.rmb_size_bytes(), 4 * kSizeBytes);
	EXPECT_EQ(writer_.write_segments(1).begin()->offset_bytes, 0u);
	write(4 * kSizeBytes);
	EXPECT_EQ(writer_.sndbuf_free_bytes(), 0u);
	EXPECT_EQ(reader_.readable_bytes(), 4 * kSizeBytes);
	read(4 * kSizeBytes);
	EXPECT_EQ(writer_.sndbuf_free_bytes(), 4 * kSizeBytes);
}

// A reader that has taken a part may still be copying the rest.
TEST_F(ReplaceRingTest, OneThatHoldsSomethingStays)
{
	write(100);
	EXPECT_FALSE(replace(2 * kSizeBytes));
	read(99);
	EXPECT_FALSE(replace(2 * kSizeBytes));
	EXPECT_EQ(reader_.rmb_size_bytes(), kSizeBytes);
	read(1);
	EXPECT_TRUE(replace(2 * kSizeBytes));
}

TEST_F(ReplaceRingTest, OneWithBytesThatWereNotSaidYetStays)
{
	writer_.produce(100);
	EXPECT_FALSE(replace(2 * kSizeBytes));
}

// Data under a cork lies in the ring, too.
TEST_F(ReplaceRingTest, ACorkedOneStays)
{
	writer_.set_corked(true);
	write(100);
	EXPECT_EQ(reader_.readable_bytes(), 0u);
	EXPECT_FALSE(replace(2 * kSizeBytes));
}

TEST_F(ReplaceRingTest, AnUrgentByteBehindTheReaderDoesNotMatter)
{
	write(10, SendHint::kUrgent);
	reader_.store_urgent(ring_[reader_.urgent_offset_bytes()]);
	read(9);
	read_bytes_++;
	converse();
	ASSERT_TRUE(replace(2 * kSizeBytes));
	EXPECT_EQ(reader_.take_urgent(false).value, byte_at(9));
	write(50);
	read(50);
	EXPECT_FALSE(reader_.broken());
}

TEST_F(ReplaceRingTest, NoneAfterTheEnd)
{
	writer_.shutdown_write();
	converse();
	EXPECT_FALSE(replace(2 * kSizeBytes));
	reader_.abort();
	converse();
	EXPECT_FALSE(replace(2 * kSizeBytes));
}

TEST_F(ReplaceRingTest, NotToASizeThatIsNone)
{
	EXPECT_FALSE(replace(0));
	EXPECT_FALSE(replace(ring::kMaxSizeBytes + 1));
}

TEST_F(ReplaceRingTest, NotOnAWire)
{
	Config config{.sndbuf_size_bytes = kSizeBytes,
		      .rmb_size_bytes = kSizeBytes,
		      .peer_rmb_size_bytes = kSizeBytes};

	ASSERT_TRUE(writer_.init(config));
	EXPECT_FALSE(replace(2 * kSizeBytes));
}

// A reader has consumed everything without sending its cursor, and the writer waits for room:
// replacing the ring must not leave the writer asleep.
TEST_F(ReplaceRingTest, WhoWaitsForRoomHearsOfIt)
{
	write(kSizeBytes);
	EXPECT_FALSE(writer_.writable_for_poll());
	EXPECT_FALSE(replace(2 * kSizeBytes));
	read(kSizeBytes);
	EXPECT_TRUE(writer_.writable_for_poll());
	EXPECT_TRUE(replace(2 * kSizeBytes));
}

// Every byte of the stream, through rings of all sizes, in random pieces.
TEST_F(ReplaceRingTest, TheStreamGoesOn)
{
	std::mt19937 random{1};
	const auto up_to = [&random](std::uint32_t most) {
		return std::uniform_int_distribution<std::uint32_t>{0, most}(random);
	};
	std::uint32_t replaced = 0;

	for (int step = 0; step < 20'000 && !HasFailure(); step++) {
		switch (up_to(4)) {
		case 0:
		case 1:
			write(up_to(writer_.sndbuf_free_bytes()),
			      up_to(3) == 0 ? SendHint::kMore : SendHint::kNormal);
			break;
		case 2: read(up_to(reader_.readable_bytes())); break;
		case 3: read(reader_.readable_bytes()); break;
		case 4:
			if (replace(64 + up_to(2 * kSizeBytes)))
				replaced++;
			break;
		}
		ASSERT_LE(reader_.readable_bytes(), written_bytes_ - read_bytes_);
	}
	writer_.push();
	converse();
	read(reader_.readable_bytes());
	EXPECT_EQ(read_bytes_, written_bytes_);
	EXPECT_GT(written_bytes_, 1000u * kSizeBytes);
	EXPECT_GT(replaced, 500u);
}

} // namespace
} // namespace smc::connection
