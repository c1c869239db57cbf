// SPDX-License-Identifier: GPL-2.0-only
//
// Which ends meet in the Rendezvous, and where their messages go.
#include "shell/socket/rendezvous.cc"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "doubles/memory.hpp"
#include "doubles/net.hpp"
#include "doubles/spinlock.hpp"

namespace smc::shell {
namespace {

using doubles::locks;

constexpr auto kClient = NearClc::Side::kClient;
constexpr auto kServer = NearClc::Side::kServer;

struct End final : NearClcOwner {
	explicit End(NearClc::Side side) : clc(side, *this) {}

	void on_near_clc() override
	{
		EXPECT_TRUE(locks().held);
		calls++;
	}

	NearClc clc;
	int calls = 0;
};

ByteSpan bytes_of(const std::string &text)
{
	return std::as_bytes(std::span{text.data(), text.size()});
}

class RendezvousTest : public testing::Test {
protected:
	void TearDown() override
	{
		for (End *end : {&client, &server, &stranger})
			place.part(end->clc);
		EXPECT_FALSE(locks().held);
		EXPECT_EQ(locks().classes, std::set{SMC_LOCK_RENDEZVOUS});
	}

	std::string received(End &end)
	{
		const ByteSpan bytes = place.received(end.clc);

		return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
	}

	Rendezvous place;
	net one;
	net other;
	NearKey key{0x12345678, 0x9abcdef0, nullptr};
	End client{kClient};
	End server{kServer};
	End stranger{kClient};
};

TEST_F(RendezvousTest, ClientComesFirst)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_FALSE(place.met(client.clc));
	EXPECT_TRUE(place.enter(server.clc, key));
	EXPECT_TRUE(place.met(client.clc));
	EXPECT_TRUE(place.met(server.clc));
	EXPECT_EQ(client.calls + server.calls, 0);
}

TEST_F(RendezvousTest, WhatIsLeftIsThereForWhoComes)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_TRUE(place.leave(client.clc, bytes_of("Proposal")));
	EXPECT_TRUE(place.leave(client.clc, bytes_of("Decline")));
	EXPECT_EQ(received(client), "");
	EXPECT_TRUE(place.enter(server.clc, key));
	EXPECT_EQ(received(server), "ProposalDecline");
	EXPECT_EQ(client.calls + server.calls, 0);
	// From here on it is sent, and what was left comes once.
	EXPECT_FALSE(place.leave(client.clc, bytes_of("x")));
	EXPECT_TRUE(place.stop_waiting(client.clc).empty());
	EXPECT_EQ(place.send(server.clc, bytes_of("Accept")), Rendezvous::Sent::kDelivered);
	EXPECT_EQ(client.calls, 1);
	EXPECT_EQ(received(client), "Accept");
}

TEST_F(RendezvousTest, WhatIsLeftForNobodyIsTakenBack)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_TRUE(place.leave(client.clc, bytes_of("Proposal")));
	for (int i = 0; i < 2; i++) {
		const ByteSpan left = place.stop_waiting(client.clc);

		EXPECT_EQ(std::string(reinterpret_cast<const char *>(left.data()), left.size()),
			  "Proposal");
	}
	EXPECT_FALSE(place.leave(client.clc, bytes_of("x")));
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_EQ(received(server), "");
	place.consume(client.clc, 8);
	EXPECT_TRUE(place.stop_waiting(client.clc).empty());
}

TEST_F(RendezvousTest, WhatHasNoRoomIsNotLeft)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_TRUE(place.leave(client.clc, bytes_of(std::string(NearClc::kInboxSize, 'x'))));
	EXPECT_FALSE(place.leave(client.clc, bytes_of("y")));
}

TEST_F(RendezvousTest, ServerComesFirst)
{
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_TRUE(place.enter(client.clc, key));
	EXPECT_TRUE(place.met(server.clc));
	EXPECT_EQ(client.calls + server.calls, 0);
}

TEST_F(RendezvousTest, OnlyTheSameNumbersMeet)
{
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_FALSE(place.enter(client.clc, {key.server_sequence, key.client_sequence, nullptr}));
	EXPECT_FALSE(
		place.enter(stranger.clc, {key.client_sequence, key.server_sequence + 1, nullptr}));
	EXPECT_FALSE(place.met(server.clc));
}

