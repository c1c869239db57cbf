// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <tuple>

#include "handshake/side.hpp"

// Our client and our server, joined back to back.
namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

class Pair : public testing::TestWithParam<std::tuple<bool, bool, std::size_t>> {};

TEST_P(Pair, AgreeOnSmc)
{
	const auto [v2, first_contact, piece_bytes] = GetParam();
	Client client(offer_of(2, !v2, v2), answers(endpoint_of(2, v2), first_contact));
	Server server(offer_of(1, true, true), answers(endpoint_of(1, v2), first_contact));

	server.start();
	client.start();
	exchange(client, server, piece_bytes);

	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	const Agreement &ours = *client.use_smc()->agreement;
	const Agreement &theirs = *server.use_smc()->agreement;
	EXPECT_EQ(ours.version, v2 ? 2 : 1);
	EXPECT_EQ(theirs.version, v2 ? 2 : 1);
	EXPECT_EQ(ours.first_contact, first_contact);
	EXPECT_EQ(theirs.first_contact, first_contact);
	EXPECT_EQ(ours.peer_id, peer_id_of(1));
	EXPECT_EQ(theirs.peer_id, peer_id_of(2));
	EXPECT_EQ(ours.eid, v2 ? eid("SMCV2-TEST-UEID") : wire::Eid{});
	EXPECT_EQ(theirs.eid, ours.eid);
	if (v2 && first_contact) {
		EXPECT_EQ(ours.release, 1);
		EXPECT_EQ(theirs.release, 1);
		EXPECT_EQ(ours.max_links, 2);
		EXPECT_EQ(theirs.max_conns, 255);
		EXPECT_EQ(ours.feature_mask, wire::kFeatureEmulatedIsm);
		EXPECT_EQ(ours.peer_os, wire::ClcOs::kLinux);
		EXPECT_EQ(ours.peer_host_name[1], 'a');
		EXPECT_EQ(theirs.peer_host_name[1], 'b');
		EXPECT_EQ(theirs.peer_os, wire::ClcOs::kLinux);
	}

	// Each side is directed to the buffers that the other one named.
	ASSERT_EQ(client.count<ConnectLink>(), 1);
	ASSERT_EQ(server.count<ConnectLink>(), 1);
	wire::SmcrEndpoint a = endpoint_of(1, v2);
	wire::SmcrEndpoint b = endpoint_of(2, v2);
	a.peer_id = peer_id_of(1);
	b.peer_id = peer_id_of(2);
	EXPECT_EQ(*client.last<ConnectLink>()->peer, a);
	EXPECT_EQ(*server.last<ConnectLink>()->peer, b);
	EXPECT_EQ(client.last<ConnectLink>()->first_contact, first_contact);

	EXPECT_EQ(client.count<ConfirmLink>(), first_contact ? 1 : 0);
	EXPECT_EQ(server.count<ConfirmLink>(), first_contact ? 1 : 0);
	EXPECT_EQ(client.count<AnnounceRkey>(), first_contact ? 0 : 1);
	EXPECT_EQ(server.count<AnnounceRkey>(), first_contact ? 0 : 1);
	EXPECT_TRUE(client.left_in_stream().empty());
	EXPECT_TRUE(server.left_in_stream().empty());
	EXPECT_EQ(client.declines_sent(), 0);
	EXPECT_EQ(server.declines_sent(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Pair,
			 testing::Combine(testing::Bool(), testing::Bool(),
					  testing::Values(std::size_t{1}, std::size_t{7},
							  std::size_t{4096})));

TEST(PairOrder, LaterContactAnnouncesBeforeItsMessage)
{
	Client client(offer_of(2, false, true), answers(endpoint_of(2), false));
	Server server(offer_of(1, false, true), answers(endpoint_of(1), false));

	server.start();
	client.start();
	exchange(client, server);
	// The server's only message is its Accept.
	EXPECT_LT(server.position<AnnounceRkey>(), server.position<SendClc>());
	EXPECT_LT(client.position<ConnectLink>(), client.position<AnnounceRkey>());
}

TEST(PairOrder, ClientListensForConfirmLinkBeforeItConfirms)
{
	Client client(offer_of(2, false, true), answers(endpoint_of(2), true));

	client.start();
	EXPECT_EQ(client.count<SendClc>(), 1);
	client.answers().confirm.reset();
	Server server(offer_of(1, false, true), answers(endpoint_of(1), true));
	server.start();
	server.arrive(client.take_sent());
	client.arrive(server.take_sent());
	EXPECT_EQ(client.state(), State::kConfirmingLink);
	EXPECT_EQ(client.count<SendClc>(), 2);
	EXPECT_EQ(client.count<ConfirmLink>(), 1);
	EXPECT_EQ(client.sent_before<ConfirmLink>(), 1);
	EXPECT_FALSE(client.finished());
}

TEST(PairMtu, SmallerOneWins)
{
	wire::SmcrEndpoint small = endpoint_of(2);
	wire::SmcrEndpoint large = endpoint_of(1);

	small.mtu = wire::QpMtu{2};
	large.mtu = wire::QpMtu{5};
	Client client(offer_of(2, false, true), answers(small, true));
	Server server(offer_of(1, false, true), answers(large, true));
	server.start();
	client.start();
	exchange(client, server);
	ASSERT_EQ(client.count<ConnectLink>(), 1);
	ASSERT_EQ(server.count<ConnectLink>(), 1);
	EXPECT_EQ(client.last<ConnectLink>()->mtu.code(), 2);
	EXPECT_EQ(server.last<ConnectLink>()->mtu.code(), 2);
}

// An MTU above all known ones is accepted: ours is smaller.
TEST(PairMtu, UnknownOneIsTheLargest)
{
	for (const bool at_server : {true, false}) {
		for (std::uint8_t code = 6; code <= wire::QpMtu::kCodeMax; code++) {
			wire::SmcrEndpoint ends[] = {endpoint_of(1), endpoint_of(2)};
			ends[at_server ? 0 : 1].mtu = wire::QpMtu{code};
			Client client(offer_of(2, false, true), answers(ends[1], true));
			Server server(offer_of(1, false, true), answers(ends[0], true));
			server.start();
			client.start();
			exchange(client, server);
			ASSERT_NE(client.use_smc(), nullptr);
			ASSERT_NE(server.use_smc(), nullptr);
			EXPECT_EQ(client.last<ConnectLink>()->mtu, endpoint_of(2).mtu);
			EXPECT_EQ(server.last<ConnectLink>()->mtu, endpoint_of(2).mtu);
		}
	}
}

TEST(PairVersions, BothOfferedPrefersTwo)
{
	Client client(offer_of(2, true, true), answers(endpoint_of(2), true));
	Server server(offer_of(1, true, true), answers(endpoint_of(1), true));

	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->version, 2);
}

TEST(PairVersions, NoLinkForTwoFallsToOne)
{
	Client client(offer_of(2, true, true), answers(endpoint_of(2, false), true));
	Answers server_answers;

	server_answers.acquire.push_back(LinkFailed{DeclineReason::kNoSmcrDev});
	server_answers.acquire.push_back(LinkAcquired{true, true, endpoint_of(1, false)});
	Server server(offer_of(1, true, true), server_answers);
	server.start();
	client.start();
	exchange(client, server);
	EXPECT_EQ(server.count<AcquireServerLink>(), 2);
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->version, 1);
	EXPECT_EQ(server.use_smc()->agreement->version, 1);
}

