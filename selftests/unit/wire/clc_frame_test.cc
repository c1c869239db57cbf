// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wire/golden.hpp"
#include "wire/handmade.hpp"
#include "wire/hex.hpp"

namespace smc::wire {
namespace {

using State = ClcFrame::State;
using testing::Bytes;
using testing::first;
using testing::hex;
using testing::with;
using testing::with_be16;

// A stream that begins with a message: at every length the answer is right and says how many bytes
// are needed; bytes behind the message do not matter.
void expect_frames(const Bytes &message)
{
	for (std::size_t seen = 0; seen < message.size(); seen++) {
		const ClcFrame frame = clc_frame(first(message, seen));
		ASSERT_EQ(frame.state, State::kNeedMore) << seen;
		EXPECT_EQ(frame.length_bytes, seen < kClcHeaderSize ? 8 : message.size());
	}
	Bytes stream = message;
	for (int more = 0; more < 3; more++) {
		const ClcFrame frame = clc_frame(stream);
		ASSERT_EQ(frame.state, State::kComplete);
		EXPECT_EQ(frame.length_bytes, message.size());
		EXPECT_EQ(static_cast<std::byte>(frame.type), message[4]);
		EXPECT_EQ(frame.version, std::to_integer<int>(message[7]) >> 4);
		stream.push_back(std::byte{0xee});
	}
}

TEST(ClcFrame, DelimitsEveryMessage)
{
	for (const auto text : golden::kClcMessages)
		expect_frames(hex(text));
	for (const auto text : handmade::kClcMessages)
		expect_frames(hex(text));
}

TEST(ClcFrame, SaysNoAtTheFirstWrongByte)
{
	const Bytes header = hex("e2d4c3d901009c22");
	const auto refused_at = [&](std::size_t at, std::uint8_t value) {
		const Bytes bad = with(header, at, value);
		for (std::size_t seen = 0; seen <= at; seen++)
			EXPECT_EQ(clc_frame(first(bad, seen)).state, State::kNeedMore) << seen;
		for (std::size_t seen = at + 1; seen <= bad.size(); seen++)
			EXPECT_EQ(clc_frame(first(bad, seen)).state, State::kNotClc) << seen;
	};
	refused_at(0, 'G');
	refused_at(1, 0);
	refused_at(2, 0);
	refused_at(3, 0xd8);
	refused_at(4, 0);
	refused_at(4, 5);
	refused_at(5, 5);    // 1280 or more
	refused_at(6, 51);   // shorter than any Proposal
	refused_at(7, 0x02); // version 0
}

TEST(ClcFrame, BoundsTheLength)
{
	const Bytes header = hex("e2d4c3d901009c22");
	EXPECT_EQ(clc_frame(with_be16(header, 5, 1024)).state, State::kNeedMore);
	EXPECT_EQ(clc_frame(with_be16(header, 5, 1025)).state, State::kNotClc);
	EXPECT_EQ(clc_frame(with_be16(header, 5, 0xffff)).state, State::kNotClc);
	EXPECT_EQ(clc_frame(with_be16(header, 5, 0)).state, State::kNotClc);

	const auto shortest = [&](std::uint8_t type, std::uint16_t length) {
		const Bytes typed = with(header, 4, type);
		EXPECT_EQ(clc_frame(with_be16(typed, 5, length)).state, State::kNeedMore);
		EXPECT_EQ(clc_frame(with_be16(typed, 5, length - 1)).state, State::kNotClc);
	};
	shortest(1, 52);
	shortest(2, 48);
	shortest(3, 48);
	shortest(4, 28);
}

TEST(ClcFrame, AnyOtherStreamIsNotClc)
{
	const std::string request = "GET / HTTP/1.1\r\n\r\n";
	const auto bytes = std::as_bytes(std::span(request));
	EXPECT_EQ(clc_frame(bytes).state, State::kNotClc);
	EXPECT_EQ(clc_frame(bytes.first(1)).state, State::kNotClc);
	EXPECT_EQ(clc_frame(Bytes(100)).state, State::kNotClc);
	EXPECT_EQ(clc_frame({}).state, State::kNeedMore);
}

// Every type of message may have either eyecatcher.
TEST(ClcFrame, TakesBothEyecatchers)
{
	EXPECT_EQ(clc_frame(hex("e2d4c3c4")).state, State::kNeedMore);
	EXPECT_EQ(clc_frame(hex("e2d4c3d9")).state, State::kNeedMore);
	EXPECT_EQ(clc_frame(hex("e2d4c3c5")).state, State::kNotClc);
}

TEST(ClcType, IsReadFromTheHeader)
{
	EXPECT_EQ(*clc_type(hex(golden::kProposal21)), ClcType::kProposal);
	EXPECT_EQ(*clc_type(hex(golden::kAcceptLater)), ClcType::kAccept);
	EXPECT_EQ(*clc_type(hex(golden::kConfirmLater)), ClcType::kConfirm);
	EXPECT_EQ(*clc_type(hex(golden::kDecline)), ClcType::kDecline);
}

TEST(ClcType, NeedsAHeader)
{
	const Bytes header = hex("e2d4c3d901009c22");
	for (std::size_t seen = 0; seen < header.size(); seen++)
		EXPECT_EQ(clc_type(first(header, seen)).error(), ClcError::kTruncated);
	EXPECT_EQ(clc_type(with(header, 3, 0)).error(), ClcError::kBadEyecatcher);
	EXPECT_EQ(clc_type(with(header, 4, 0)).error(), ClcError::kBadType);
	EXPECT_EQ(clc_type(with(header, 4, 5)).error(), ClcError::kBadType);
	EXPECT_EQ(clc_type(with(header, 7, 0x02)).error(), ClcError::kBadVersion);
}

TEST(ClcError, HasANameForEach)
{
	std::set<std::string_view> names;
	for (int i = 0; i <= static_cast<int>(ClcError::kBadField); i++)
		names.insert(name(static_cast<ClcError>(i)));
	EXPECT_EQ(names.size(), 10U);
	EXPECT_FALSE(names.contains("unknown"));
	EXPECT_EQ(name(static_cast<ClcError>(200)), "unknown");
}

} // namespace
} // namespace smc::wire
