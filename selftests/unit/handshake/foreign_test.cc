// SPDX-License-Identifier: GPL-2.0-only
#include "wire/foreign.hpp"

#include <gtest/gtest.h>

#include "handshake/side.hpp"
#include "wire/golden.hpp"

// Version 1 handshakes with messages of other implementations, where one side is ours; and the
// Declines that peers of version 1 get.
namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

struct Exchanged {
	std::string_view proposal;
	std::string_view accept;
	std::string_view confirm;
	bool first_contact;
};

// smc-go's Proposal and Confirm come from one client; its server has the same identity.
constexpr Exchanged kExchanged[] = {
	{foreign::kProposalIpv4, foreign::kAcceptFirst, foreign::kConfirmFirst, true},
	{foreign::kProposal510, foreign::kAccept510First, foreign::kConfirm510First, true},
	{foreign::kProposal510, foreign::kAccept510Later, foreign::kConfirm510Later, false},
	{foreign::kProposal510Ipv6, foreign::kAccept510First, foreign::kConfirm510First, true},
};

template <class Message>
wire::SmcrEndpoint endpoint_in(const Message &message)
{
	EXPECT_TRUE(message);
	return message ? *message->smcr() : wire::SmcrEndpoint{};
}

wire::SmcrEndpoint server_in(const Exchanged &exchanged)
{
	return endpoint_in(wire::decode_accept(from_hex(exchanged.accept)));
}

wire::SmcrEndpoint client_in(const Exchanged &exchanged)
{
	return endpoint_in(wire::decode_confirm(from_hex(exchanged.confirm)));
}

// A version 1 host with this end of a link, and with all prefixes that occur here.
LocalOffer offer_with(const wire::SmcrEndpoint &endpoint, bool v2)
{
	LocalOffer offer = offer_of(1, true, v2);

	offer.peer_id = endpoint.peer_id;
	offer.v1_gid = endpoint.gid;
	offer.v1_mac = endpoint.mac;
	EXPECT_TRUE(offer.ipv4_prefixes.push_back({{127, 0, 0, 0}, 8}));
	EXPECT_TRUE(offer.ipv6_prefixes.push_back({{0xfd, 0x09}, 64}));
	return offer;
}

class Foreign : public testing::TestWithParam<Exchanged> {};

TEST_P(Foreign, ClientIsServed)
{
	const Exchanged &exchanged = GetParam();
	const wire::SmcrEndpoint local = server_in(exchanged);
	const wire::SmcrEndpoint peer = client_in(exchanged);
	Server server(offer_with(local, true), answers(local, exchanged.first_contact));

	server.start();
	server.arrive(from_hex(exchanged.proposal));
	ASSERT_NE(server.last<AcquireServerLink>(), nullptr);
	EXPECT_EQ(server.last<AcquireServerLink>()->peer_id, peer.peer_id);
	EXPECT_EQ(server.last<AcquireServerLink>()->peer_gid, peer.gid);
	EXPECT_EQ(server.last<AcquireServerLink>()->peer_mac, peer.mac);
	EXPECT_EQ(server.last<AcquireServerLink>()->agreement->version, 1);
	EXPECT_EQ(server.take_sent(), from_hex(exchanged.accept));
	server.arrive(from_hex(exchanged.confirm));
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(*server.last<ConnectLink>()->peer, peer);
	EXPECT_EQ(server.last<ConnectLink>()->first_contact, exchanged.first_contact);
	EXPECT_EQ(server.count<ConfirmLink>(), exchanged.first_contact ? 1 : 0);
	EXPECT_EQ(server.use_smc()->agreement->first_contact, exchanged.first_contact);
	EXPECT_EQ(server.use_smc()->agreement->peer_id, peer.peer_id);
}

// Whether or not the Confirm repeats it: the Accept has said first contact.
TEST_P(Foreign, FirstContactIsTheAcceptsToSay)
{
	const Exchanged &exchanged = GetParam();
	const wire::SmcrEndpoint local = server_in(exchanged);
	Server server(offer_with(local, true), answers(local, exchanged.first_contact));
	Bytes confirm = from_hex(exchanged.confirm);

	confirm[7] ^= std::byte{0x08};
	server.start();
	server.arrive(from_hex(exchanged.proposal));
	server.arrive(confirm);
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(server.last<ConnectLink>()->first_contact, exchanged.first_contact);
	EXPECT_EQ(server.use_smc()->agreement->first_contact, exchanged.first_contact);
}