TEST(PairVersions, ReleaseIsTheLowerOne)
{
	LocalOffer old = offer_of(2, false, true);

	old.release = 0;
	Client client(old, answers(endpoint_of(2), true));
	Server server(offer_of(1, false, true), answers(endpoint_of(1), true));
	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->release, 0);
	EXPECT_EQ(server.use_smc()->agreement->release, 0);
	EXPECT_EQ(server.use_smc()->agreement->max_links, 2);
	EXPECT_EQ(server.use_smc()->agreement->max_conns, 255);
	EXPECT_EQ(server.use_smc()->agreement->feature_mask, 0);
}

TEST(PairVersions, LimitsAreTheLowerOnes)
{
	LocalOffer client_offer = offer_of(2, false, true);
	LocalOffer server_offer = offer_of(1, false, true);

	client_offer.max_conns = 40;
	server_offer.max_links = 1;
	Client client(client_offer, answers(endpoint_of(2), true));
	Server server(server_offer, answers(endpoint_of(1), true));
	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->max_conns, 40);
	EXPECT_EQ(client.use_smc()->agreement->max_links, 1);
	EXPECT_EQ(server.use_smc()->agreement->max_conns, 40);
	EXPECT_EQ(server.use_smc()->agreement->max_links, 1);
}

// The side that cannot go on declines; the other one gets that, and both streams are clean.
enum class Trouble { kAcquire, kConnect, kAnnounce, kConfirm };

