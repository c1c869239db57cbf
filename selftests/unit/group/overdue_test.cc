// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <deque>

#include "group/member.hpp"
#include "wire/golden.hpp"

// Responses of a slow but correct peer: Linux answers from one worker, in order, and that worker
// may block for 10 s.
namespace smc::group::test {
namespace {

std::uint32_t deleted_rkey(const Bytes &request)
{
	const auto message = wire::decode_llc(request);
	const auto *body = message ? message->get<wire::DeleteRkey>() : nullptr;

	return body != nullptr && body->rkeys.size() == 1 ? body->rkeys[0].value() : 0;
}

TEST(Overdue, ConfirmResponseIsNotTakenForTheNextOne)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{7, rkeys_of(1)});
	member.sleep(2000);
	EXPECT_EQ(member.flow(7), FlowResult::kTimedOut);
	member.deliver(AnnounceRkey{8, rkeys_of(2)});
	member.receive(confirm_response(1));
	EXPECT_EQ(member.flow(8), std::nullopt);
	EXPECT_EQ(member.machine().counters().late_responses, 1U);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
	member.receive(confirm_response(2));
	EXPECT_EQ(member.flow(8), FlowResult::kDone);
}

// An RMB is announced once more, for another connection. Either answer says that the peer knows it,
// and the other one, if it comes, breaks no rule.
TEST(Overdue, ConfirmResponseToEitherOfTwoRequestsForOneRmb)
{
	for (const int answers : {1, 2}) {
		Member member = active_member(Role::kClient);

		member.deliver(AnnounceRkey{7, rkeys_of(1)});
		member.sleep(2000);
		EXPECT_EQ(member.flow(7), FlowResult::kTimedOut);
		member.deliver(AnnounceRkey{8, rkeys_of(1)});
		for (int i = 0; i < answers; i++)
			member.receive(confirm_response(1));
		EXPECT_EQ(member.flow(8), FlowResult::kDone);
		EXPECT_EQ(member.machine().counters().late_responses, answers - 1U);
		EXPECT_EQ(member.machine().counters().violations(), 0U);
		member.deliver(AnnounceRkey{9, rkeys_of(2)});
		member.receive(confirm_response(2));
		EXPECT_EQ(member.flow(9), FlowResult::kDone);
	}
}

// An answer every 3.5 s, for hours: each is late, and belongs to the request before.
TEST(Overdue, PeerThatIsAlwaysLateBreaksNoRule)
{
	Member member = active_member(Role::kClient);

	for (std::uint32_t i = 1; i < 500; i++) {
		member.deliver(AnnounceRkey{i, rkeys_of(i)});
		member.sleep(3500);
		member.receive(confirm_response(i));
		ASSERT_FALSE(member.over()) << i;
		EXPECT_EQ(member.flow(i), FlowResult::kTimedOut);
	}
	EXPECT_EQ(member.machine().counters().violations(), 0U);
	EXPECT_EQ(member.machine().counters().late_responses, 499U);
}

// Silence for ten seconds, then all answers at once.
TEST(Overdue, AllOfAWorkersPauseAreRemembered)
{
	Member member = active_member(Role::kClient);

	for (std::uint32_t i = 1; i <= 5; i++)
		member.deliver(AnnounceRkey{i, rkeys_of(i)});
	member.sleep(10000);
	for (std::uint32_t i = 1; i <= 5; i++)
		member.receive(confirm_response(i));
	EXPECT_EQ(member.machine().counters().late_responses, 5U);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
	// Each RMB is reported once.
	member.receive(confirm_response(1));
	EXPECT_EQ(member.machine().counters().violations(), 1U);
}

TEST(Overdue, ConfirmResponseIsForgottenInTime)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{1, rkeys_of(1)});
	member.sleep(19999);
	member.deliver(AnnounceRkey{2, rkeys_of(2)});
	member.sleep(1);
	member.receive(confirm_response(1));
	EXPECT_EQ(member.machine().counters().violations(), 1U);
	member.sleep(19998);
	member.receive(confirm_response(2));
	EXPECT_EQ(member.machine().counters().late_responses, 1U);
}

// The peer answers in order, so a request that it skipped will not be answered. The same RMB is
// announced again, and the answer to that is a current one.
TEST(Overdue, NewerAnswerSettlesOlderRequests)
{
	Member member = active_member(Role::kClient);

	member.deliver(AnnounceRkey{1, rkeys_of(1)});
	member.sleep(2000);
	member.deliver(AnnounceRkey{2, rkeys_of(2)});
	member.receive(confirm_response(2));
	EXPECT_EQ(member.flow(2), FlowResult::kDone);
	member.deliver(AnnounceRkey{3, rkeys_of(1)});
	member.receive(confirm_response(1));
	EXPECT_EQ(member.flow(3), FlowResult::kDone);
	EXPECT_EQ(member.machine().counters().late_responses, 0U);
}

