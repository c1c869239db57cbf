// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"

#include <gtest/gtest.h>

#include "wire/golden.hpp"
#include "wire/handmade.hpp"
#include "wire/hex.hpp"

namespace smc::wire {
namespace {

using testing::Bytes;
using testing::encoded;
using testing::first;
using testing::hex;
using testing::id_from_hex;
using testing::padded;
using testing::to_hex;
using testing::with;
using testing::with_be16;

SmcrEndpoint server_endpoint()
{
	return {.peer_id = id_from_hex<PeerId>("a434525400000001"),
		.gid = gid_from_ipv4({10, 9, 0, 1}),
		.mac = id_from_hex<Mac>("525400000001"),
		.qpn = Qpn{0x11},
		.rmb_rkey = Rkey{0x385},
		.rmbe_index = 1,
		.token = Token{1},
		.rmbe_size = BufferSize{2},
		.mtu = QpMtu{3},
		.rmb_address = 0xff2c06a7c4b30000,
		.psn = Psn{0x8b91d0}};
}

Accept golden_first()
{
	Accept accept;
	accept.first_contact = true;
	accept.endpoint = server_endpoint();
	accept.eid = {padded("SMCV2-TEST-UEID")};
	accept.first_contact_extension = {.v2_direct = true,
					  .os = ClcOs::kLinux,
					  .release = 1,
					  .host_name = padded("va"),
					  .max_conns = 255,
					  .max_links = 2,
					  .feature_mask = 1,
					  .vendor_options = 0};
	return accept;
}

SmcdEndpoint ism_endpoint()
{
	return {.gid = IsmGid{0x1122334455667788},
		.dmb_token = DmbToken{0xbad},
		.dmbe_index = 0,
		.dmbe_size = BufferSize{2},
		.link_id = 0x100,
		.chid = {},
		.gid_extension = {}};
}

ClcError refused_accept(const Bytes &message)
{
	const auto decoded = decode_accept(message);
	EXPECT_FALSE(decoded) << to_hex(message);
	return decoded ? static_cast<ClcError>(255) : decoded.error();
}

ClcError refused_confirm(const Bytes &message)
{
	const auto decoded = decode_confirm(message);
	EXPECT_FALSE(decoded) << to_hex(message);
	return decoded ? static_cast<ClcError>(255) : decoded.error();
}

// --- SMC-R ---------------------------------------------------------------------------------

TEST(Accept, FirstContactOfLinux612)
{
	EXPECT_EQ(*decode_accept(hex(golden::kAcceptFirst21)), golden_first());
	EXPECT_EQ(to_hex(encoded(golden_first())), golden::kAcceptFirst21);
}

TEST(Accept, FirstContactInRelease0)
{
	const auto decoded = decode_accept(hex(golden::kAcceptFirst20));
	ASSERT_TRUE(decoded);
	EXPECT_EQ(decoded->first_contact_extension.release, 0);
	EXPECT_EQ(decoded->first_contact_extension.max_conns, 0);
	EXPECT_TRUE(decoded->first_contact_extension.v2_direct);
	EXPECT_EQ(to_hex(encoded(*decoded)), golden::kAcceptFirst20);
}

TEST(Accept, Release0HasNoNegotiatedValues)
{
	Accept accept = *decode_accept(hex(golden::kAcceptFirst20));
	accept.first_contact_extension.max_conns = 1;
	accept.first_contact_extension.feature_mask = 1;
	EXPECT_EQ(to_hex(encoded(accept)), golden::kAcceptFirst20);
	EXPECT_EQ(decode_accept(with(hex(golden::kAcceptFirst20), 140, 5))
			  ->first_contact_extension.max_conns,
		  0);
}

TEST(Accept, LaterContact)
{
	Accept accept;
	accept.endpoint = server_endpoint();
	auto &endpoint = std::get<SmcrEndpoint>(accept.endpoint);
	endpoint.rmb_rkey = Rkey{0x66c};
	endpoint.token = Token{2};
	endpoint.rmb_address = 0xff2c06a7c4b50000;
	accept.eid = {padded("SMCV2-TEST-UEID")};
	EXPECT_EQ(*decode_accept(hex(golden::kAcceptLater)), accept);
	EXPECT_EQ(to_hex(encoded(accept)), golden::kAcceptLater);
	EXPECT_NE(accept.smcr(), nullptr);
	EXPECT_EQ(accept.smcd(), nullptr);
}

TEST(Confirm, FirstContactListsGids)
{
	const auto decoded = decode_confirm(hex(golden::kConfirmFirst21));
	ASSERT_TRUE(decoded);
	EXPECT_TRUE(decoded->first_contact);
	EXPECT_EQ(decoded->smcr()->rmb_rkey, Rkey{0x316});
	EXPECT_EQ(decoded->smcr()->psn, Psn{0x159f3f});
	EXPECT_EQ(decoded->first_contact_extension.host_name, padded("vb"));
	ASSERT_EQ(decoded->gids.size(), 1U);
	EXPECT_EQ(decoded->gids[0], gid_from_ipv4({10, 9, 0, 2}));
	EXPECT_EQ(to_hex(encoded(*decoded)), golden::kConfirmFirst21);
}

TEST(Confirm, OthersOfLinux)
{
	for (const auto text : {golden::kConfirmFirst20, golden::kConfirmLater}) {
		const auto decoded = decode_confirm(hex(text));
		ASSERT_TRUE(decoded);
		EXPECT_EQ(to_hex(encoded(*decoded)), text);
	}
	EXPECT_TRUE(decode_confirm(hex(golden::kConfirmLater))->gids.empty());
}

TEST(Accept, OfVersion1SmcR)
{
	Accept accept;
	accept.version = 1;
	accept.first_contact = true;
	SmcrEndpoint endpoint = server_endpoint();
	endpoint.peer_id = id_from_hex<PeerId>("0001525400000001");
	endpoint.gid = id_from_hex<Gid>("fe80000000000000505400fffe000001");
	accept.endpoint = endpoint;
	EXPECT_EQ(*decode_accept(hex(handmade::kAcceptV1R)), accept);
	EXPECT_EQ(encoded(accept), hex(handmade::kAcceptV1R));
}

// --- SMC-D ---------------------------------------------------------------------------------

TEST(Confirm, OfVersion1SmcD)
{
	Confirm confirm;
	confirm.version = 1;
	confirm.endpoint = ism_endpoint();
	EXPECT_EQ(*decode_confirm(hex(handmade::kConfirmV1D)), confirm);
	EXPECT_EQ(encoded(confirm), hex(handmade::kConfirmV1D));
	EXPECT_NE(confirm.smcd(), nullptr);
}

TEST(Accept, OfVersion21SmcDOverLoopback)
{
	Accept accept;
	accept.first_contact = true;
	SmcdEndpoint endpoint = ism_endpoint();
	endpoint.dmbe_size = BufferSize{6};
	endpoint.chid = Chid{0xffff};
	endpoint.gid_extension = IsmGid{0x8877665544332211};
	accept.endpoint = endpoint;
	accept.eid = {padded("ONE")};
	accept.first_contact_extension = {.os = ClcOs::kLinux,
					  .release = 1,
					  .host_name = padded("va"),
					  .feature_mask = 1,
					  .vendor_options = 0xabcd};
	EXPECT_EQ(*decode_accept(hex(handmade::kAcceptV2DFirst21)), accept);
	EXPECT_EQ(encoded(accept), hex(handmade::kAcceptV2DFirst21));
}

TEST(Confirm, OfVersion20SmcDHasTheShortExtension)
{
	Confirm confirm;
	confirm.first_contact = true;
	SmcdEndpoint endpoint = ism_endpoint();
	endpoint.chid = Chid{0x0203};
	confirm.endpoint = endpoint;
	confirm.eid = {padded("ONE")};
	confirm.first_contact_extension = {.os = ClcOs::kZos, .host_name = padded("va")};
	EXPECT_EQ(*decode_confirm(hex(handmade::kConfirmV2DFirst20)), confirm);
	EXPECT_EQ(encoded(confirm), hex(handmade::kConfirmV2DFirst20));
}

TEST(Accept, OfVersion2SmcDLaterContact)
{
	const auto decoded = decode_accept(hex(handmade::kAcceptV2DLater));
	ASSERT_TRUE(decoded);
	EXPECT_FALSE(decoded->first_contact);
	EXPECT_EQ(decoded->smcd()->chid, Chid{0x0203});
	EXPECT_EQ(encoded(*decoded), hex(handmade::kAcceptV2DLater));
}

TEST(Accept, OnlyEmulatedDevicesHaveAGidExtension)
{
	const auto decoded = decode_accept(with(hex(handmade::kAcceptV2DLater), 70, 9));
	ASSERT_TRUE(decoded);
	EXPECT_TRUE(decoded->smcd()->gid_extension.is_zero());
}

TEST(Accept, SmcDReservesTheSmcRLimits)
{
	const auto decoded = decode_accept(with(hex(handmade::kAcceptV2DFirst21), 110, 9));
	ASSERT_TRUE(decoded);
	EXPECT_EQ(decoded->first_contact_extension.max_conns, 0);
	Accept accept = *decoded;
	accept.first_contact_extension.max_links = 9;
	EXPECT_EQ(encoded(accept), hex(handmade::kAcceptV2DFirst21));
}

// --- Tolerating ----------------------------------------------------------------------------

TEST(Accept, OfVersion2MayHaveATail)
{
	Bytes message = with_be16(hex(golden::kAcceptFirst21), 5, 170);
	message.insert(message.end() - 4, 10, std::byte{0x77});
	EXPECT_EQ(*decode_accept(message), golden_first());
}

TEST(Accept, Release0MayLackTheReservedBytes)
{
	Bytes message = hex(golden::kAcceptFirst20);
	message.erase(message.begin() + 140, message.begin() + 156);
	message = with_be16(message, 5, 144);
	EXPECT_EQ(*decode_accept(message), *decode_accept(hex(golden::kAcceptFirst20)));
}

TEST(Confirm, ListOfGidsIsAHint)
{
	// None at all.
	Bytes message = hex(golden::kConfirmFirst21);
	message.erase(message.begin() + 156, message.begin() + 176);
	const auto without = decode_confirm(with_be16(message, 5, 160));
	ASSERT_TRUE(without);
	EXPECT_TRUE(without->gids.empty());
	EXPECT_EQ(encoded(*without).size(), 160U);

	// More than we keep.
	message = hex(golden::kConfirmFirst21);
	message.insert(message.end() - 4, 9 * 16, std::byte{0x11});
	message = with(with_be16(message, 5, 180 + 9 * 16), 156, 10);
	const auto many = decode_confirm(message);
	ASSERT_TRUE(many);
	EXPECT_TRUE(many->gids.full());
	EXPECT_EQ(many->gids[0], gid_from_ipv4({10, 9, 0, 2}));

	// Fewer than it claims.
	EXPECT_EQ(refused_confirm(with(hex(golden::kConfirmFirst21), 156, 2)), ClcError::kBadCount);
	EXPECT_EQ(refused_confirm(with(hex(golden::kConfirmFirst21), 156, 255)),
		  ClcError::kBadCount);
}

TEST(Accept, EyecatchersAreNotComparedWithTheTransport)
{
	EXPECT_TRUE(decode_accept(with(hex(golden::kAcceptLater), 3, 0xc4)));
	EXPECT_TRUE(decode_accept(with(hex(golden::kAcceptLater), 107, 0xc4)));
}

// --- Refusing ------------------------------------------------------------------------------

TEST(Accept, CutShortIsRefusedAtEveryLength)
{
	for (const auto text : {golden::kAcceptFirst21, golden::kAcceptLater, handmade::kAcceptV1R,
				handmade::kAcceptV2DFirst21, handmade::kAcceptV2DLater}) {
		const Bytes whole = hex(text);
		for (std::size_t size = 0; size < whole.size(); size++) {
			EXPECT_EQ(refused_accept(first(whole, size)), ClcError::kTruncated);
			if (size < kClcHeaderSize + kClcTrailerSize)
				continue;
			Bytes ended =
				with_be16(first(whole, size), 5, static_cast<std::uint16_t>(size));
			std::copy_n(whole.begin(), 4, ended.end() - 4);
			EXPECT_EQ(refused_accept(ended), ClcError::kBadLength) << size;
		}
	}
}

// The trailer may be missing, but the rest must not be misread.
TEST(Confirm, CutShortIsRefusedUpToTheList)
{
	const Bytes whole = hex(golden::kConfirmFirst21);
	for (std::size_t size = 48; size < whole.size(); size++) {
		Bytes ended = with_be16(first(whole, size), 5, static_cast<std::uint16_t>(size));
		std::copy_n(whole.begin(), 4, ended.end() - 4);
		const auto decoded = decode_confirm(ended);
		EXPECT_EQ(decoded.has_value(), size >= 160 && size < 164) << size;
	}
}

TEST(Accept, HeaderAndTrailerMustBeRight)
{
	const Bytes good = hex(golden::kAcceptFirst21);
	EXPECT_EQ(refused_accept(with(good, 1, 0)), ClcError::kBadEyecatcher);
	EXPECT_EQ(refused_accept(with(good, 4, 3)), ClcError::kBadType);
	EXPECT_EQ(refused_accept(with(good, 7, 0x08)), ClcError::kBadVersion);
	EXPECT_EQ(refused_accept(with(good, 159, 0)), ClcError::kBadTrailer);
	EXPECT_EQ(refused_accept(with(good, 7, 0x2a)), ClcError::kBadMode);
	EXPECT_EQ(refused_accept(with(good, 7, 0x2b)), ClcError::kBadMode);
	Bytes longer = good;
	longer.push_back({});
	EXPECT_EQ(refused_accept(longer), ClcError::kBadLength);
	EXPECT_EQ(refused_confirm(good), ClcError::kBadType);
}

TEST(Accept, OfVersion1HasAnExactLength)
{
	Bytes r = with_be16(hex(handmade::kAcceptV1R), 5, 69);
	r.insert(r.end() - 4, std::byte{0});
	EXPECT_EQ(refused_accept(r), ClcError::kBadLength);
	Bytes d = with_be16(hex(handmade::kConfirmV1D), 5, 49);
	d.insert(d.end() - 4, std::byte{0});
	EXPECT_EQ(refused_confirm(d), ClcError::kBadLength);
}

TEST(Accept, ImpossibleValuesAreRefused)
{
	const Bytes good = hex(golden::kAcceptLater);
	EXPECT_EQ(refused_accept(with(good, 40, 0)), ClcError::kBadField); // QP 0
	EXPECT_EQ(refused_accept(with(good, 40, 1)), ClcError::kBadField);
	EXPECT_EQ(refused_accept(with(good, 45, 0)), ClcError::kBadField);    // RMBE index
	EXPECT_EQ(refused_accept(with(good, 50, 0x20)), ClcError::kBadField); // MTU
	EXPECT_TRUE(decode_accept(with(good, 50, 0xff)));
	EXPECT_TRUE(decode_accept(with(good, 45, 255)));
}

TEST(Accept, Release1NeedsItsValues)
{
	Bytes message = hex(golden::kAcceptFirst21);
	message.erase(message.begin() + 140, message.begin() + 156);
	EXPECT_EQ(refused_accept(with_be16(message, 5, 144)), ClcError::kBadLength);
}

// --- Encoding ------------------------------------------------------------------------------

TEST(Accept, NeedsRoom)
{
	for (std::size_t size = 0; size < 160; size++) {
		Bytes out(size);
		ASSERT_EQ(encode(golden_first(), out), 0U);
	}
	const Confirm confirm = *decode_confirm(hex(golden::kConfirmFirst21));
	for (std::size_t size = 0; size < 180; size++) {
		Bytes out(size);
		ASSERT_EQ(encode(confirm, out), 0U);
	}
}

TEST(Accept, RefusesWhatNoMessageCanCarry)
{
	const auto refuses = [](auto change) {
		Accept accept = golden_first();
		change(accept);
		EXPECT_TRUE(encoded(accept).empty());
	};
	refuses([](Accept &a) { a.version = 0; });
	refuses([](Accept &a) { a.version = 16; });
	refuses([](Accept &a) { a.first_contact_extension.release = 16; });
	refuses([](Accept &a) { a.first_contact_extension.os = static_cast<ClcOs>(16); });
	refuses([](Accept &a) { std::get<SmcrEndpoint>(a.endpoint).rmbe_index = 0; });
	refuses([](Accept &a) { std::get<SmcrEndpoint>(a.endpoint).mtu = QpMtu{0}; });
	refuses([](Accept &a) { std::get<SmcrEndpoint>(a.endpoint).qpn = Qpn{1}; });
}

TEST(Confirm, HasGidsOnSmcRv2FirstContactOnly)
{
	const Confirm good = *decode_confirm(hex(golden::kConfirmFirst21));
	const auto refuses = [&good](auto change) {
		Confirm confirm = good;
		change(confirm);
		EXPECT_TRUE(encoded(confirm).empty());
	};
	refuses([](Confirm &c) { c.version = 0; });
	refuses([](Confirm &c) { c.version = 1; });
	refuses([](Confirm &c) { c.first_contact = false; });
	refuses([](Confirm &c) { c.endpoint = ism_endpoint(); });

	Confirm two = good;
	ASSERT_TRUE(two.gids.push_back(gid_from_ipv4({10, 9, 1, 2})));
	EXPECT_EQ(encoded(two).size(), 196U);
	EXPECT_EQ(*decode_confirm(encoded(two)), two);
}

} // namespace
} // namespace smc::wire