TEST_F(RendezvousTest, ANamespaceThatKeepsToItselfMeetsNoOther)
{
	EXPECT_FALSE(place.enter(server.clc, {1, 2, &one}));
	EXPECT_FALSE(place.enter(client.clc, {1, 2, &other}));
	EXPECT_FALSE(place.enter(stranger.clc, {1, 2, nullptr}));
	place.part(client.clc);
	End own{kClient};
	EXPECT_TRUE(place.enter(own.clc, {1, 2, &one}));
	place.part(own.clc);
}

// Each taken lock is that of a bucket.
TEST_F(RendezvousTest, NobodyPassesManyStrangers)
{
	constexpr u32 kStrangers = 4096;
	constexpr std::size_t kBucketsMin = kStrangers / 2;

	// Their sum stays the same; or a few bits of one number change.
	const std::array<NearKey, 3> steps{
		{{1, 1, nullptr}, {1 << 12, 0, nullptr}, {0, 64, nullptr}}};
	for (const NearKey &step : steps) {
		std::deque<End> strangers;

		locks().taken.clear();
		for (u32 i = 0; i < kStrangers; i++) {
			strangers.emplace_back(kServer);
			EXPECT_FALSE(place.enter(strangers.back().clc,
						 {key.client_sequence + i * step.client_sequence,
						  key.server_sequence - i * step.server_sequence,
						  nullptr}));
		}
		EXPECT_GE(locks().taken.size(), kBucketsMin);
		for (End &one : strangers)
			place.part(one.clc);
	}
}

// Or who has seen one kernel's would know them all.
TEST_F(RendezvousTest, WhatCollidesIsASecret)
{
	const auto places_in = [](Rendezvous &rendezvous) {
		std::vector<std::uintptr_t> places;

		for (u32 i = 0; i < 64; i++) {
			End end{kServer};

			locks().taken.clear();
			EXPECT_FALSE(rendezvous.enter(end.clc, {i, 0, nullptr}));
			places.push_back(reinterpret_cast<std::uintptr_t>(*locks().taken.begin()) -
					 reinterpret_cast<std::uintptr_t>(&rendezvous));
			rendezvous.part(end.clc);
		}
		return places;
	};
	const auto other_place = std::make_unique<Rendezvous>();

	EXPECT_EQ(places_in(place), places_in(place));
	EXPECT_NE(places_in(place), places_in(*other_place));
}

TEST_F(RendezvousTest, TwoOfOneSideDoNotMeet)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_FALSE(place.enter(stranger.clc, key));
	EXPECT_TRUE(place.enter(server.clc, key));
	EXPECT_TRUE(place.met(client.clc));
	EXPECT_FALSE(place.met(stranger.clc));
}

TEST_F(RendezvousTest, AThirdComesTooLate)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_TRUE(place.enter(server.clc, key));
	EXPECT_FALSE(place.enter(stranger.clc, key));
	EXPECT_EQ(place.send(stranger.clc, bytes_of("x")), Rendezvous::Sent::kNotHere);
}

TEST_F(RendezvousTest, WhoStoppedWaitingIsNotFound)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_TRUE(place.stop_waiting(client.clc).empty());
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_FALSE(place.met(client.clc));
	EXPECT_EQ(place.send(client.clc, bytes_of("x")), Rendezvous::Sent::kNotHere);
	EXPECT_EQ(client.calls, 0);
}

TEST_F(RendezvousTest, ToStopWaitingForWhoHasComeChangesNothing)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_TRUE(place.enter(server.clc, key));
	EXPECT_TRUE(place.stop_waiting(client.clc).empty());
	EXPECT_TRUE(place.met(client.clc));
	EXPECT_EQ(place.send(client.clc, bytes_of("x")), Rendezvous::Sent::kDelivered);
	EXPECT_EQ(received(server), "x");
}

TEST_F(RendezvousTest, NobodyWhoNeverEntered)
{
	EXPECT_FALSE(place.met(client.clc));
	EXPECT_EQ(place.send(client.clc, bytes_of("x")), Rendezvous::Sent::kNotHere);
	EXPECT_TRUE(place.received(client.clc).empty());
}

TEST_F(RendezvousTest, MessagesStandInLine)
{
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_TRUE(place.enter(client.clc, key));
	EXPECT_EQ(place.send(client.clc, bytes_of("Confirm")), Rendezvous::Sent::kDelivered);
	EXPECT_EQ(place.send(client.clc, bytes_of("Decline")), Rendezvous::Sent::kDelivered);
	EXPECT_EQ(server.calls, 2);
	EXPECT_EQ(received(server), "ConfirmDecline");
	place.consume(server.clc, 7);
	EXPECT_EQ(received(server), "Decline");
	place.consume(server.clc, 7);
	EXPECT_EQ(received(server), "");
	EXPECT_EQ(received(client), "");
}