// So is the answer to a deletion, in its turn or late. After an announcement failed, its RMB is
// deleted, or another one with the same key is announced: a peer that lost the first request, as
// Linux may, answers the second, and that answer is a current one.
TEST(Overdue, AnswerToADeletionSettlesOlderRequests)
{
	for (const bool late : {false, true}) {
		SCOPED_TRACE(late);
		Member member = active_member(Role::kClient);

		member.deliver(AnnounceRkey{1, rkeys_of(1)});
		member.sleep(2000);
		EXPECT_EQ(member.flow(1), FlowResult::kTimedOut);
		member.deliver(DeleteRkey{2, rkeys_of(1)});
		if (late)
			member.sleep(3000);
		member.receive(delete_response());
		EXPECT_EQ(member.flow(2), FlowResult::kDone);
		member.deliver(AnnounceRkey{3, rkeys_of(1)});
		member.receive(confirm_response(1));
		EXPECT_EQ(member.flow(3), FlowResult::kDone);
		EXPECT_EQ(member.machine().counters().late_responses, late ? 1U : 0U);
		EXPECT_EQ(member.machine().counters().violations(), 0U);
	}
}

// Requests behind it still await their answers.
TEST(Overdue, AnswerToADeletionSettlesNothingNewer)
{
	Member member = active_member(Role::kClient);

	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.sleep(2000);
	member.deliver(AnnounceRkey{2, rkeys_of(2)});
	member.sleep(2000);
	EXPECT_EQ(member.flow(2), FlowResult::kTimedOut);
	member.receive(delete_response());
	EXPECT_EQ(member.flow(1), FlowResult::kDone);
	member.receive(confirm_response(2));
	EXPECT_EQ(member.machine().counters().late_responses, 2U);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
}

TEST(Overdue, EchoOfANewerTestSettlesOlderRequests)
{
	Config config = config_of(Role::kClient);

	config.testlink_idle_ms = 3000;
	Member member = active_member(Role::kClient, config);
	member.deliver(AnnounceRkey{1, rkeys_of(1)});
	member.drop_sent();
	member.sleep(3000);
	Bytes echo = member.take_sent();
	ASSERT_FALSE(echo.empty());
	echo[3] = std::byte{0x80};
	member.deliver(AnnounceRkey{2, rkeys_of(2)});
	member.sleep(2000);
	member.receive(echo);
	member.receive(confirm_response(2)); // sent behind the test
	EXPECT_EQ(member.machine().counters().late_responses, 1U);
	member.receive(confirm_response(1)); // sent before
	EXPECT_EQ(member.machine().counters().violations(), 1U);
}

TEST(Overdue, DeletionIsThroughWhenItsResponseComes)
{
	Member member = active_member(Role::kClient);

	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.deliver(DeleteRkey{2, rkeys_of(2)});
	member.deliver(AnnounceRkey{3, rkeys_of(3)});
	EXPECT_EQ(deleted_rkey(member.take_sent()), 1U);
	member.sleep(2000);
	// This deletion still waits, and so does the next one; announcements do not.
	EXPECT_EQ(member.flow(1), std::nullopt);
	EXPECT_TRUE(member.take<wire::ConfirmRkey>(/*response=*/false));
	EXPECT_EQ(member.sent(), 0U);
	member.sleep(1500);
	member.receive(delete_response());
	EXPECT_EQ(member.flow(1), FlowResult::kDone);
	EXPECT_EQ(member.flow(2), std::nullopt);
	member.receive(confirm_response(3));
	EXPECT_EQ(member.flow(3), FlowResult::kDone);
	EXPECT_EQ(deleted_rkey(member.take_sent()), 2U);
	member.receive(delete_response(/*negative=*/true));
	EXPECT_EQ(member.flow(2), FlowResult::kRefused);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
}

// Whatever the delay: an RMB counts as deleted only when its own answer has arrived.
TEST(Overdue, NoDeletionIsThroughBeforeItsOwnAnswer)
{
	for (const std::uint64_t delay_ms : {500, 2100, 3500, 5000, 9000, 21000, 25000, 70000}) {
		SCOPED_TRACE(delay_ms);
		Member member = active_member(Role::kClient, [] {
			Config config = config_of(Role::kClient);
			config.testlink_idle_ms = 0;
			return config;
		}());
		struct Request {
			std::uint32_t rkey;
			std::uint64_t answer_ms;
		};
		std::deque<Request> at_peer;
		std::uint64_t answered = 0; // rkeys up to this one

		for (std::uint32_t next = 1, step = 0; step < 4000; step++) {
			if (step % 100 == 0 && next <= 30) {
				member.deliver(DeleteRkey{next, rkeys_of(next)});
				next++;
			}
			while (member.sent() > 0)
				at_peer.push_back({deleted_rkey(member.take_sent()),
						   member.now_ms() + delay_ms});
			while (!at_peer.empty() && at_peer.front().answer_ms <= member.now_ms()) {
				answered = std::max<std::uint64_t>(answered, at_peer.front().rkey);
				at_peer.pop_front();
				member.receive(delete_response());
			}
			for (FlowId id = answered + 1; id < next; id++)
				ASSERT_NE(member.flow(id), FlowResult::kDone) << id;
			member.sleep(100);
		}
		EXPECT_EQ(member.machine().counters().violations(), 0U);
		EXPECT_GT(answered, 0U);
		for (FlowId id = 1; id <= 30; id++)
			EXPECT_TRUE(member.flow(id).has_value()) << id;
		if (delay_ms < 20000) {
			EXPECT_EQ(member.flow(30), FlowResult::kDone);
		}
	}
}

