// SPDX-License-Identifier: GPL-2.0-only
//
// SMC-R over iWARP: offered where nobody else looks, and only two of this module take it.
#include <gtest/gtest.h>

#include "core/handshake/choice.hpp"
#include "handshake/side.hpp"

namespace smc::handshake::test {
namespace {

using wire::DeclineReason;
using Client = Side<ClientHandshake>;
using Server = Side<ServerHandshake>;

LocalOffer iwarp_offer(std::uint8_t host)
{
	LocalOffer offer = offer_of(host, false, false);

	offer.iwarp = true;
	offer.max_links = 2;
	offer.capabilities = wire::capability::kIwarp | wire::capability::kCompactMessages |
			     wire::capability::kGrowingRings | wire::capability::kEndByReset;
	return offer;
}

void exchange(Client &client, Server &server)
{
	while (!client.sent().empty() || !server.sent().empty()) {
		if (!client.sent().empty())
			server.arrive(client.take_sent());
		if (!server.sent().empty())
			client.arrive(server.take_sent());
	}
}

TEST(IwarpHandshake, BetweenTwoOfThisModule)
{
	Client client(iwarp_offer(2), answers(endpoint_of(2), true));
	Server server(iwarp_offer(1), answers(endpoint_of(1), true));

	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(client.use_smc(), nullptr);
	ASSERT_NE(server.use_smc(), nullptr);
	for (const UseSmc *smc : {client.use_smc(), server.use_smc()}) {
		EXPECT_TRUE(smc->agreement->iwarp());
		EXPECT_EQ(smc->agreement->max_links, 2);
		// No compact messages.
		EXPECT_EQ(smc->agreement->capabilities, wire::capability::kIwarp |
								wire::capability::kGrowingRings |
								wire::capability::kEndByReset);
	}
}

TEST(IwarpHandshake, LaterContactsSayNothingOfIt)
{
	Client client(iwarp_offer(2), answers(endpoint_of(2), false));
	Server server(iwarp_offer(1), answers(endpoint_of(1), false));

	server.start();
	client.start();
	exchange(client, server);
	EXPECT_NE(client.use_smc(), nullptr);
	EXPECT_NE(server.use_smc(), nullptr);
}

// SMC-D of version 2, without a device, and no version 1: others decline at once.
TEST(IwarpHandshake, TheProposal)
{
	Client client(iwarp_offer(2), {});

	client.start();
	const auto proposal = wire::decode_proposal(client.take_sent());
	ASSERT_TRUE(proposal);
	EXPECT_EQ(proposal->mode_v1, wire::ClcMode::kNone);
	EXPECT_TRUE(wire::offers_d(proposal->mode_v2));
	EXPECT_FALSE(wire::offers_r(proposal->mode_v2));
	EXPECT_TRUE(proposal->smcd_v2.devices.empty());
	EXPECT_EQ(proposal->v2.roce_gid, gid_of(2));
	EXPECT_EQ(proposal->v2.eids.size(), 1u);
}

TEST(IwarpHandshake, ServersThatHaveItNotDecline)
{
	// One that has RoCE, an SMC-D device, or nothing.
	for (LocalOffer offer :
	     {offer_of(1, true, true), near_offer_of(1), offer_of(1, false, false)}) {
		offer.unavailable = DeclineReason::kNoSmcDev;
		Client client(iwarp_offer(2), {});
		Server server(offer, {});

		server.start();
		client.start();
		exchange(client, server);
		EXPECT_NE(server.fall_back(), nullptr);
		ASSERT_NE(client.fall_back(), nullptr);
		EXPECT_EQ(client.fall_back()->reason, DeclineReason::kPeerDecl);
	}
}

TEST(IwarpHandshake, ServersNeedAnAddressAnEidAndRelease1)
{
	struct {
		DeclineReason reason;
		void (*change)(wire::Proposal &);
	} const cases[]{
		{DeclineReason::kNoSmcrDev, [](wire::Proposal &p) { p.v2.roce_gid = {}; }},
		{DeclineReason::kNoSmcrDev,
		 [](wire::Proposal &p) { p.v2.roce_gid = v1_gid_of(2); }},
		{DeclineReason::kNoUeid,
		 [](wire::Proposal &p) {
			 p.v2.eids.clear();
			 EXPECT_TRUE(p.v2.eids.push_back(eid("ANOTHER")));
		 }},
		{DeclineReason::kNoSmcrDev, [](wire::Proposal &p) { p.v2.release = 0; }},
	};
	Client client(iwarp_offer(2), {});

	client.start();
	const auto proposed = wire::decode_proposal(client.take_sent());
	ASSERT_TRUE(proposed);
	EXPECT_TRUE(choose_iwarp(*proposed, iwarp_offer(1)));
	for (const auto &[reason, change] : cases) {
		auto proposal = *proposed;

		change(proposal);
		const auto choice = choose_iwarp(proposal, iwarp_offer(1));
		ASSERT_FALSE(choice);
		EXPECT_EQ(choice.error(), reason);
		EXPECT_TRUE(choose(proposal, iwarp_offer(1)).list.empty());
	}
}

// A client of RoCE that says so is not one of iWARP.
TEST(IwarpHandshake, IsNotForRoce)
{
	LocalOffer roce = offer_of(2, false, true);
	LocalOffer both = offer_of(1, false, true);

	roce.capabilities = 0xffff;
	both.iwarp = true;
	both.capabilities = 0xffff;
	Client client(roce, answers(endpoint_of(2), true));
	Server server(both, answers(endpoint_of(1), true));

	server.start();
	client.start();
	exchange(client, server);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_FALSE(server.use_smc()->agreement->iwarp());
}

// An Accept without the bit is not of one who knows how to meet, and one with it not for RoCE.
TEST(IwarpHandshake, TheAcceptSaysIt)
{
	for (const bool iwarp : {true, false}) {
		LocalOffer offer = iwarp_offer(2);

		if (!iwarp) {
			offer.iwarp = false;
			offer.smcr_v2 = true;
		}
		Client client(offer, answers(endpoint_of(2), true));
		wire::Accept accept;

		client.start();
		(void)client.take_sent();
		accept.version = 2;
		accept.first_contact = true;
		accept.endpoint = endpoint_of(1);
		accept.eid = eid("SMCV2-TEST-UEID");
		accept.first_contact_extension.release = 1;
		accept.first_contact_extension.max_conns = 255;
		accept.first_contact_extension.max_links = 1;
		accept.first_contact_extension.vendor_options =
			wire::vendor_answer(iwarp ? 0 : wire::capability::kIwarp);
		client.arrive(encoded(accept));
		EXPECT_TRUE(client.fell_back(DeclineReason::kModeUnsupp)) << iwarp;
		EXPECT_EQ(client.declines_sent(), 1);
	}
}

// The Confirm comes only when the connection manager has met the server's; if it does not, TCP goes
// on in time.
TEST(IwarpHandshake, TheConfirmWaitsForTheMeeting)
{
	for (const bool met : {true, false}) {
		Answers late = answers(endpoint_of(2), true);

		late.connect.reset();
		Client client(iwarp_offer(2), late);
		Server server(iwarp_offer(1), answers(endpoint_of(1), true));

		server.start();
		client.start();
		server.arrive(client.take_sent());
		client.arrive(server.take_sent());
		EXPECT_TRUE(client.sent().empty());
		EXPECT_EQ(client.state(), State::kConnectingLink);
		if (met) {
			client.deliver(LinkConnected{});
			exchange(client, server);
			EXPECT_NE(client.use_smc(), nullptr);
			EXPECT_NE(server.use_smc(), nullptr);
			continue;
		}
		client.sleep(Timeouts{}.connect_link_ms);
		EXPECT_TRUE(client.fell_back(DeclineReason::kErrRdyLnk));
		exchange(client, server);
		EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kErrRdyLnk));
	}
}

TEST(IwarpHandshake, TheMeetingIsRefused)
{
	Answers refused = answers(endpoint_of(2), true);

	refused.connect = LinkConnectFailed{DeclineReason::kErrRdyLnk};
	Client client(iwarp_offer(2), refused);
	Server server(iwarp_offer(1), answers(endpoint_of(1), true));

	server.start();
	client.start();
	exchange(client, server);
	EXPECT_TRUE(client.fell_back(DeclineReason::kErrRdyLnk));
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kErrRdyLnk));
}

} // namespace
} // namespace smc::handshake::test
