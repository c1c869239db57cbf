// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "group/member.hpp"
#include "wire/golden.hpp"
#include "wire/llc_order.hpp"

// A client has sent its response to CONFIRM_LINK: the link is active when the server has it.
namespace smc::group::test {
namespace {

using wire::DeclineReason;

Member answered_client()
{
	Member client(config_of(Role::kClient));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.receive(golden::kConfirmLinkRequest21);
	client.deliver(LinkActivated{0, std::nullopt});
	EXPECT_EQ(client.machine().link_state(0), LinkState::kAnswered);
	EXPECT_EQ(client.machine().state(), GroupState::kForming);
	EXPECT_EQ(client.sent(), 1U);
	client.drop_sent();
	return client;
}

TEST(Answered, IsConfirmedByDelivery)
{
	Member client = answered_client();

	EXPECT_EQ(client.count<LinkConfirmed>(), 0);
	client.deliver(AnswerDelivered{0});
	ASSERT_EQ(client.count<LinkConfirmed>(), 1);
	EXPECT_EQ(client.last<LinkConfirmed>()->peer_uid, wire::LinkUid{0x101});
	EXPECT_EQ(client.machine().state(), GroupState::kActive);
	client.deliver(AnswerDelivered{0});
	EXPECT_EQ(client.count<LinkConfirmed>(), 1);
}

// The acknowledgement may be lost, and the server's next message arrive first.
TEST(Answered, IsConfirmedByWhatOnlyAConfirmedServerSays)
{
	Member client = answered_client();

	client.receive(golden::kAddLinkRequest);
	EXPECT_EQ(client.count<LinkConfirmed>(), 1);
	EXPECT_EQ(client.take_sent(), as_sent_here(golden::kAddLinkReject));
	EXPECT_EQ(client.machine().counters().violations(), 0U);
}

TEST(Answered, IsNotConfirmedByMoreOfTheSame)
{
	Member client = answered_client();

	client.receive(golden::kConfirmLinkRequest21);
	client.receive(from_hex("ff"));
	EXPECT_EQ(client.count<LinkConfirmed>(), 0);
	EXPECT_EQ(client.machine().link_state(0), LinkState::kAnswered);
	EXPECT_EQ(client.machine().counters().violations(), 2U);
}

TEST(Answered, AServerThatGivesUpIsNotUsed)
{
	Member client = answered_client();

	client.receive(golden::kDeleteLinkAll);
	EXPECT_EQ(client.count<LinkConfirmed>(), 0);
	ASSERT_EQ(client.count<LinkConfirmFailed>(), 1);
	EXPECT_EQ(client.last<LinkConfirmFailed>()->reason, DeclineReason::kTimeoutCl);
	EXPECT_TRUE(client.over());
}

TEST(Answered, LinkThatDiesWasNeverOne)
{
	Member client = answered_client();

	client.deliver(LinkFailed{0});
	EXPECT_EQ(client.count<LinkConfirmed>(), 0);
	ASSERT_EQ(client.count<LinkConfirmFailed>(), 1);
	EXPECT_EQ(client.last<LinkConfirmFailed>()->reason, DeclineReason::kTimeoutCl);
	EXPECT_TRUE(client.over());
}

TEST(Answered, DeliveryHasTheTimeOfAResponse)
{
	Member client = answered_client();

	EXPECT_EQ(client.deadline_ms(), client.now_ms() + 2000);
	client.sleep(1999);
	EXPECT_FALSE(client.over());
	client.sleep(1);
	ASSERT_EQ(client.count<LinkConfirmFailed>(), 1);
	EXPECT_EQ(client.last<LinkConfirmFailed>()->reason, DeclineReason::kTimeoutCl);
	EXPECT_TRUE(client.over());
}

// The server may have the response and use the link.
TEST(Answered, EndIsSaidToTheServer)
{
	Member client = answered_client();

	client.deliver(Terminate{});
	const auto farewell = client.take<wire::DeleteLink>(/*response=*/false);
	ASSERT_TRUE(farewell);
	EXPECT_TRUE(farewell->all);
	EXPECT_EQ(client.count<LinkConfirmFailed>(), 1);
}

TEST(Answered, DeliveryElsewhereIsNothing)
{
	Member fresh(config_of(Role::kClient));
	Member server(config_of(Role::kServer));

	fresh.deliver(AnswerDelivered{0});
	fresh.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	fresh.deliver(AnswerDelivered{0});
	fresh.receive(golden::kConfirmLinkRequest21);
	fresh.deliver(AnswerDelivered{0});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	server.deliver(AnswerDelivered{0});
	EXPECT_EQ(fresh.count<LinkConfirmed>() + server.count<LinkConfirmed>(), 0);
	EXPECT_EQ(fresh.machine().link_state(0), LinkState::kActivating);
	EXPECT_EQ(server.machine().link_state(0), LinkState::kAwaitResponse);
}

} // namespace
} // namespace smc::group::test
