// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/llc.hpp"

#include <gtest/gtest.h>

#include <set>

#include "wire/golden.hpp"
#include "wire/handmade.hpp"
#include "wire/hex.hpp"
#include "wire/llc_order.hpp"

namespace smc::wire {
namespace {

using testing::Bytes;
using testing::encoded;
using testing::first;
using testing::hex;
using testing::to_hex;
using testing::with;

LlcError refused(const Bytes &message)
{
	const auto decoded = decode_llc(message);
	EXPECT_FALSE(decoded) << to_hex(message);
	return decoded ? static_cast<LlcError>(255) : decoded.error();
}

std::vector<Bytes> all_messages()
{
	std::vector<Bytes> messages;
	for (const auto text : golden::kLlcMessages)
		messages.push_back(hex(text));
	for (const auto text : handmade::kLlcMessages)
		messages.push_back(hex(text));
	return messages;
}

TEST(LlcReject, ShorterThan44Bytes)
{
	for (const Bytes &whole : all_messages()) {
		for (std::size_t size = 0; size < kLlcSize; size++)
			ASSERT_EQ(refused(first(whole, size)), LlcError::kTruncated);
	}
}

TEST(LlcReject, LongMessagesCutShort)
{
	for (const auto text : {golden::kAddLinkRequest, handmade::kReqAddLinkTwo}) {
		const Bytes whole = hex(text);
		for (std::size_t size = kLlcSize; size < whole.size(); size++) {
			EXPECT_EQ(refused(first(whole, size)), LlcError::kBadLength);
			// The same with a length that fits.
			const auto length = static_cast<std::uint8_t>(size);
			const LlcError error = refused(with(first(whole, size), 1, length));
			EXPECT_TRUE(error == LlcError::kBadLength || error == LlcError::kBadCount);
		}
	}
}

TEST(LlcReject, UnknownTypesAreNoViolation)
{
	const std::set<int> known = {0x01, 0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09,
				     0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x29};
	Bytes message(100);
	message[1] = std::byte{kLlcSize};
	for (int type = 0; type < 256; type++) {
		const Bytes typed = with(message, 0, static_cast<std::uint8_t>(type));
		const auto decoded = decode_llc(typed);
		const bool ignored = !decoded && decoded.error() == LlcError::kIgnored;
		EXPECT_EQ(ignored, !known.contains(type)) << type;
	}
}

TEST(LlcReject, LengthOfVersion1)
{
	const Bytes good = hex(handmade::kTestLinkV1);
	for (const std::uint8_t length : {0, 43, 45, 255})
		EXPECT_EQ(refused(with(good, 1, length)), LlcError::kBadLength);
	EXPECT_TRUE(decode_llc(with(good, 2, 0xff))); // reserved
}

TEST(LlcReject, LengthOfVersion2)
{
	const Bytes good = hex(handmade::kTestLinkV2Response);
	for (const std::uint8_t length : {0, 43, 45, 255})
		EXPECT_EQ(refused(with(good, 1, length)), LlcError::kBadLength);
	EXPECT_EQ(refused(with(with(good, 1, 0x2c), 2, 0x2c)), LlcError::kBadLength);
}

// Linux writes it in host byte order.
TEST(LlcReject, LengthOfVersion2InEitherOrder)
{
	const Bytes little = hex(handmade::kTestLinkV2Response);
	const Bytes big = with(with(little, 1, 0), 2, kLlcSize);
	EXPECT_EQ(*decode_llc(big), *decode_llc(little));

	const Bytes add_link = hex(golden::kAddLinkRequest);
	Bytes swapped = with(with(add_link, 1, 0), 2, 0x58);
	swapped = with(with(swapped, 70, 0), 71, 1); // and the number of keys
	EXPECT_EQ(*decode_llc(swapped), *decode_llc(add_link));
}

TEST(LlcReject, LongestMessageIs8192Bytes)
{
	Bytes message = hex(handmade::kTestLinkV2Response);
	message.resize(8193);
	message[1] = std::byte{0x00};
	message[2] = std::byte{0x20}; // 8192; also 32 in the other order
	EXPECT_TRUE(decode_llc(message));
	message[1] = std::byte{0x01}; // 8193; 288 in the other order
	EXPECT_TRUE(decode_llc(message));
	message[1] = std::byte{0x22}; // 8226; 8736
	EXPECT_EQ(refused(message), LlcError::kBadLength);
}

TEST(LlcReject, BytesBehindTheMessageDoNotMatter)
{
	for (const Bytes &whole : all_messages()) {
		Bytes longer = whole;
		longer.insert(longer.end(), 60, std::byte{0xff});
		EXPECT_EQ(*decode_llc(longer), *decode_llc(whole));
	}
}

TEST(LlcReject, AddLinkNeedsItsExtensionUnlessRejected)
{
	const Bytes reject = hex(golden::kAddLinkReject);
	EXPECT_EQ(refused(with(reject, 3, 0x80)), LlcError::kBadLength);
	EXPECT_EQ(refused(with(reject, 3, 0x00)), LlcError::kBadLength);
}

TEST(LlcReject, AddLinkKeysMustBeAllThere)
{
	const Bytes good = hex(golden::kAddLinkRequest);
	EXPECT_EQ(refused(with(good, 70, 2)), LlcError::kBadCount);
	EXPECT_EQ(refused(with(good, 70, 255)), LlcError::kBadCount);
	EXPECT_EQ(refused(with(good, 71, 1)), LlcError::kBadCount); // 257
	EXPECT_EQ(refused(with(with(good, 70, 0), 71, 2)), LlcError::kBadCount);
	EXPECT_TRUE(decode_llc(with(good, 70, 0)));
}

TEST(LlcReject, ReqAddLinkGidsMustBeAllThere)
{
	EXPECT_EQ(refused(with(hex(handmade::kReqAddLinkOne), 24, 2)), LlcError::kBadCount);
	EXPECT_EQ(refused(with(hex(handmade::kReqAddLinkTwo), 24, 255)), LlcError::kBadCount);
}

TEST(LlcReject, DeleteRkeyKeysMustBeAllThere)
{
	EXPECT_EQ(refused(with(hex(handmade::kDeleteRkeyV1Eight), 4, 9)), LlcError::kBadCount);
	EXPECT_EQ(refused(with(hex(handmade::kDeleteRkeyV1Failed), 4, 9)), LlcError::kBadCount);
	EXPECT_EQ(refused(with(hex(handmade::kDeleteRkeyV2Nine), 4, 10)), LlcError::kBadCount);
	EXPECT_EQ(refused(with(hex(handmade::kDeleteRkeyV2Nine), 4, 255)), LlcError::kBadCount);
	// In version 2 a response has no such field.
	EXPECT_TRUE(decode_llc(with(hex(golden::kDeleteRkeyResponse), 4, 255)));
}

// --- Encoding ------------------------------------------------------------------------------

TEST(LlcEncode, NeedsRoom)
{
	for (const Bytes &whole : all_messages()) {
		const auto decoded = decode_llc(whole);
		ASSERT_TRUE(decoded);
		for (std::size_t size = 0; size < whole.size(); size++) {
			Bytes out(size);
			ASSERT_EQ(encode(*decoded, out), 0U) << to_hex(whole) << " in " << size;
		}
		Bytes out(whole.size());
		EXPECT_EQ(encode(*decoded, out), whole.size());
		EXPECT_EQ(out, as_sent_here(whole));
	}
}

TEST(LlcEncode, RefusesWhatAVersionDoesNotHave)
{
	const auto refuses = [](LlcVersion version, bool response, LlcBody body) {
		EXPECT_TRUE(encoded(LlcMessage{version, response, body}).empty());
	};
	refuses(LlcVersion::kV1, false, ReqAddLink{});
	refuses(LlcVersion::kV2, false, AddLinkCont{});
	refuses(LlcVersion::kV2, false, ConfirmRkeyCont{});
	refuses(LlcVersion::kV1, false, AddLink{.extension = AddLinkExtension{}});
	refuses(LlcVersion::kV2, false, AddLink{});
	refuses(LlcVersion::kV2, true, AddLink{.rejected = true, .extension = AddLinkExtension{}});
}

TEST(LlcEncode, RefusesListsThatAreTooLong)
{
	const Bytes space(256 * 16);
	const auto refuses = [](LlcVersion version, bool response, LlcBody body) {
		EXPECT_TRUE(encoded(LlcMessage{version, response, body}).empty());
	};
	const auto rkeys = [&space](std::size_t count) {
		return RkeyList::over(ByteSpan(space).first(count * 4));
	};
	refuses(LlcVersion::kV1, false, DeleteRkey{.rkeys = rkeys(9)});
	refuses(LlcVersion::kV1, true, DeleteRkey{.rkeys = rkeys(9)});
	refuses(LlcVersion::kV2, false, DeleteRkey{.rkeys = rkeys(10)});
	refuses(LlcVersion::kV2, true, DeleteRkey{.rkeys = rkeys(1)});
	refuses(LlcVersion::kV2, false, ReqAddLink{.gids = GidList::over(space)});
	refuses(LlcVersion::kV2, false,
		AddLink{.extension = AddLinkExtension{.rkeys = RkeyPairList::over(space)}});
}

TEST(LlcNames, ThereIsOneForEach)
{
	std::set<std::string_view> names;
	for (const LlcError error :
	     {LlcError::kTruncated, LlcError::kBadLength, LlcError::kBadCount, LlcError::kIgnored})
		names.insert(name(error));
	EXPECT_EQ(names.size(), 4U);
	EXPECT_EQ(name(static_cast<LlcError>(99)), "unknown");

	names.clear();
	for (const DeleteLinkReason reason :
	     {DeleteLinkReason::kNone, DeleteLinkReason::kLostPath, DeleteLinkReason::kOperator,
	      DeleteLinkReason::kProgram, DeleteLinkReason::kProtocolViolation,
	      DeleteLinkReason::kNoAsymmetricNeeded, DeleteLinkReason::kUnknownLink,
	      DeleteLinkReason::kUnknownGroup})
		names.insert(name(reason));
	EXPECT_EQ(names.size(), 8U);
	EXPECT_EQ(name(static_cast<DeleteLinkReason>(99)), "unknown");
}

} // namespace
} // namespace smc::wire