class PairDecline : public testing::TestWithParam<std::tuple<bool, Trouble, bool>> {};

TEST_P(PairDecline, BothFallBack)
{
	const auto [at_client, trouble, v2] = GetParam();
	const bool first_contact = trouble != Trouble::kAnnounce;

	// Then only the server declines: see PairConfirmFailed.
	if (at_client && trouble == Trouble::kConfirm)
		return;
	Answers troubled = answers(endpoint_of(at_client ? 2 : 1, v2), first_contact);
	DeclineReason reason = DeclineReason::kMem;

	switch (trouble) {
	case Trouble::kAcquire:
		troubled.acquire.clear();
		troubled.acquire.push_back(LinkFailed{reason});
		break;
	case Trouble::kConnect:
		reason = DeclineReason::kErrRdyLnk;
		troubled.connect = LinkConnectFailed{reason};
		break;
	case Trouble::kAnnounce:
		reason = DeclineReason::kErrRegBuf;
		troubled.announce = RkeyAnnounceFailed{reason};
		break;
	case Trouble::kConfirm:
		reason = DeclineReason::kRmbeEc;
		troubled.confirm = LinkConfirmFailed{reason};
		break;
	}
	Answers other = answers(endpoint_of(at_client ? 1 : 2, v2), first_contact);
	other.confirm.reset(); // still waits when the Decline arrives
	Client client(offer_of(2, !v2, v2), at_client ? troubled : other);
	Server server(offer_of(1, !v2, v2), at_client ? other : troubled);

	server.start();
	client.start();
	exchange(client, server);
	const Bytes data = from_hex("00112233");
	client.arrive(data);
	server.arrive(data);

	if (at_client) {
		EXPECT_TRUE(client.fell_back(reason));
		EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, reason));
		EXPECT_EQ(client.declines_sent(), 1);
		EXPECT_EQ(server.declines_sent(), 0);
		ASSERT_TRUE(client.decline_sent());
		EXPECT_EQ(client.decline_sent()->version, v2 ? 2 : 1);
		EXPECT_EQ(client.decline_sent()->peer_id, peer_id_of(2));
		EXPECT_FALSE(client.decline_sent()->out_of_sync);
	} else {
		EXPECT_TRUE(server.fell_back(reason));
		EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, reason));
		EXPECT_EQ(server.declines_sent(), 1);
		EXPECT_EQ(client.declines_sent(), 0);
		ASSERT_TRUE(server.decline_sent());
		EXPECT_EQ(server.decline_sent()->version, v2 ? 2 : 1);
	}
	EXPECT_EQ(client.left_in_stream(), data);
	EXPECT_EQ(server.left_in_stream(), data);
}

INSTANTIATE_TEST_SUITE_P(All, PairDecline,
			 testing::Combine(testing::Bool(),
					  testing::Values(Trouble::kAcquire, Trouble::kConnect,
							  Trouble::kAnnounce, Trouble::kConfirm),
					  testing::Bool()));

// A reason that no Decline has is a bug of ours; the handshake must still end.
TEST(PairBroken, OwnEndpointThatDoesNotExist)
{
	wire::SmcrEndpoint nowhere;

	for (const bool first_contact : {true, false}) {
		Client client(offer_of(2, false, true), answers(nowhere, first_contact));
		Server server(offer_of(1, false, true), answers(endpoint_of(1), first_contact));
		server.start();
		client.start();
		exchange(client, server);
		EXPECT_TRUE(client.fell_back(DeclineReason::kIntErr));
		EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kIntErr));

		Client other(offer_of(2, false, true), answers(endpoint_of(2), first_contact));
		Server broken(offer_of(1, false, true), answers(nowhere, first_contact));
		broken.start();
		other.start();
		exchange(other, broken);
		EXPECT_TRUE(broken.fell_back(DeclineReason::kIntErr));
		EXPECT_TRUE(other.fell_back(DeclineReason::kPeerDecl, DeclineReason::kIntErr));
	}
}

