// SPDX-License-Identifier: GPL-2.0-only
#include "wire/golden.hpp"

#include <gtest/gtest.h>

#include "handshake/side.hpp"

// Captured handshakes of Linux, where one side is ours.
namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

// The local data that Linux's side of the capture must have had.
LocalOffer golden_offer(std::string_view accept_or_confirm, std::uint8_t host, std::uint8_t release)
{
	const Bytes message = from_hex(accept_or_confirm);
	LocalOffer offer = offer_of(host, false, true);

	std::memcpy(offer.peer_id.bytes.data(), message.data() + 8, 8);
	offer.release = release;
	return offer;
}

wire::SmcrEndpoint golden_endpoint(std::string_view hex)
{
	const Bytes message = from_hex(hex);
	const auto accept = wire::decode_accept(message);

	if (accept)
		return *accept->smcr();
	const auto confirm = wire::decode_confirm(message);
	EXPECT_TRUE(confirm);
	return confirm ? *confirm->smcr() : wire::SmcrEndpoint{};
}

struct Captured {
	std::string_view proposal;
	std::string_view accept;
	std::string_view confirm;
	std::uint8_t release;
	bool first_contact;
};

constexpr Captured kCaptured[] = {
	{golden::kProposal21, golden::kAcceptFirst21, golden::kConfirmFirst21, 1, true},
	{golden::kProposal21, golden::kAcceptLater, golden::kConfirmLater, 1, false},
	{golden::kProposal20, golden::kAcceptFirst20, golden::kConfirmFirst20, 0, true},
};

class Golden : public testing::TestWithParam<Captured> {};

TEST_P(Golden, WeServeALinuxClient)
{
	const Captured &captured = GetParam();
	Server server(golden_offer(captured.accept, 1, captured.release),
		      answers(golden_endpoint(captured.accept), captured.first_contact));

	server.start();
	server.arrive(from_hex(captured.proposal));
	EXPECT_EQ(server.last<AcquireServerLink>()->peer_gid, gid_of(2));
	EXPECT_TRUE(server.last<AcquireServerLink>()->peer_id.is_zero());
	EXPECT_EQ(server.take_sent(), from_hex(captured.accept));
	server.arrive(from_hex(captured.confirm));
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(*server.last<ConnectLink>()->peer, golden_endpoint(captured.confirm));
	EXPECT_EQ(server.use_smc()->agreement->release, captured.release);
	EXPECT_EQ(server.use_smc()->agreement->peer_id, golden_endpoint(captured.confirm).peer_id);
	if (captured.first_contact) {
		EXPECT_EQ(server.use_smc()->agreement->peer_host_name[1], 'b');
	}
}

TEST_P(Golden, WeAreServedByLinux)
{
	const Captured &captured = GetParam();
	Client client(golden_offer(captured.confirm, 2, captured.release),
		      answers(golden_endpoint(captured.confirm), captured.first_contact));

	client.start();
	Bytes proposal = client.take_sent();
	ASSERT_EQ(proposal.size(), from_hex(captured.proposal).size());
	// Linux names itself only if it also offers version 1; we always do.
	EXPECT_EQ(std::memcmp(proposal.data() + 8, from_hex(captured.confirm).data() + 8, 8), 0);
	std::fill(proposal.begin() + 8, proposal.begin() + 38, std::byte{0});
	EXPECT_EQ(proposal, from_hex(captured.proposal));

	client.arrive(from_hex(captured.accept));
	EXPECT_EQ(client.take_sent(), from_hex(captured.confirm));
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(*client.last<ConnectLink>()->peer, golden_endpoint(captured.accept));
	EXPECT_EQ(*client.last<AcquireClientLink>()->peer, golden_endpoint(captured.accept));
	EXPECT_EQ(client.use_smc()->agreement->first_contact, captured.first_contact);
}

INSTANTIATE_TEST_SUITE_P(All, Golden, testing::ValuesIn(kCaptured));

TEST(GoldenDecline, OfLinuxAtTheClient)
{
	Client client(offer_of(2, false, true), answers(endpoint_of(2), true));

	client.start();
	client.arrive(from_hex(golden::kDecline));
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kTimeoutCl));
	EXPECT_TRUE(client.left_in_stream().empty());
	EXPECT_EQ(client.declines_sent(), 0);
}

TEST(GoldenDecline, OfVersionOneAtTheServer)
{
	Server server(offer_of(1, false, true), answers(endpoint_of(1), true));

	server.start();
	server.arrive(from_hex("e2d4c3d904001c10"
			       "0000000000000000"
			       "0303000000000000"
			       "e2d4c3d9"));
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNoSmcDev));
	EXPECT_EQ(server.declines_sent(), 0);
}

TEST(GoldenDecline, OurSyncErrorHasTheFlag)
{
	Answers lost;

	lost.acquire.push_back(LinkFailed{DeclineReason::kSyncErr});
	Client client(offer_of(2, false, true), lost);
	client.start();
	(void)client.take_sent();
	client.arrive(from_hex(golden::kAcceptLater));
	const Bytes sent = client.take_sent();
	ASSERT_EQ(sent.size(), 44U);
	EXPECT_EQ(sent[7], std::byte{0x28});
}

} // namespace
} // namespace smc::handshake::test