TEST_P(Foreign, ServerIsUsed)
{
	const Exchanged &exchanged = GetParam();
	const wire::SmcrEndpoint local = client_in(exchanged);
	const wire::SmcrEndpoint peer = server_in(exchanged);
	Client client(offer_with(local, false), answers(local, exchanged.first_contact));

	client.start();
	(void)client.take_sent();
	client.arrive(from_hex(exchanged.accept));
	Bytes confirm = client.take_sent();
	Bytes theirs = from_hex(exchanged.confirm);
	// Our Confirm repeats first contact, as Linux's does since 5.10.
	EXPECT_EQ((confirm[7] & std::byte{0x08}) != std::byte{}, exchanged.first_contact);
	confirm[7] &= ~std::byte{0x08};
	theirs[7] &= ~std::byte{0x08};
	EXPECT_EQ(confirm, theirs);
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(*client.last<ConnectLink>()->peer, peer);
	EXPECT_EQ(client.use_smc()->agreement->version, 1);
	EXPECT_EQ(client.use_smc()->agreement->first_contact, exchanged.first_contact);
}

TEST_P(Foreign, EachClientReadsOurDecline)
{
	const Exchanged &exchanged = GetParam();
	Answers none;

	none.acquire.push_back(LinkFailed{DeclineReason::kMem});
	Server server(offer_with(server_in(exchanged), true), none);
	server.start();
	server.arrive(from_hex(exchanged.proposal));
	EXPECT_TRUE(server.fell_back(DeclineReason::kMem));
	EXPECT_EQ(server.sent().size(), 28U);
	EXPECT_EQ(server.decline_sent()->version, 1);
}

// CONFIRM_LINK does not come: the Decline is the fourth message.
TEST_P(Foreign, EachClientReadsOurDeclineInTheEnd)
{
	const Exchanged &exchanged = GetParam();
	const wire::SmcrEndpoint local = server_in(exchanged);
	Answers silent = answers(local, exchanged.first_contact);

	if (!exchanged.first_contact)
		return;
	silent.confirm = LinkConfirmFailed{DeclineReason::kErrRegBuf};
	Server server(offer_with(local, true), silent);
	server.start();
	server.arrive(from_hex(exchanged.proposal));
	(void)server.take_sent();
	server.arrive(from_hex(exchanged.confirm));
	EXPECT_TRUE(server.fell_back(DeclineReason::kErrRegBuf));
	EXPECT_EQ(server.sent().size(), 28U);
}

TEST_P(Foreign, MalformedProposalsGetOneThatIsRead)
{
	const Exchanged &exchanged = GetParam();
	Server server(offer_with(server_in(exchanged), true), {});
	Bytes proposal = from_hex(exchanged.proposal);

	proposal.back() = std::byte{0};
	server.start();
	server.arrive(proposal);
	EXPECT_TRUE(server.fell_back(DeclineReason::kCnfErr));
	EXPECT_EQ(server.sent().size(), 28U);
}

INSTANTIATE_TEST_SUITE_P(All, Foreign, testing::ValuesIn(kExchanged));

TEST(ForeignProposal, OursIsThatOfLinux510)
{
	Client client(offer_with(client_in(kExchanged[1]), false), {});

	client.start();
	Bytes sent = client.take_sent();
	Bytes theirs = from_hex(foreign::kProposal510Ipv6);
	EXPECT_EQ(sent.size(), theirs.size());
	// Linux sends prefixes of the socket's family only.
	std::fill(sent.begin() + 80, sent.begin() + 85, std::byte{0});
	EXPECT_EQ(sent, theirs);
}

TEST(ForeignProposal, OfSmcdInVersionOneIsDeclinedInVersionOne)
{
	Server server(near_offer_of(1, true), {});

	server.start();
	server.arrive(from_hex(foreign::kProposalSmcd));
	EXPECT_NE(server.fall_back(), nullptr);
	EXPECT_EQ(server.sent().size(), 28U);
	EXPECT_TRUE(server.left_in_stream().empty());
}

TEST(ForeignDecline, IsReadByAClient)
{
	for (const auto text : foreign::kDeclines) {
		SCOPED_TRACE(text);
		Client client(offer_of(2, true, true), answers(endpoint_of(2), true));
		Bytes stream = from_hex(text);

		client.start();
		stream.push_back(std::byte{'x'});
		client.arrive(stream);
		ASSERT_NE(client.fall_back(), nullptr);
		EXPECT_EQ(client.fall_back()->reason, DeclineReason::kPeerDecl);
		EXPECT_EQ(client.declines_sent(), 0);
		EXPECT_EQ(client.left_in_stream(), from_hex("78"));
	}
}

TEST(ForeignDecline, IsReadByAServer)
{
	for (const auto text : foreign::kDeclines) {
		SCOPED_TRACE(text);
		Server first(offer_of(1, true, true), answers(endpoint_of(1), true));
		Server third(offer_of(1, true, true), answers(endpoint_of(1), true));

		first.start();
		first.arrive(from_hex(text));
		third.start();
		third.arrive(from_hex(golden::kProposal21));
		(void)third.take_sent();
		third.arrive(from_hex(text));
		for (const Server *server : {&first, &third}) {
			ASSERT_NE(server->fall_back(), nullptr);
			EXPECT_EQ(server->fall_back()->reason, DeclineReason::kPeerDecl);
			EXPECT_TRUE(server->left_in_stream().empty());
			EXPECT_TRUE(server->sent().empty());
		}
	}
}

} // namespace
} // namespace smc::handshake::test
