// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/llc.hpp"

#include <gtest/gtest.h>

#include "wire/golden.hpp"
#include "wire/handmade.hpp"
#include "wire/hex.hpp"
#include "wire/llc_order.hpp"

// What each message means, both ways. Rejects are in llc_reject_test.cc.
namespace smc::wire {
namespace {

using testing::Bytes;
using testing::encoded;
using testing::hex;
using testing::id_from_hex;
using testing::to_hex;

constexpr bool kRequest = false;
constexpr bool kResponse = true;

LlcMessage v1(bool response, LlcBody body)
{
	return {.version = LlcVersion::kV1, .response = response, .body = body};
}
LlcMessage v2(bool response, LlcBody body)
{
	return {.version = LlcVersion::kV2, .response = response, .body = body};
}

// Both ways: the bytes decode to the message, in either order, and the message encodes to them.
void expect_same(std::string_view text, const LlcMessage &message)
{
	const Bytes bytes = hex(text);
	const auto decoded = decode_llc(bytes);
	ASSERT_TRUE(decoded) << text;
	EXPECT_EQ(*decoded, message) << text;
	const Bytes big = as_big_endian(bytes);
	const auto decoded_big = decode_llc(big);
	ASSERT_TRUE(decoded_big) << to_hex(big);
	EXPECT_EQ(*decoded_big, message) << to_hex(big);
	EXPECT_EQ(to_hex(encoded(message)), to_hex(as_sent_here(bytes)));
}

const Mac kMac = id_from_hex<Mac>("525400000001");
const Gid kGidV1 = id_from_hex<Gid>("fe80000000000000505400fffe000001");
const Gid kGidV2 = gid_from_ipv4({10, 9, 0, 1});

TEST(Llc, ConfirmLink)
{
	ConfirmLink body{.mac = kMac,
			 .gid = kGidV2,
			 .qpn = Qpn{0x11},
			 .link = LinkId{1},
			 .link_uid = LinkUid{0x101},
			 .max_links = 2,
			 .max_conns = 255};
	expect_same(golden::kConfirmLinkRequest21, v2(kRequest, body));
	body.max_conns = 0;
	expect_same(golden::kConfirmLinkRequest20, v2(kRequest, body));
	body.gid = kGidV1;
	expect_same(handmade::kConfirmLinkV1, v1(kRequest, body));
	expect_same(golden::kConfirmLinkResponse21,
		    v2(kResponse, ConfirmLink{.mac = id_from_hex<Mac>("525400000002"),
					      .gid = gid_from_ipv4({10, 9, 0, 2}),
					      .qpn = Qpn{0x11},
					      .link = LinkId{1},
					      .link_uid = LinkUid{0x101},
					      .max_links = 2,
					      .max_conns = 255}));
}

TEST(Llc, ConfirmLinkSaysWhetherThereAreEyecatchers)
{
	const auto decoded_with = [](std::uint8_t flags) {
		const Bytes bytes = testing::with(hex(golden::kConfirmLinkRequest21), 3, flags);
		return decode_llc(bytes)->get<ConfirmLink>()->no_eyecatchers;
	};
	EXPECT_FALSE(decoded_with(0));
	EXPECT_FALSE(decoded_with(0x80));
	EXPECT_TRUE(decoded_with(1)); // either bit will do
	EXPECT_TRUE(decoded_with(2));
	EXPECT_EQ(encoded(v1(kRequest, ConfirmLink{.no_eyecatchers = false}))[3], std::byte{0});
}

TEST(Llc, AddLinkOfVersion2CarriesKeys)
{
	Bytes space(16);
	const std::array pairs = {RkeyPair{
		.rkey = Rkey{0x385}, .new_rkey = Rkey{0x5d3}, .new_address = 0xff2c06a7c4b30000}};
	AddLink body{.mac = kMac,
		     .gid = kGidV2,
		     .qpn = Qpn{0x12},
		     .link = LinkId{2},
		     .mtu = QpMtu{3},
		     .psn = Psn{0x8bfcf1},
		     .extension = AddLinkExtension{.v2_direct = true,
						   .target_gid = kGidV2,
						   .rkeys = RkeyPairList::of(pairs, space)}};
	expect_same(golden::kAddLinkRequest, v2(kRequest, body));

	const Bytes bytes = hex(golden::kAddLinkRequest);
	const auto decoded = decode_llc(bytes);
	const auto &rkeys = decoded->get<AddLink>()->extension->rkeys;
	ASSERT_EQ(rkeys.size(), 1U);
	EXPECT_EQ(rkeys[0], pairs[0]);

	body.extension.reset();
	body.rejected = true;
	expect_same(golden::kAddLinkReject, v2(kResponse, body));
}

TEST(Llc, AddLinkOfVersion1SaysWhyNot)
{
	AddLink body{.mac = kMac,
		     .gid = kGidV1,
		     .qpn = Qpn{0x12},
		     .link = LinkId{2},
		     .mtu = QpMtu{3},
		     .psn = Psn{0x8bfcf1}};
	expect_same(handmade::kAddLinkV1, v1(kRequest, body));
	body.rejected = true;
	body.reject_reason = AddLinkReject::kNoAlternatePath;
	expect_same(handmade::kAddLinkV1Reject, v1(kResponse, body));
	// In version 2 this is a byte of the length, in whichever order.
	const Bytes other = encoded(v2(kResponse, body));
	EXPECT_EQ(std::to_integer<unsigned>(other[1] | other[2]), kLlcSize);
}

TEST(Llc, AddLinkOfVersion2WithManyKeys)
{
	std::vector<RkeyPair> pairs;
	for (std::uint32_t i = 0; i < kLlcListMax; i++)
		pairs.push_back({.rkey = Rkey{i}, .new_rkey = Rkey{i + 1000}, .new_address = i});
	Bytes space(pairs.size() * RkeyPairList::kItemSize);
	const AddLink body{.extension = AddLinkExtension{.rkeys = RkeyPairList::of(pairs, space)}};
	const Bytes bytes = encoded(v2(kRequest, body));
	ASSERT_EQ(bytes.size(), 72 + 16 * kLlcListMax);
	const auto decoded = decode_llc(bytes);
	ASSERT_TRUE(decoded);
	EXPECT_EQ(*decoded, v2(kRequest, body));
	EXPECT_EQ(decoded->get<AddLink>()->extension->rkeys[254].new_rkey, Rkey{1254});
}

TEST(Llc, AddLinkCont)
{
	expect_same(handmade::kAddLinkContV1,
		    v1(kResponse, AddLinkCont{.link = LinkId{2},
					      .rkeys_left = 3,
					      .rkeys = {{{.rkey = Rkey{0x385},
							  .new_rkey = Rkey{0x5d3},
							  .new_address = 0xff2c06a7c4b30000},
							 {.rkey = Rkey{0x386},
							  .new_rkey = Rkey{0x5d4},
							  .new_address = 0xff2c06a7c4b40000}}}}));
}

TEST(Llc, DeleteLink)
{
	expect_same(golden::kDeleteLinkAll,
		    v2(kRequest, DeleteLink{.all = true, .reason = DeleteLinkReason::kOperator}));
	expect_same(golden::kDeleteLinkAllOrderly,
		    v2(kRequest, DeleteLink{.all = true,
					    .orderly = true,
					    .reason = DeleteLinkReason::kOperator}));
	expect_same(handmade::kDeleteLinkV1,
		    v1(kRequest, DeleteLink{.orderly = true,
					    .link = LinkId{2},
					    .reason = DeleteLinkReason::kLostPath}));
}

TEST(Llc, ReqAddLink)
{
	Bytes space(32);
	const std::array gids = {gid_from_ipv4({10, 9, 0, 2}), gid_from_ipv4({10, 9, 1, 2})};
	const auto list = GidList::of(gids, space);
	expect_same(handmade::kReqAddLinkTwo, v2(kRequest, ReqAddLink{.gids = list}));
	expect_same(handmade::kReqAddLinkOne,
		    v2(kRequest, ReqAddLink{.gids = GidList::over(list.bytes().first(16))}));
	expect_same(handmade::kReqAddLinkResponse, v2(kResponse, ReqAddLink{}));
	const Bytes bytes = hex(handmade::kReqAddLinkTwo);
	EXPECT_EQ(decode_llc(bytes)->get<ReqAddLink>()->gids[1], gids[1]);
}

TEST(Llc, ConfirmRkey)
{
	const RemoteToken token{.rkey = Rkey{0x66c}, .address = 0xff2c06a7c4b50000};
	expect_same(golden::kConfirmRkeyRequest, v2(kRequest, ConfirmRkey{.token = token}));
	expect_same(golden::kConfirmRkeyResponse, v2(kResponse, ConfirmRkey{.token = token}));
	expect_same(handmade::kConfirmRkeyV1Negative,
		    v1(kResponse, ConfirmRkey{.negative = true, .retry = true, .token = token}));

	ConfirmRkey three{.others_count = 2, .token = token};
	const auto add = [](auto &list, std::uint8_t link, std::uint32_t rkey,
			    std::uint64_t address) {
		return list.push_back(
			{.link = LinkId{link}, .token = {.rkey = Rkey{rkey}, .address = address}});
	};
	ASSERT_TRUE(add(three.others, 2, 0x66d, 0xff2c06a7c4b60000));
	ASSERT_TRUE(add(three.others, 3, 0x66e, 0xff2c06a7c4b70000));
	expect_same(handmade::kConfirmRkeyV1Three, v1(kRequest, three));
	three.others_count = 0; // counts them itself
	EXPECT_EQ(encoded(v1(kRequest, three)), hex(handmade::kConfirmRkeyV1Three));

	ConfirmRkeyCont cont{.tokens_left = 2};
	ASSERT_TRUE(add(cont.tokens, 2, 0x66c, 0xff2c06a7c4b50000));
	ASSERT_TRUE(add(cont.tokens, 3, 0x66d, 0xff2c06a7c4b60000));
	expect_same(handmade::kConfirmRkeyContV1, v1(kRequest, cont));
}

TEST(Llc, ConfirmRkeyMaySayThatMoreIsToCome)
{
	const Bytes bytes = testing::with(hex(golden::kConfirmRkeyRequest), 4, 200);
	const auto decoded = decode_llc(bytes);
	ASSERT_TRUE(decoded);
	EXPECT_EQ(decoded->get<ConfirmRkey>()->others_count, 200);
	EXPECT_EQ(decoded->get<ConfirmRkey>()->others.size(), 2U);
	EXPECT_EQ(encoded(*decoded), as_sent_here(bytes));
}

TEST(Llc, TestLink)
{
	TestLink body;
	for (std::size_t i = 0; i < body.user_data.size(); i++)
		body.user_data[i] = static_cast<std::uint8_t>(i);
	expect_same(handmade::kTestLinkV1, v1(kRequest, body));
	expect_same(handmade::kTestLinkV2Response, v2(kResponse, body));
}

TEST(Llc, DeleteRkey)
{
	Bytes space(36);
	const std::array one = {Rkey{0x385}};
	const std::array nine = {Rkey{1}, Rkey{2}, Rkey{3}, Rkey{4}, Rkey{5},
				 Rkey{6}, Rkey{7}, Rkey{8}, Rkey{9}};
	expect_same(golden::kDeleteRkeyRequest,
		    v2(kRequest, DeleteRkey{.count = 1, .rkeys = RkeyList::of(one, space)}));
	expect_same(golden::kDeleteRkeyResponse, v2(kResponse, DeleteRkey{.count = 1}));
	const auto list = RkeyList::of(nine, space);
	expect_same(handmade::kDeleteRkeyV2Nine,
		    v2(kRequest, DeleteRkey{.count = 9, .rkeys = list}));
	const auto eight = RkeyList::over(list.bytes().first(32));
	expect_same(handmade::kDeleteRkeyV1Eight,
		    v1(kRequest, DeleteRkey{.count = 8, .rkeys = eight}));
	const auto two = RkeyList::over(list.bytes().first(8));
	expect_same(handmade::kDeleteRkeyV1Failed,
		    v1(kResponse,
		       DeleteRkey{.negative = true, .count = 2, .errors = 0x40, .rkeys = two}));
	EXPECT_EQ(two[1], Rkey{2});
}

// A received version 2 message may be longer; what we send fits into 44 bytes.
TEST(Llc, DeleteRkeyOfVersion2WithManyKeys)
{
	Bytes bytes = hex(handmade::kDeleteRkeyV2Nine);
	bytes.resize(8 + 255 * 4, std::byte{7});
	bytes[1] = std::byte{0x04}; // 1028
	bytes[2] = std::byte{0x04};
	bytes[4] = std::byte{255};
	const auto decoded = decode_llc(bytes);
	ASSERT_TRUE(decoded);
	EXPECT_EQ(decoded->get<DeleteRkey>()->rkeys.size(), 255U);
	EXPECT_EQ(decoded->get<DeleteRkey>()->rkeys[254], Rkey{0x07070707});
	EXPECT_TRUE(encoded(*decoded).empty());
}

TEST(WireList, LeavesOutWhatDoesNotFit)
{
	Bytes space(11);
	const std::array rkeys = {Rkey{1}, Rkey{2}, Rkey{3}};
	const auto list = RkeyList::of(rkeys, space);
	ASSERT_EQ(list.size(), 2U);
	EXPECT_EQ(list[1], Rkey{2});
	EXPECT_EQ(RkeyList::over(space).size(), 2U);
	EXPECT_EQ(RkeyList::of(rkeys, {}).size(), 0U);
}

TEST(WireList, ComparesByContent)
{
	Bytes a(8, std::byte{1});
	Bytes b(8, std::byte{1});
	EXPECT_EQ(RkeyList::over(a), RkeyList::over(b));
	EXPECT_NE(RkeyList::over(a), RkeyList::over(ByteSpan(b).first(4)));
	b[7] = std::byte{2};
	EXPECT_NE(RkeyList::over(a), RkeyList::over(b));
	EXPECT_EQ(RkeyList{}, RkeyList::over({}));
}

TEST(WireListDeathTest, ReadingBehindTheEndIsABug)
{
	Bytes space(4);
	EXPECT_DEATH((void)RkeyList::over(space)[1], "");
	EXPECT_DEATH((void)GidList{}[0], "");
}

} // namespace
} // namespace smc::wire
