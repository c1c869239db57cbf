// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "group/member.hpp"
#include "wire/golden.hpp"
#include "wire/llc_order.hpp"

// Our own requests about our RMBs.
namespace smc::group::test {
namespace {

TEST(Flow, AnnouncesAndDeletesAsLinuxDoes)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{7, rkeys_of(0x66c)});
	EXPECT_EQ(member.take_sent(), as_sent_here(golden::kConfirmRkeyRequest));
	EXPECT_EQ(member.flow(7), std::nullopt);
	member.receive(golden::kConfirmRkeyResponse);
	EXPECT_EQ(member.flow(7), FlowResult::kDone);

	member.deliver(DeleteRkey{8, rkeys_of(0x385)});
	EXPECT_EQ(member.take_sent(), as_sent_here(golden::kDeleteRkeyRequest));
	member.receive(golden::kDeleteRkeyResponse);
	EXPECT_EQ(member.flow(8), FlowResult::kDone);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
}

TEST(Flow, CanBeRefused)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{7, rkeys_of(1)});
	member.receive(confirm_response(1, /*negative=*/true));
	EXPECT_EQ(member.flow(7), FlowResult::kRefused);
	member.deliver(DeleteRkey{8, rkeys_of(1)});
	member.receive(delete_response(/*negative=*/true));
	EXPECT_EQ(member.flow(8), FlowResult::kRefused);
}

TEST(Flow, TakesTurns)
{
	Member member = active_member(Role::kClient);

	for (FlowId id = 0; id < 4; id++) {
		if (id % 2 == 0)
			member.deliver(
				AnnounceRkey{id, rkeys_of(100 + static_cast<std::uint32_t>(id))});
		else
			member.deliver(
				DeleteRkey{id, rkeys_of(100 + static_cast<std::uint32_t>(id))});
	}
	EXPECT_EQ(member.machine().flows_waiting(), 3U);
	for (FlowId id = 0; id < 4; id++) {
		ASSERT_EQ(member.sent(), 1U) << id;
		member.drop_sent();
		if (id % 2 == 0)
			member.receive(confirm_response(100 + static_cast<std::uint32_t>(id)));
		else
			member.receive(delete_response());
		EXPECT_EQ(member.flow(id), FlowResult::kDone) << id;
	}
}

TEST(Flow, WaitsForALink)
{
	Member member(config_of(Role::kServer));
	const wire::ConfirmLink confirm = confirm_link_of(2, 1);

	member.deliver(AnnounceRkey{7, rkeys_of(1)});
	member.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	EXPECT_EQ(member.sent(), 1U);
	member.drop_sent();
	member.receive(encoded(confirm, /*response=*/true));
	EXPECT_TRUE(member.take<wire::ConfirmRkey>(/*response=*/false));
}

TEST(Flow, ListsAllLinks)
{
	Member member = active_member(Role::kServer);
	const wire::ConfirmLink second = confirm_link_of(2, 2);
	LinkRkeys rkeys = rkeys_of(5);

	member.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	member.receive(encoded(second, /*response=*/true), 1);
	member.drop_sent();
	ASSERT_TRUE(rkeys.push_back({1, {wire::Rkey{50}, 0x5000}}));
	ASSERT_TRUE(rkeys.push_back({2, {wire::Rkey{51}, 0x5100}})); // not active
	member.deliver(AnnounceRkey{7, rkeys});
	const auto request = member.take<wire::ConfirmRkey>(/*response=*/false);
	ASSERT_TRUE(request);
	EXPECT_EQ(request->token.rkey, wire::Rkey{5});
	ASSERT_EQ(request->others.size(), 1U);
	EXPECT_EQ(request->others[0].link, wire::LinkId{2});
	EXPECT_EQ(request->others[0].token.rkey, wire::Rkey{50});
}

TEST(Flow, WithoutRkeyForTheLinkIsLost)
{
	Member member = active_member(Role::kServer);

	member.deliver(AnnounceRkey{7, rkeys_of(5, 1)});
	EXPECT_EQ(member.flow(7), FlowResult::kLinkLost);
	EXPECT_EQ(member.sent(), 0U);
}

