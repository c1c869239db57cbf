// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "handshake/side.hpp"

// SMC-D over the loopback device: both ends in one kernel, and peers that only claim so.
namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

constexpr std::string_view kFullGid = "1122334455667788";
constexpr std::string_view kGidExtension = "99aabbccddeeff01";

std::string proposal_hex(std::string_view gid = kFullGid, std::string_view chid = "ffff",
			 std::string_view extension = kGidExtension)
{
	return std::string("e2d4c3d90100c026") + // 192 bytes, version 2: SMC-D
	       "a402525400000002" + std::string(32, '0') + "525400000002" + "0000" +
	       // SMC-D version 1 area: only where version 2 begins
	       std::string(20, '0') + "001c" + std::string(56, '0') +
	       // version 2: no EID, two entries, release 1, limits, emulated ISM
	       "0002001000000020" + std::string(32, '0') + "ff02" + "0001" + std::string(24, '0') +
	       // SMC-D version 2
	       std::string(96, '0') + std::string(gid) + std::string(chid) +
	       std::string(extension) + std::string(chid) + "e2d4c3d9";
}

std::string answer_hex(std::string_view type, std::string_view token, char host,
		       std::string_view gid = kFullGid)
{
	const std::string name = host == 'a' ? "7661" : "7662";

	return std::string("e2d4c3c4") + std::string(type) + "0082" + "29" + std::string(gid) +
	       std::string(token) + "00" + "20" + "0000" + "00000001" + "ffff" +
	       std::string(64, '0') + std::string(kGidExtension) +
	       // first contact: Linux, release 1, host name, emulated ISM
	       "0021" + "0000" + name +
	       [] {
		       std::string blanks;
		       for (int i = 0; i < 30; i++)
			       blanks += "20";
		       return blanks;
	       }() +
	       "0000" + "0001" + std::string(24, '0') + "e2d4c3c4";
}

const std::string kAcceptHex = answer_hex("02", "d0d1d2d3d4d5d601", 'a');
const std::string kConfirmHex = answer_hex("03", "d0d1d2d3d4d5d602", 'b');

TEST(Smcd, EveryByteOfTheExchange)
{
	Client client(near_offer_of(2), answers(dmb_of(2)));
	Server server(near_offer_of(1), answers(dmb_of(1)));

	server.start();
	client.start();
	Bytes bytes = client.take_sent();
	EXPECT_EQ(bytes, from_hex(proposal_hex()));
	server.arrive(bytes);
	bytes = server.take_sent();
	EXPECT_EQ(bytes, from_hex(kAcceptHex));
	client.arrive(bytes);
	EXPECT_EQ(client.last<AcquireClientDmb>()->peer, dmb_of(1));
	bytes = client.take_sent();
	EXPECT_EQ(bytes, from_hex(kConfirmHex));
	ASSERT_NE(client.use_smc(), nullptr);
	server.arrive(bytes);
	EXPECT_EQ(server.last<ConnectDmb>()->peer, dmb_of(2));
	ASSERT_NE(server.use_smc(), nullptr);
	for (const Agreement &agreement :
	     {*client.use_smc()->agreement, *server.use_smc()->agreement}) {
		EXPECT_TRUE(agreement.smcd);
		EXPECT_EQ(agreement.version, 2);
		EXPECT_EQ(agreement.release, 1);
		EXPECT_EQ(agreement.eid, wire::Eid{});
	}
	EXPECT_EQ(client.use_smc()->agreement->peer_host_name[1], 'a');
	EXPECT_EQ(server.use_smc()->agreement->peer_host_name[1], 'b');
}

class SmcdPair : public testing::TestWithParam<std::size_t> {};

TEST_P(SmcdPair, ComesBeforeSmcr)
{
	Client client(near_offer_of(2, true), answers(dmb_of(2)));
	Server server(near_offer_of(1, true), answers(dmb_of(1)));

	server.start();
	client.start();
	exchange(client, server, GetParam());
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(server.count<AcquireServerLink>() + client.count<AcquireClientLink>(), 0);
	EXPECT_EQ(server.count<ConfirmLink>() + client.count<ConfirmLink>(), 0);
}

TEST_P(SmcdPair, GivesWayToSmcr)
{
	Client client(near_offer_of(2, true), answers(endpoint_of(2), true));
	Server server(near_offer_of(1, true), answers(endpoint_of(1), true));

	server.answers().acquire.push_front(LinkFailed{DeclineReason::kMem});
	server.start();
	client.start();
	exchange(client, server, GetParam());
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_FALSE(client.use_smc()->agreement->smcd);
	EXPECT_EQ(server.count<AcquireServerDmb>(), 1);
}

