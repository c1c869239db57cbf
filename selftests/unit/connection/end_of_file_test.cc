// SPDX-License-Identifier: GPL-2.0-only
//
// A reader that has seen the end of the stream takes it as complete, so data behind that end is a
// violation.
#include <gtest/gtest.h>

#include "connection/in_place.hpp"
#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

CursorMessage from_peer(std::uint16_t sequence, std::uint32_t produced_bytes,
			std::uint8_t state_flags, std::uint8_t producer_flags = 0)
{
	return {.sequence = sequence,
		.producer = {0, produced_bytes},
		.producer_flags = producer_flags,
		.state_flags = state_flags};
}

class EndOfFileTest : public testing::TestWithParam<std::uint8_t> {
protected:
	Pair pair_;
	Connection &b_ = pair_.b.connection;
};

TEST_P(EndOfFileTest, DataBehindOneThatWasReadIsAViolation)
{
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 10, GetParam())).ok());
	EXPECT_FALSE(b_.consume(10));
	EXPECT_TRUE(b_.at_orderly_end());

	const Verdict verdict = b_.on_cdc(from_peer(2, 20, GetParam()));
	EXPECT_EQ(verdict.violation, Violation::kProducerBehindEnd);
	EXPECT_EQ(verdict.events, 0);
	EXPECT_EQ(b_.readable_bytes(), 0u);
	b_.abort();
	// The announced end is not valid any more either.
	EXPECT_TRUE(b_.at_eof());
	EXPECT_FALSE(b_.at_orderly_end());
	EXPECT_FALSE(b_.reset_breaks_pipe());
}

// With the kernel's own module a process that exits closes before its corked data is sent.
TEST_P(EndOfFileTest, DataBehindOneThatNobodyHasReachedIsData)
{
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 10, GetParam())).ok());
	const Verdict verdict = b_.on_cdc(from_peer(2, 20, GetParam()));
	EXPECT_TRUE(verdict.ok());
	EXPECT_TRUE(verdict.has(event::kReadable));
	EXPECT_FALSE(b_.consume(10));
	EXPECT_FALSE(b_.at_eof());
	EXPECT_TRUE(b_.on_cdc(from_peer(3, 30, GetParam())).ok());
	EXPECT_FALSE(b_.consume(20));
	EXPECT_TRUE(b_.at_orderly_end());
	EXPECT_EQ(b_.on_cdc(from_peer(4, 40, GetParam())).violation, Violation::kProducerBehindEnd);
}

TEST_P(EndOfFileTest, OneInAMessageOfItsOwnHasBeenReached)
{
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 0, GetParam())).ok());
	EXPECT_EQ(b_.on_cdc(from_peer(2, 10, GetParam())).violation, Violation::kProducerBehindEnd);
}

TEST_P(EndOfFileTest, DataWithTheFlagTakenBackIsAViolationAsWell)
{
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 10, GetParam())).ok());
	EXPECT_FALSE(b_.consume(10));
	EXPECT_EQ(b_.on_cdc(from_peer(2, 20, 0)).violation, Violation::kProducerBehindEnd);
}

TEST_P(EndOfFileTest, MessagesWithoutDataBehindOneAreWelcome)
{
	pair_.b.send("answer");
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 10, GetParam())).ok());
	CursorMessage message = from_peer(2, 10, GetParam());
	message.consumer = {0, 6};
	EXPECT_TRUE(b_.on_cdc(message).ok());
	EXPECT_EQ(b_.peer_window_bytes(), 16384u);
	message.sequence = 3;
	message.state_flags |= state_flag::kClosed;
	EXPECT_TRUE(b_.on_cdc(message).ok());
	EXPECT_FALSE(b_.consume(10));
	EXPECT_TRUE(b_.at_orderly_end());
}

// The kernel's own module sets the "done" flag while data is left, and shows that by write-blocked.
TEST_P(EndOfFileTest, AnAnnouncedRestIsData)
{
	constexpr auto blocked = producer_flag::kWriteBlocked;

	EXPECT_TRUE(b_.on_cdc(from_peer(1, 100, GetParam(), blocked)).ok());
	EXPECT_TRUE(b_.consume(100));
	EXPECT_TRUE(b_.on_cdc(from_peer(2, 200, GetParam(), blocked)).ok());
	EXPECT_TRUE(b_.on_cdc(from_peer(3, 250, GetParam())).ok());
	EXPECT_TRUE(b_.consume(150));
	EXPECT_EQ(b_.on_cdc(from_peer(4, 251, GetParam())).violation,
		  Violation::kProducerBehindEnd);
}

TEST_P(EndOfFileTest, ARestThatComesTooLateIsAViolation)
{
	constexpr auto blocked = producer_flag::kWriteBlocked;

	EXPECT_TRUE(b_.on_cdc(from_peer(1, 100, GetParam(), blocked)).ok());
	EXPECT_TRUE(b_.consume(100));
	b_.give_up_withheld_data(); // the reader has seen the end
	EXPECT_TRUE(b_.at_eof());
	EXPECT_EQ(b_.on_cdc(from_peer(2, 200, GetParam())).violation,
		  Violation::kProducerBehindEnd);
	b_.abort();
	EXPECT_FALSE(b_.at_orderly_end());
}

TEST_P(EndOfFileTest, ARepeatedMessageAfterAFailoverHasNoData)
{
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 10, 0)).ok());
	EXPECT_TRUE(b_.on_cdc(from_peer(2, 20, GetParam())).ok());
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 0, 0, producer_flag::kFailoverValidation)).ok());
	EXPECT_TRUE(b_.on_cdc(from_peer(2, 10, 0)).ok());
	EXPECT_TRUE(b_.on_cdc(from_peer(2, 20, GetParam())).ok());
	EXPECT_EQ(b_.readable_bytes(), 20u);
}

TEST_P(EndOfFileTest, WhoRefusesDataIsNotTheFirstToBlame)
{
	b_.shutdown_write();
	b_.refuse_data();
	EXPECT_TRUE(b_.on_cdc(from_peer(1, 0, GetParam())).ok());
	const Verdict verdict = b_.on_cdc(from_peer(2, 20, GetParam()));
	EXPECT_EQ(verdict.violation, Violation::kProducerBehindEnd);
	EXPECT_FALSE(verdict.has(event::kRefused));
}

INSTANTIATE_TEST_SUITE_P(Flags, EndOfFileTest,
			 testing::Values(state_flag::kSendingDone, state_flag::kClosed,
					 state_flag::kAnyEnd));

TEST(EndOfFileInPlaceTest, DataBehindOneIsAViolation)
{
	Connection connection;
	ASSERT_TRUE(connection.init(in_place_config(16384)));
	Saying saying{.message = from_peer(1, 10, state_flag::kSendingDone), .produced_bytes = 10};

	EXPECT_TRUE(connection.hear(saying).ok());
	EXPECT_FALSE(connection.consume(10));
	saying.message = from_peer(2, 20, state_flag::kSendingDone);
	EXPECT_EQ(connection.hear(saying).violation, Violation::kProducerBehindEnd);
	EXPECT_EQ(connection.readable_bytes(), 0u);
}

} // namespace
} // namespace smc::connection::test
