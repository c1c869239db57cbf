// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <tuple>

#include "handshake/side.hpp"

// Two clients have connected to each other at the same time. Both end as TCP, and no CLC byte is
// left in either stream, whether one or both know that the SYNs crossed.
namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

const Bytes kData = from_hex("4745540d0a");

Client client_of(std::uint8_t host, bool offers)
{
	return {offer_of(host, false, offers), {}};
}

void start(Client &client, bool knows)
{
	if (knows)
		client.start_crossed();
	else
		client.start();
}

// Bytes take no time here, so the longer timeout of the two bounds everything.
void talk(Client &a, Client &b, std::size_t piece_bytes)
{
	constexpr std::uint64_t kStep_ms = 50;

	for (std::uint64_t slept_ms = 0; slept_ms <= 7000; slept_ms += kStep_ms) {
		exchange(a, b, piece_bytes);
		a.sleep(kStep_ms);
		b.sleep(kStep_ms);
	}
}

void expect_tcp(const Client &client)
{
	ASSERT_TRUE(client.finished()) << name(client.state());
	ASSERT_NE(client.fall_back(), nullptr);
	EXPECT_TRUE(client.left_in_stream().empty());
}

// A knows, as at least one of the two does: it answered a SYN with a SYN-ACK.
class Crossed : public testing::TestWithParam<std::tuple<bool, bool, bool, std::size_t>> {};

TEST_P(Crossed, BothEndAsTcp)
{
	const auto [a_offers, b_offers, b_knows, piece_bytes] = GetParam();
	Client a = client_of(1, a_offers);
	Client b = client_of(2, b_offers);

	start(a, true);
	start(b, b_knows);
	talk(a, b, piece_bytes);
	expect_tcp(a);
	expect_tcp(b);
	// The bytes that follow are the users'.
	a.arrive(kData);
	b.arrive(kData);
	EXPECT_EQ(a.left_in_stream(), kData);
	EXPECT_EQ(b.left_in_stream(), kData);
}

INSTANTIATE_TEST_SUITE_P(All, Crossed,
			 testing::Combine(testing::Bool(), testing::Bool(), testing::Bool(),
					  testing::Values(std::size_t{1}, std::size_t{4096})));

TEST(CrossedClient, TwoProposalsUnderWayAreTakenOut)
{
	for (const bool a_knows : {false, true}) {
		for (const bool b_knows : {false, true}) {
			Client a = client_of(1, true);
			Client b = client_of(2, true);

			start(a, a_knows);
			start(b, b_knows);
			a.sleep(500);
			b.sleep(500);
			ASSERT_EQ(a.state(), State::kAwaitAccept);
			ASSERT_EQ(b.state(), State::kAwaitAccept);
			exchange(a, b);
			for (Client *client : {&a, &b}) {
				EXPECT_TRUE(client->fell_back(DeclineReason::kOptUnsupp));
				EXPECT_TRUE(client->left_in_stream().empty());
				EXPECT_EQ(client->count<SendClc>(), 1);
			}
		}
	}
}

// In one kernel both send the same Proposal.
TEST(CrossedClient, WhoKnowsTakesTheSameProposalForThePeers)
{
	Client client = client_of(1, true);

	client.start_crossed();
	client.sleep(500);
	client.arrive(client.take_sent());
	EXPECT_TRUE(client.fell_back(DeclineReason::kOptUnsupp));
	EXPECT_TRUE(client.left_in_stream().empty());
}

TEST(CrossedClient, ProposalThatIsNoneIsForeign)
{
	Client peer = client_of(2, true);
	Client client = client_of(1, true);

	peer.start();
	client.start();
	Bytes bytes = peer.take_sent();
	bytes.back() ^= std::byte{1}; // of the trailer
	client.arrive(bytes);
	EXPECT_TRUE(client.failed_with(kConnectionReset));
	EXPECT_EQ(client.left_in_stream(), bytes);
}

TEST(CrossedClient, SpeaksLastAndOnlyIfItHasTo)
{
	Client waits = client_of(1, true);
	waits.start_crossed();
	waits.sleep(499);
	EXPECT_EQ(waits.state(), State::kAwaitProposal);
	EXPECT_TRUE(waits.sent().empty());
	waits.sleep(1);
	EXPECT_EQ(waits.state(), State::kAwaitAccept);
	EXPECT_EQ(waits.count<SendClc>(), 1);

	// The peer has declined and left: it would take further bytes as data.
	Client told = client_of(1, true);
	told.start_crossed();
	told.arrive(encoded(wire::Decline{}));
	EXPECT_TRUE(told.fell_back(DeclineReason::kPeerDecl));
	EXPECT_EQ(told.count<SendClc>(), 0);

	// The peer waits for an answer.
	Client asked = client_of(1, true);
	Client peer = client_of(2, true);
	asked.start_crossed();
	peer.start();
	asked.arrive(peer.take_sent());
	EXPECT_TRUE(asked.fell_back(DeclineReason::kOptUnsupp));
	EXPECT_EQ(asked.declines_sent(), 1);
	EXPECT_TRUE(asked.left_in_stream().empty());
}

TEST(CrossedClient, DataInPlaceOfAMessageAreTheUsers)
{
	for (const bool offers : {false, true}) {
		Client client = client_of(1, offers);

		client.start_crossed();
		client.arrive(kData);
		EXPECT_TRUE(client.fell_back(DeclineReason::kOptUnsupp));
		EXPECT_EQ(client.left_in_stream(), kData);
		EXPECT_TRUE(client.sent().empty());
	}
}

TEST(CrossedClient, EndInPlaceOfAMessageIsTheUsers)
{
	Client client = client_of(1, true);

	client.start_crossed();
	client.arrive_eof();
	EXPECT_TRUE(client.fell_back(DeclineReason::kOptUnsupp));
}

TEST(CrossedClient, SilenceEnds)
{
	Client client = client_of(1, false);

	client.start_crossed();
	client.sleep(5999);
	EXPECT_EQ(client.state(), State::kAwaitProposal);
	client.sleep(1);
	EXPECT_TRUE(client.fell_back(DeclineReason::kOptUnsupp));
	EXPECT_TRUE(client.sent().empty());
}

TEST(CrossedClient, DeadConnectionFails)
{
	Client client = client_of(1, true);

	client.start_crossed();
	client.deliver(TcpError{kConnectionReset});
	EXPECT_TRUE(client.failed_with(kConnectionReset));
	EXPECT_EQ(client.failed()->again, Again::kNo);
}

} // namespace
} // namespace smc::handshake::test