INSTANTIATE_TEST_SUITE_P(Pieces, SmcdPair, testing::Values(1, 7, 4096));

// The device is emulated, whatever else this end can do, and has no other feature.
TEST(Smcd, HasTheFeatureOfAnEmulatedDeviceOnly)
{
	LocalOffer offer = near_offer_of(2);
	offer.feature_mask = 0;
	Client client(offer, answers(dmb_of(2)));
	Server server(near_offer_of(1), answers(dmb_of(1)));

	server.start();
	client.start();
	const Bytes proposed = client.take_sent();
	const auto proposal = wire::decode_proposal(proposed);
	ASSERT_TRUE(proposal);
	EXPECT_EQ(proposal->v2.feature_mask, wire::kFeatureEmulatedIsm);
	server.arrive(proposed);
	const Bytes answered = server.take_sent();
	auto accept = wire::decode_accept(answered);
	ASSERT_TRUE(accept);
	accept->first_contact_extension.feature_mask = 0xffff;
	client.arrive(encoded(*accept));
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->feature_mask, wire::kFeatureEmulatedIsm);
}

TEST(Smcd, ReleaseZeroHasNoFeatures)
{
	LocalOffer old = near_offer_of(2);

	old.release = 0;
	Client client(old, answers(dmb_of(2)));
	Server server(near_offer_of(1), answers(dmb_of(1)));
	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(server.use_smc()->agreement->release, 0);
}

TEST(Smcd, NoMemoryAnywhereIsTcp)
{
	Answers none;

	none.acquire.push_back(LinkFailed{DeclineReason::kMem});
	Client client(near_offer_of(2), none);
	Server server(near_offer_of(1), answers(dmb_of(1)));
	server.start();
	client.start();
	exchange(client, server);
	EXPECT_TRUE(client.fell_back(DeclineReason::kMem));
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kMem));
}

// ---- Clients with wrong messages -----------------------------------------------------------

TEST(SmcdStranger, IsNotServed)
{
	const std::string strangers[] = {
		proposal_hex("1122334455667789"),
		proposal_hex(kFullGid, "fffe"),
		proposal_hex(kFullGid, "ffff", "99aabbccddeeff02"),
		// the halves the other way round
		proposal_hex(kGidExtension, "ffff", kFullGid),
	};

	for (const std::string &hex : strangers) {
		Server server(near_offer_of(1), answers(dmb_of(1)));
		server.start();
		server.arrive(from_hex(hex));
		EXPECT_EQ(server.count<AcquireServerDmb>(), 0) << hex;
		EXPECT_TRUE(server.fell_back(DeclineReason::kNoSmcd2Dev)) << hex;
	}
}

TEST(SmcdStranger, MayStillHaveSmcr)
{
	LocalOffer far = near_offer_of(2, true);

	far.smcd_gid = wire::IsmGid{1};
	Client client(far, answers(endpoint_of(2), true));
	Server server(near_offer_of(1, true), answers(endpoint_of(1), true));
	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_FALSE(server.use_smc()->agreement->smcd);
}

TEST(SmcdStranger, HasNoDeviceHere)
{
	Server server(offer_of(1, false, true), answers(dmb_of(1)));

	server.start();
	server.arrive(from_hex(proposal_hex()));
	EXPECT_TRUE(server.fell_back(DeclineReason::kNoSmcdDev));
}

// A Confirm from another peer, or about something else.
TEST(SmcdStranger, CannotConfirm)
{
	const auto replaced = [](std::size_t at, std::string_view with) {
		std::string hex = kConfirmHex;
		return hex.replace(2 * at, with.size(), with);
	};
	const std::string wrong[] = {
		replaced(8, "1122334455667780"),  // GID
		replaced(66, "0000000000000000"), // its upper half
		replaced(32, "fffe"),             // CHID
		replaced(16, "0000000000000000"), // no token
		replaced(24, "01"),               // an element that is not there
		replaced(34, "41"),               // an EID
		replaced(75, "20"),               // release 0
		replaced(7, "21"),                // no first contact
		replaced(7, "19"),                // version 1
		replaced(7, "39"),                // version 3
	};

	for (const std::string &hex : wrong) {
		Server server(near_offer_of(1), answers(dmb_of(1)));
		server.start();
		server.arrive(from_hex(proposal_hex()));
		server.arrive(from_hex(hex));
		EXPECT_EQ(server.count<ConnectDmb>(), 0) << hex;
		EXPECT_TRUE(server.failed_with(kConnectionAborted)) << hex;
		EXPECT_EQ(server.declines_sent(), 0);
	}
}