// A missing response does not end the link: TEST_LINK does, in its time.
TEST(Flow, TimesOut)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{7, rkeys_of(1)});
	member.deliver(AnnounceRkey{8, rkeys_of(2)});
	member.drop_sent();
	member.sleep(1999);
	EXPECT_EQ(member.flow(7), std::nullopt);
	member.sleep(1);
	EXPECT_EQ(member.flow(7), FlowResult::kTimedOut);
	EXPECT_TRUE(member.take<wire::ConfirmRkey>(/*response=*/false));
	member.sleep(27999);
	EXPECT_EQ(member.sent(), 0U);
	EXPECT_EQ(member.count<LinkDown>(), 0);
}

TEST(Flow, ResponsesToNothingAreCounted)
{
	Member member = active_member(Role::kClient);

	member.receive(confirm_response(1));
	member.receive(delete_response());
	EXPECT_EQ(member.machine().counters().unexpected_responses, 2U);
	// A response of another kind answers nothing.
	member.deliver(AnnounceRkey{7, rkeys_of(1)});
	member.receive(delete_response());
	member.receive(confirm_response(2));
	EXPECT_EQ(member.flow(7), std::nullopt);
	EXPECT_EQ(member.machine().counters().unexpected_responses, 4U);
	member.receive(confirm_response(1));
	EXPECT_EQ(member.flow(7), FlowResult::kDone);
	member.receive(confirm_response(1));
	EXPECT_EQ(member.machine().counters().unexpected_responses, 5U);
}

TEST(Flow, ResponseOfAnotherKindOrLinkIsNotTheAnswer)
{
	Member member = active_member(Role::kServer);
	const wire::ConfirmLink second = confirm_link_of(2, 2);

	member.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	member.receive(encoded(second, /*response=*/true), 1);
	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.receive(confirm_response(1));
	member.receive(delete_response(), 1);
	EXPECT_EQ(member.flow(1), std::nullopt);
	member.receive(delete_response());
	EXPECT_EQ(member.flow(1), FlowResult::kDone);
	member.deliver(AnnounceRkey{2, rkeys_of(1)});
	member.receive(confirm_response(1), 1);
	EXPECT_EQ(member.flow(2), std::nullopt);
	EXPECT_EQ(member.machine().counters().unexpected_responses, 3U);
	member.receive(confirm_response(1));
	EXPECT_EQ(member.flow(2), FlowResult::kDone);
}

TEST(Flow, QueueIsBounded)
{
	Member member = active_member(Role::kClient);

	for (FlowId id = 0; id < 1 + kFlowsWaitingMax; id++)
		member.deliver(AnnounceRkey{id, rkeys_of(static_cast<std::uint32_t>(id))});
	EXPECT_EQ(member.count<FlowDone>(), 0);
	member.deliver(AnnounceRkey{9999, rkeys_of(1)});
	EXPECT_EQ(member.flow(9999), FlowResult::kOverload);
	EXPECT_EQ(member.machine().flows_waiting(), kFlowsWaitingMax);
	EXPECT_EQ(member.sent(), 1U);
}

TEST(Flow, TurnsThatDoNotComeTimeOut)
{
	Config config = config_of(Role::kServer);

	config.testlink_idle_ms = 0;
	config.turn_ms = 100;
	config.response_ms = 2000;
	Member member = active_member(Role::kServer, config);
	for (FlowId id = 0; id < 50; id++)
		member.deliver(AnnounceRkey{id, rkeys_of(static_cast<std::uint32_t>(id))});
	member.sleep(1000);
	member.receive(confirm_response(0));
	EXPECT_EQ(member.flow(0), FlowResult::kDone);
	member.sleep(0); // the rest, a few at a step
	for (FlowId id = 1; id < 50; id++)
		EXPECT_EQ(member.flow(id), FlowResult::kTimedOut) << id;
	EXPECT_EQ(member.machine().flows_waiting(), 0U);
}

TEST(Flow, TurnsTimeOutWithoutALink)
{
	Member member(config_of(Role::kServer));

	member.deliver(AnnounceRkey{1, rkeys_of(1)});
	EXPECT_EQ(member.deadline_ms(), member.now_ms() + 20000);
	member.sleep(20000);
	EXPECT_EQ(member.flow(1), FlowResult::kTimedOut);
	EXPECT_EQ(member.deadline_ms(), std::nullopt);
}