TEST_F(RendezvousTest, WhatHasNoRoomIsNotTakenInPart)
{
	const std::string longest(NearClc::kInboxSize, 'x');

	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_TRUE(place.enter(client.clc, key));
	EXPECT_EQ(place.send(client.clc, bytes_of(longest)), Rendezvous::Sent::kDelivered);
	EXPECT_EQ(place.send(client.clc, bytes_of("y")), Rendezvous::Sent::kNoRoom);
	EXPECT_EQ(received(server), longest);
	EXPECT_EQ(server.calls, 1);
}

TEST_F(RendezvousTest, TcpGetsRoomForAMessageWhereNobodyComes)
{
	EXPECT_EQ(place.room_for_tcp(client.clc).size(), wire::kClcMessageSizeMax);
	EXPECT_FALSE(place.enter(client.clc, key));
	EXPECT_EQ(place.room_for_tcp(client.clc).size(), wire::kClcMessageSizeMax);
	// The room is in use.
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_FALSE(place.met(client.clc));
	EXPECT_EQ(place.room_for_tcp(client.clc).size(), wire::kClcMessageSizeMax);
}

TEST_F(RendezvousTest, TcpGetsNoRoomOfTheInbox)
{
	const std::string longest(NearClc::kInboxSize, 'x');

	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_TRUE(place.enter(client.clc, key));
	const MutableByteSpan room = place.room_for_tcp(server.clc);
	EXPECT_EQ(room.size(), wire::kClcMessageSizeMax - NearClc::kInboxSize);
	EXPECT_GE(room.size(), wire::kClcHeaderSize);
	EXPECT_EQ(place.send(client.clc, bytes_of(longest)), Rendezvous::Sent::kDelivered);
	std::fill(room.begin(), room.end(), std::byte{'y'});
	EXPECT_EQ(received(server), longest);
	// Nor after its peer has gone, whose last message may not have been read.
	place.part(client.clc);
	EXPECT_EQ(place.room_for_tcp(server.clc).data(), room.data());
}

TEST_F(RendezvousTest, AMessageOutlivesItsSender)
{
	EXPECT_FALSE(place.enter(server.clc, key));
	{
		End brief{kClient};

		EXPECT_TRUE(place.enter(brief.clc, key));
		EXPECT_EQ(place.send(brief.clc, bytes_of("Confirm")), Rendezvous::Sent::kDelivered);
		place.part(brief.clc);
	}
	EXPECT_EQ(received(server), "Confirm");
	EXPECT_EQ(place.send(server.clc, bytes_of("x")), Rendezvous::Sent::kDelivered);
	EXPECT_TRUE(place.met(server.clc));
}

TEST_F(RendezvousTest, WhoHasPartedIsNotCalled)
{
	EXPECT_FALSE(place.enter(client.clc, key));
	place.part(client.clc);
	EXPECT_FALSE(place.enter(server.clc, key));
	EXPECT_EQ(client.calls, 0);
	End late{kClient};
	EXPECT_TRUE(place.enter(late.clc, key));
	place.part(late.clc);
	EXPECT_EQ(place.send(server.clc, bytes_of("x")), Rendezvous::Sent::kDelivered);
	EXPECT_EQ(late.calls, 0);
}

TEST_F(RendezvousTest, ManyAtOnce)
{
	std::vector<std::unique_ptr<End>> ends;

	for (u32 n = 0; n < 200; n++) {
		ends.push_back(std::make_unique<End>(kClient));
		EXPECT_FALSE(place.enter(ends.back()->clc, {n % 7, n, nullptr}));
	}
	for (u32 n = 200; n-- > 0;) {
		ends.push_back(std::make_unique<End>(kServer));
		EXPECT_TRUE(place.enter(ends.back()->clc, {n % 7, n, nullptr}));
		EXPECT_TRUE(place.met(ends[n]->clc));
	}
	for (const auto &end : ends)
		place.part(end->clc);
}

TEST(RendezvousSetup, WithoutMemory)
{
	doubles::memory().allocations_left = 0;
	EXPECT_FALSE(set_up_rendezvous());
	tear_down_rendezvous();
	doubles::memory().allocations_left = -1;
	EXPECT_TRUE(set_up_rendezvous());
	tear_down_rendezvous();
}

} // namespace
} // namespace smc::shell