TEST(SmcdStranger, IsNotWhoWasJoined)
{
	Answers unknown = answers(dmb_of(1));

	unknown.connect = LinkConnectFailed{DeclineReason::kCnfErr};
	Server server(near_offer_of(1), unknown);
	server.start();
	server.arrive(from_hex(proposal_hex()));
	server.arrive(from_hex(kConfirmHex));
	EXPECT_EQ(server.count<ConnectDmb>(), 1);
	EXPECT_TRUE(server.failed_with(kConnectionAborted));
}

TEST(SmcdStranger, ConfirmsByRdma)
{
	Server server(near_offer_of(1, true), answers(dmb_of(1)));
	wire::Confirm confirm;

	confirm.first_contact = true;
	confirm.endpoint = endpoint_of(2);
	server.start();
	server.arrive(from_hex(proposal_hex()));
	server.arrive(encoded(confirm));
	EXPECT_TRUE(server.failed_with(kConnectionAborted));
}

// ---- Servers with wrong messages -----------------------------------------------------------

TEST(SmcdStranger, IsNoServer)
{
	const auto replaced = [](std::size_t at, std::string_view with) {
		std::string hex = kAcceptHex;
		return hex.replace(2 * at, with.size(), with);
	};
	const struct {
		std::string hex;
		DeclineReason reason;
	} wrong[] = {
		{replaced(8, "0000000000000000"), DeclineReason::kCnfErr},
		{replaced(66, "99aabbccddeeff02"), DeclineReason::kCnfErr},
		{replaced(32, "0001"), DeclineReason::kCnfErr},
		{replaced(16, "0000000000000000"), DeclineReason::kCnfErr},
		{replaced(24, "01"), DeclineReason::kCnfErr},
		{replaced(75, "22"), DeclineReason::kReleaseErr},
		{replaced(7, "39"), DeclineReason::kModeUnsupp},
	};

	for (const auto &[hex, reason] : wrong) {
		Client client(near_offer_of(2), answers(dmb_of(2)));
		client.start();
		client.arrive(from_hex(hex));
		EXPECT_EQ(client.count<AcquireClientDmb>(), 0) << hex;
		EXPECT_TRUE(client.fell_back(reason)) << hex;
	}
}

TEST(SmcdStranger, WasNotAskedForSmcd)
{
	Client client(offer_of(2, false, true), answers(dmb_of(2)));

	client.start();
	client.arrive(from_hex(kAcceptHex));
	EXPECT_TRUE(client.fell_back(DeclineReason::kModeUnsupp));
}

// No DMB waits under this token: the peer is another kernel with our GID, or guesses.
TEST(SmcdStranger, GuessesAToken)
{
	Answers unknown;

	unknown.acquire.push_back(LinkFailed{DeclineReason::kCnfErr});
	Client client(near_offer_of(2), unknown);
	client.start();
	client.arrive(from_hex(kAcceptHex));
	EXPECT_TRUE(client.fell_back(DeclineReason::kCnfErr));
	EXPECT_EQ(client.declines_sent(), 1);
}

TEST(SmcdStranger, RepeatsItself)
{
	Client client(near_offer_of(2), answers(dmb_of(2)));
	Server server(near_offer_of(1), answers(dmb_of(1)));

	client.start();
	server.start();
	server.arrive(from_hex(proposal_hex() + proposal_hex()));
	EXPECT_EQ(server.count<AcquireServerDmb>(), 1);
	EXPECT_TRUE(server.failed_with(kConnectionReset));
	client.arrive(from_hex(kAcceptHex + kAcceptHex));
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(client.count<AcquireClientDmb>(), 1);
}

TEST(SmcdStranger, IsSilentAfterTheAccept)
{
	Server server(near_offer_of(1), answers(dmb_of(1)));

	server.start();
	server.arrive(from_hex(proposal_hex()));
	server.sleep(6000);
	EXPECT_TRUE(server.failed_with(kTimedOut));
	EXPECT_FALSE(server.link_held());
}

} // namespace
} // namespace smc::handshake::test