TEST(Flow, CancelledOnesAreSilent)
{
	Member member = active_member(Role::kClient);

	for (FlowId id = 1; id <= 3; id++)
		member.deliver(AnnounceRkey{id, rkeys_of(static_cast<std::uint32_t>(id))});
	member.drop_sent();
	member.deliver(CancelFlow{1});
	member.deliver(CancelFlow{2});
	member.deliver(CancelFlow{77});
	EXPECT_EQ(member.sent(), 0U);
	member.receive(confirm_response(1));
	EXPECT_EQ(member.flow(1), std::nullopt);
	const auto request = member.take<wire::ConfirmRkey>(/*response=*/false);
	ASSERT_TRUE(request);
	EXPECT_EQ(request->token.rkey, wire::Rkey{3});
	member.receive(confirm_response(3));
	EXPECT_EQ(member.flow(2), std::nullopt);
	EXPECT_EQ(member.flow(3), FlowResult::kDone);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
}

TEST(Flow, CancelledOnesMakeRoom)
{
	Member member = active_member(Role::kClient);

	for (FlowId id = 0; id < 1 + kFlowsWaitingMax; id++)
		member.deliver(AnnounceRkey{id, rkeys_of(static_cast<std::uint32_t>(id))});
	member.deliver(CancelFlow{kFlowsWaitingMax / 2});
	EXPECT_EQ(member.machine().flows_waiting(), kFlowsWaitingMax - 1);
	member.deliver(AnnounceRkey{9999, rkeys_of(9999)});
	EXPECT_EQ(member.count<FlowDone>(), 0);
	// The others keep their order.
	member.drop_sent();
	for (std::uint32_t rkey = 0; rkey < kFlowsWaitingMax; rkey++) {
		if (rkey == kFlowsWaitingMax / 2)
			continue;
		member.receive(confirm_response(rkey));
		EXPECT_EQ(member.flow(rkey), FlowResult::kDone);
	}
	EXPECT_EQ(member.machine().flows_waiting(), 1U);
}

// One of each connection of a full group, and deletions.
TEST(Flow, ThereIsRoomForAll)
{
	Member member = active_member(Role::kClient);

	for (FlowId id = 0; id < 255 + kDeletionsMax; id++)
		member.deliver(AnnounceRkey{id, rkeys_of(static_cast<std::uint32_t>(id))});
	EXPECT_EQ(member.count<FlowDone>(), 0);
}

// A group with two links, the first of which carries what is asked.
Member member_with_two(Role role)
{
	Member member = active_member(role);

	member.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	member.receive(encoded(confirm_link_of(2, 2), /*response=*/true), 1);
	member.drop_sent();
	return member;
}

LinkRkeys on_both(std::uint32_t rkey)
{
	LinkRkeys rkeys = rkeys_of(rkey);

	EXPECT_TRUE(rkeys.push_back({1, {wire::Rkey{rkey + 100}, rkeys[0].token.address}}));
	return rkeys;
}

TEST(Flow, LinkLossRepeatsTheRunningOneElsewhere)
{
	Member member = member_with_two(Role::kServer);

	member.deliver(AnnounceRkey{1, on_both(1)});
	member.deliver(AnnounceRkey{2, on_both(2)});
	member.drop_sent();
	member.deliver(LinkFailed{0});
	EXPECT_EQ(member.count<FlowDone>(), 0);
	EXPECT_TRUE(member.take<wire::DeleteLink>(/*response=*/false));
	const auto again = member.take<wire::ConfirmRkey>(/*response=*/false);
	ASSERT_TRUE(again);
	EXPECT_EQ(again->token.rkey, wire::Rkey{101});
	EXPECT_TRUE(again->others.empty());
	EXPECT_EQ(member.sent(), 0U);
	member.receive(confirm_response(101), 1);
	EXPECT_EQ(member.flow(1), FlowResult::kDone);
	EXPECT_EQ(member.machine().flows_waiting(), 0U);
}

TEST(Flow, LinkLossRepeatsADeletionElsewhere)
{
	Member member = member_with_two(Role::kServer);

	member.deliver(DeleteRkey{1, on_both(1)});
	member.drop_sent();
	member.deliver(LinkFailed{0});
	EXPECT_TRUE(member.take<wire::DeleteLink>(/*response=*/false));
	const auto again = member.take<wire::DeleteRkey>(/*response=*/false);
	ASSERT_TRUE(again);
	EXPECT_EQ(again->rkeys[0], wire::Rkey{101});
}