// A request that is never answered is given up, and blocks later ones only until the peer has
// skipped it.
TEST(Overdue, DeletionThatIsNeverAnswered)
{
	Member member = active_member(Role::kClient);

	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.drop_sent();
	member.sleep(19999);
	EXPECT_EQ(member.flow(1), std::nullopt);
	member.sleep(1);
	EXPECT_EQ(member.flow(1), FlowResult::kTimedOut);
	member.deliver(DeleteRkey{2, rkeys_of(2)});
	EXPECT_EQ(member.sent(), 0U);
	member.deliver(AnnounceRkey{3, rkeys_of(3)});
	EXPECT_TRUE(member.take<wire::ConfirmRkey>(/*response=*/false));
	member.receive(confirm_response(3));
	EXPECT_EQ(deleted_rkey(member.take_sent()), 2U);
	member.receive(delete_response());
	EXPECT_EQ(member.flow(2), FlowResult::kDone);
	EXPECT_EQ(member.machine().counters().late_responses, 0U);
}

// Answered out of turn, it could be the answer to an earlier request.
TEST(Overdue, DeletionIsNotPassedOverBeforeItsTime)
{
	Member member = active_member(Role::kClient);

	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.sleep(2000);
	member.deliver(AnnounceRkey{3, rkeys_of(3)});
	member.receive(confirm_response(3));
	member.drop_sent();
	member.deliver(DeleteRkey{2, rkeys_of(2)});
	EXPECT_EQ(member.sent(), 0U);
	member.receive(delete_response());
	EXPECT_EQ(member.flow(1), FlowResult::kDone);
	EXPECT_EQ(member.flow(2), std::nullopt);
	EXPECT_EQ(deleted_rkey(member.take_sent()), 2U);
}

TEST(Overdue, CancelledDeletionIsStillAwaited)
{
	Member member = active_member(Role::kClient);

	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.sleep(2000);
	member.deliver(CancelFlow{1});
	member.deliver(DeleteRkey{2, rkeys_of(2)});
	member.receive(delete_response());
	EXPECT_EQ(member.flow(1), std::nullopt);
	EXPECT_EQ(member.flow(2), std::nullopt);
	EXPECT_EQ(member.machine().counters().violations(), 0U);
}

// A peer that answers nothing gets no requests for a while; callers learn that at once.
TEST(Overdue, AreBounded)
{
	Config config = config_of(Role::kClient);

	config.testlink_idle_ms = 0;
	Member member = active_member(Role::kClient, config);
	for (std::uint32_t i = 1; i <= kOverdueMax; i++) {
		member.deliver(AnnounceRkey{i, rkeys_of(i)});
		member.sleep(2000);
		EXPECT_EQ(member.flow(i), FlowResult::kTimedOut);
	}
	member.drop_sent();
	member.deliver(AnnounceRkey{100, rkeys_of(100)});
	EXPECT_EQ(member.flow(100), FlowResult::kOverload);
	member.deliver(DeleteRkey{101, rkeys_of(101)});
	EXPECT_EQ(member.sent(), 0U);
	// The oldest request is forgotten 20 s after it was sent.
	member.sleep(20000 - 2000 * kOverdueMax);
	EXPECT_EQ(deleted_rkey(member.take_sent()), 101U);
}

TEST(Overdue, GoesWithItsLink)
{
	Member member = active_member(Role::kServer);
	const wire::ConfirmLink second = confirm_link_of(2, 2);

	member.deliver(DeleteRkey{1, rkeys_of(1)});
	member.sleep(2000);
	member.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	member.receive(encoded(second, /*response=*/true), 1);
	member.drop_sent();
	// The answer must come over the link that carried the request.
	member.receive(delete_response(), 1);
	EXPECT_EQ(member.machine().counters().violations(), 1U);
	EXPECT_EQ(member.flow(1), std::nullopt);
	member.deliver(LinkFailed{0});
	EXPECT_EQ(member.flow(1), FlowResult::kLinkLost);
	EXPECT_TRUE(member.take<wire::DeleteLink>(/*response=*/false));
	member.deliver(DeleteRkey{2, rkeys_of(2, 1)});
	EXPECT_EQ(deleted_rkey(member.take_sent()), 2U);
}

} // namespace
} // namespace smc::group::test