TEST(PairOutOfSync, ServerEndsItsGroup)
{
	Answers lost;

	lost.acquire.push_back(LinkFailed{DeclineReason::kSyncErr});
	Client client(offer_of(2, false, true), lost);
	Server server(offer_of(1, false, true), answers(endpoint_of(1), false));
	server.start();
	client.start();
	exchange(client, server);
	ASSERT_TRUE(client.decline_sent());
	EXPECT_TRUE(client.decline_sent()->out_of_sync);
	EXPECT_TRUE(client.fell_back(DeclineReason::kSyncErr));
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kSyncErr));
	EXPECT_EQ(server.count<TerminateGroup>(), 1);
	EXPECT_EQ(server.count<ReleaseLink>(), 0);
}

// Neither gets the other's CONFIRM_LINK message. They notice at different times, and only one
// Decline is sent: it is not read as data.
TEST(PairConfirmTimeout, OneDecline)
{
	Answers client_answers = answers(endpoint_of(2), true);
	Answers server_answers = answers(endpoint_of(1), true);

	client_answers.confirm.reset();
	server_answers.confirm.reset();
	Client client(offer_of(2, false, true), client_answers);
	Server server(offer_of(1, false, true), server_answers);
	server.start();
	client.start();
	exchange(client, server);
	server.deliver(LinkConfirmFailed{});
	EXPECT_EQ(server.state(), State::kAwaitDecline);
	EXPECT_EQ(server.declines_sent(), 0);
	server.sleep(1000);
	client.deliver(LinkConfirmFailed{});
	exchange(client, server);
	EXPECT_TRUE(server.fell_back(DeclineReason::kTimeoutCl));
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kTimeoutCl));
	EXPECT_EQ(client.declines_sent(), 0);
	EXPECT_TRUE(client.left_in_stream().empty());
	EXPECT_TRUE(server.left_in_stream().empty());
}

// The client's end of the link fails after the Confirm was sent. However long TCP takes, one
// Decline is sent, and the bytes behind it are data.
TEST(PairConfirmFailed, OneDecline)
{
	Answers client_answers = answers(endpoint_of(2), true);
	Answers server_answers = answers(endpoint_of(1), true);

	client_answers.confirm = LinkConfirmFailed{DeclineReason::kErrRdyLnk};
	server_answers.confirm.reset();
	Client client(offer_of(2, false, true), client_answers);
	Server server(offer_of(1, false, true), server_answers);
	server.start();
	client.start();
	exchange(client, server);
	EXPECT_EQ(client.state(), State::kAwaitDecline);
	server.deliver(LinkConfirmFailed{});
	server.sleep(1000);
	EXPECT_TRUE(server.fell_back(DeclineReason::kTimeoutCl));
	client.sleep(4800);
	exchange(client, server);
	EXPECT_TRUE(client.fell_back(DeclineReason::kErrRdyLnk, DeclineReason::kTimeoutCl));
	const Bytes data = from_hex("00112233");
	client.arrive(data);
	EXPECT_EQ(client.left_in_stream(), data);
	EXPECT_EQ(client.declines_sent(), 0);
	EXPECT_EQ(server.declines_sent(), 1);
}

TEST(PairNoDevice, ClientWithoutDeviceDeclinesAtOnce)
{
	Client client(offer_of(2, false, false), {});
	Server server(offer_of(1, false, true), {});

	server.start();
	client.start();
	EXPECT_TRUE(client.fell_back(DeclineReason::kNoSmcDev));
	EXPECT_EQ(client.decline_sent()->version, 1);
	exchange(client, server);
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNoSmcDev));
	EXPECT_TRUE(server.left_in_stream().empty());
}