// The peer may have heard the first one.
TEST(Flow, OneThatIsToBeRepeatedDoesNotCountAsUnsent)
{
	Member member = member_with_two(Role::kServer);

	member.deliver(AnnounceRkey{1, on_both(1)});
	member.deliver(AnnounceRkey{2, on_both(2)});
	member.machine().hold_requests(true);
	member.deliver(LinkFailed{0});
	EXPECT_EQ(member.machine().flows_waiting(), 2U);
	EXPECT_FALSE(member.machine().flow_waits(1));
	EXPECT_TRUE(member.machine().flow_waits(2));
	EXPECT_TRUE(member.machine().has_flow(1));
}

TEST(Flow, IsKnownUntilItIsOver)
{
	Member member = member_with_two(Role::kServer);

	member.deliver(AnnounceRkey{1, on_both(1)});
	member.deliver(AnnounceRkey{2, on_both(2)});
	// One is under way, one waits.
	EXPECT_TRUE(member.machine().has_flow(1));
	EXPECT_TRUE(member.machine().has_flow(2));
	EXPECT_FALSE(member.machine().has_flow(3));
	member.deliver(CancelFlow{2});
	EXPECT_FALSE(member.machine().has_flow(2));
}

// Another link has come in the place of one that is gone, and has other rkeys.
TEST(Flow, IsNotRepeatedByTheRkeyOfALinkThatIsGone)
{
	Member member = member_with_two(Role::kServer);

	member.deliver(AnnounceRkey{1, on_both(1)});
	member.deliver(AnnounceRkey{2, on_both(2)});
	member.deliver(LinkFailed{1});
	member.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	member.receive(encoded(confirm_link_of(2, member.machine().link_id(1).value()),
			       /*response=*/true),
		       1);
	ASSERT_EQ(member.machine().link_state(1), LinkState::kActive);
	member.drop_sent();
	member.deliver(LinkFailed{0});
	EXPECT_EQ(member.flow(1), FlowResult::kLinkLost);
	EXPECT_TRUE(member.take<wire::DeleteLink>(/*response=*/false));
	EXPECT_EQ(member.sent(), 0U);
}

// Nobody waits for it any more.
TEST(Flow, LinkLossDoesNotRepeatACancelledOne)
{
	Member member = member_with_two(Role::kServer);

	member.deliver(AnnounceRkey{1, on_both(1)});
	member.deliver(CancelFlow{1});
	member.drop_sent();
	member.deliver(LinkFailed{0});
	EXPECT_TRUE(member.take<wire::DeleteLink>(/*response=*/false));
	EXPECT_EQ(member.sent(), 0U);
	EXPECT_EQ(member.count<FlowDone>(), 0);
}

TEST(Flow, LinkLossEndsTheRunningOne)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{1, rkeys_of(1)});
	member.deliver(AnnounceRkey{2, rkeys_of(2)});
	member.deliver(LinkFailed{0});
	EXPECT_EQ(member.flow(1), FlowResult::kLinkLost);
	EXPECT_TRUE(member.over());
	EXPECT_EQ(member.flow(2), std::nullopt); // TerminateGroup replaces it
}

TEST(Flow, CrossesTheOtherEnds)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	exchange(client, server);
	for (FlowId id = 0; id < 100; id++) {
		client.deliver(AnnounceRkey{id, rkeys_of(1000 + static_cast<std::uint32_t>(id))});
		server.deliver(AnnounceRkey{id, rkeys_of(2000 + static_cast<std::uint32_t>(id))});
	}
	exchange(client, server);
	for (FlowId id = 0; id < 100; id++) {
		EXPECT_EQ(client.flow(id), FlowResult::kDone);
		EXPECT_EQ(server.flow(id), FlowResult::kDone);
		client.deliver(
			DeleteRkey{100 + id, rkeys_of(1000 + static_cast<std::uint32_t>(id))});
		server.deliver(DeleteRkey{100 + id, rkeys_of(5000)});
	}
	exchange(client, server);
	for (FlowId id = 100; id < 200; id++) {
		EXPECT_EQ(client.flow(id), FlowResult::kDone);
		EXPECT_EQ(server.flow(id), FlowResult::kRefused); // never announced
	}
	EXPECT_EQ(client.machine().counters().violations(), 0U);
	EXPECT_EQ(server.machine().counters().violations(), 0U);
	// Both ends only test and answer, and the link lives on.
	for (int i = 0; i < 10; i++) {
		client.sleep(30000);
		server.sleep(30000);
		exchange(client, server);
	}
	EXPECT_FALSE(client.over());
	EXPECT_FALSE(server.over());
}

} // namespace
} // namespace smc::group::test