TEST(PairNoDevice, ServerWithoutDeviceDeclinesTheProposal)
{
	LocalOffer nothing = offer_of(1, false, false);

	nothing.unavailable = DeclineReason::kIpsec;
	Client client(offer_of(2, true, true), {});
	Server server(nothing, {});
	server.start();
	client.start();
	exchange(client, server);
	EXPECT_TRUE(server.fell_back(DeclineReason::kIpsec));
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kIpsec));
}

// ---- What goes beyond the protocol --------------------------------------------------------------

LocalOffer offer_beyond(std::uint8_t host, wire::Capabilities capabilities)
{
	LocalOffer offer = offer_of(host, false, true);

	offer.capabilities = capabilities;
	return offer;
}

struct Agreed {
	wire::Capabilities client = 0;
	wire::Capabilities server = 0;
};

Agreed agreed(const LocalOffer &clients, const LocalOffer &servers, bool first_contact = true)
{
	Client client(clients, answers(endpoint_of(2), first_contact));
	Server server(servers, answers(endpoint_of(1), first_contact));

	server.start();
	client.start();
	exchange(client, server);
	EXPECT_NE(client.use_smc(), nullptr);
	EXPECT_NE(server.use_smc(), nullptr);
	if (client.use_smc() == nullptr || server.use_smc() == nullptr)
		return {};
	return {client.use_smc()->agreement->capabilities,
		server.use_smc()->agreement->capabilities};
}

TEST(PairCapabilities, AreThoseThatBothHave)
{
	struct {
		wire::Capabilities client, server;
	} const cases[]{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {3, 1}, {9, 10}, {0xfffb, 0x8001}};

	for (const auto &[client, server] : cases) {
		const Agreed both = agreed(offer_beyond(2, client), offer_beyond(1, server));

		EXPECT_EQ(both.client, client & server);
		EXPECT_EQ(both.server, client & server);
	}
}

// There is no room for them in version 2.0. Inside one kernel nobody needs them.
TEST(PairCapabilities, NeedRelease1AndSmcR)
{
	for (const bool old_client : {false, true}) {
		LocalOffer client = offer_beyond(2, 1);
		LocalOffer server = offer_beyond(1, 1);

		(old_client ? client : server).release = 0;
		const Agreed both = agreed(client, server);
		EXPECT_EQ(both.client, 0);
		EXPECT_EQ(both.server, 0);
	}
}

// What the client answers to the server's Accept; the server has not seen it.
auto confirm_of(Client &client, Server &server)
{
	client.start();
	server.start();
	server.arrive(client.take_sent());
	client.arrive(server.take_sent());
	return wire::decode_confirm(client.take_sent());
}

// The Confirm repeats the answer, or the two would not understand each other's messages.
TEST(PairCapabilities, MustBeRepeated)
{
	for (const std::uint32_t said : {0U, 0x80000002U, 0x00000001U, 0x80000001U}) {
		Client client(offer_beyond(2, 1), answers(endpoint_of(2), true));
		Server server(offer_beyond(1, 3), answers(endpoint_of(1), true));

		auto confirm = confirm_of(client, server);
		ASSERT_TRUE(confirm);
		EXPECT_EQ(confirm->first_contact_extension.vendor_options, 0x80000001U);
		confirm->first_contact_extension.vendor_options = said;
		server.arrive(encoded(*confirm));
		if (said == 0x80000001U)
			EXPECT_NE(server.use_smc(), nullptr);
		else
			EXPECT_TRUE(server.fell_back(DeclineReason::kCnfErr));
	}
}

// What foreign clients put there, without an offer of ours, does not matter.
TEST(PairCapabilities, OthersMayPutAnythingThere)
{
	Client client(offer_beyond(2, 0), answers(endpoint_of(2), true));
	Server server(offer_beyond(1, 3), answers(endpoint_of(1), true));

	auto confirm = confirm_of(client, server);
	ASSERT_TRUE(confirm);
	confirm->first_contact_extension.vendor_options = 0x80000003;
	server.arrive(encoded(*confirm));
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(server.use_smc()->agreement->capabilities, 0);
}

} // namespace
} // namespace smc::handshake::test
