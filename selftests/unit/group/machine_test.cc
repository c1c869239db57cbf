// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/machine.hpp"

#include <string>

#include <gtest/gtest.h>

#include "group/member.hpp"
#include "wire/golden.hpp"
#include "wire/llc_order.hpp"

namespace smc::group::test {
namespace {

using wire::DeclineReason;
using wire::DeleteLinkReason;

constexpr std::string_view kTestLink = "272c0000000102030405060708090a0b0c0d0e0f"
				       "000000000000000000000000000000000000000000000000";

// --- CONFIRM_LINK ---------------------------------------------------------------------------

TEST(ConfirmLinkFlow, ServerTowardsLinux)
{
	Member server(config_of(Role::kServer));

	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	// As captured, except for the number of links agreed on.
	Bytes expected = as_sent_here(golden::kConfirmLinkRequest21);
	expected[34] = std::byte{1};
	EXPECT_EQ(server.take_sent(), expected);
	EXPECT_EQ(server.deadline_ms(), server.now_ms() + 2000);
	server.receive(golden::kConfirmLinkResponse21);
	ASSERT_EQ(server.count<LinkConfirmed>(), 1);
	EXPECT_EQ(server.last<LinkConfirmed>()->id, wire::LinkId{1});
	EXPECT_EQ(server.last<LinkConfirmed>()->uid, wire::LinkUid{0x101});
	EXPECT_EQ(server.last<LinkConfirmed>()->peer_uid, wire::LinkUid{0x101});
	EXPECT_EQ(server.machine().state(), GroupState::kActive);
	EXPECT_EQ(server.sent(), 0U); // one link agreed on: nothing to offer
	EXPECT_EQ(server.machine().counters().violations(), 0U);
}

TEST(ConfirmLinkFlow, ClientTowardsLinux)
{
	Member client(config_of(Role::kClient));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	EXPECT_EQ(client.deadline_ms(), client.now_ms() + 4000);
	client.receive(golden::kConfirmLinkRequest21);
	EXPECT_EQ(client.count<ActivateLink>(), 1);
	EXPECT_EQ(client.sent(), 0U); // not before the RMB is registered
	client.deliver(LinkActivated{0, std::nullopt});
	Bytes expected = as_sent_here(golden::kConfirmLinkResponse21);
	expected[34] = std::byte{1};
	EXPECT_EQ(client.take_sent(), expected);
	EXPECT_EQ(client.count<LinkConfirmed>(), 0); // not before the server has it
	client.deliver(AnswerDelivered{0});
	EXPECT_EQ(client.count<LinkConfirmed>(), 1);
	EXPECT_EQ(client.machine().link_id(0), wire::LinkId{1});
}

TEST(ConfirmLinkFlow, ReleaseZeroSaysNothingOfConnections)
{
	Config config = config_of(Role::kServer);

	config.release = 0;
	config.max_links = 2;
	Member server(config);
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	EXPECT_EQ(server.take_sent(), as_sent_here(golden::kConfirmLinkRequest20));
}

TEST(ConfirmLinkFlow, VersionOne)
{
	Config config = config_of(Role::kServer);

	config.version = wire::LlcVersion::kV1;
	config.release = 0;
	Member server(config);
	config.role = Role::kClient;
	Member client(config);
	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	exchange(client, server);
	EXPECT_EQ(client.count<LinkConfirmed>(), 1);
	EXPECT_EQ(server.count<LinkConfirmed>(), 1);
}

TEST(ConfirmLinkFlow, TimesOut)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	client.sleep(3999);
	server.sleep(1999);
	EXPECT_EQ(client.count<LinkConfirmFailed>() + server.count<LinkConfirmFailed>(), 0);
	client.sleep(1);
	server.sleep(1);
	for (Member *member : {&client, &server}) {
		ASSERT_EQ(member->count<LinkConfirmFailed>(), 1);
		EXPECT_EQ(member->last<LinkConfirmFailed>()->reason, DeclineReason::kTimeoutCl);
		ASSERT_TRUE(member->over());
		EXPECT_EQ(member->terminated()->cause, TerminateCause::kNoLink);
		EXPECT_EQ(member->machine().link_state(0), LinkState::kDown);
	}
}

TEST(ConfirmLinkFlow, ActivationTimesOut)
{
	Member client(config_of(Role::kClient));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.receive(golden::kConfirmLinkRequest21);
	client.sleep(4999);
	EXPECT_FALSE(client.over());
	client.sleep(1);
	ASSERT_TRUE(client.over());
	EXPECT_EQ(client.last<LinkConfirmFailed>()->reason, DeclineReason::kErrRdyLnk);
	EXPECT_EQ(client.sent(), 0U);
}

TEST(ConfirmLinkFlow, ActivationFails)
{
	Member client(config_of(Role::kClient));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.receive(golden::kConfirmLinkRequest21);
	client.deliver(LinkActivated{0, DeclineReason::kErrRegBuf});
	ASSERT_TRUE(client.over());
	EXPECT_EQ(client.last<LinkConfirmFailed>()->reason, DeclineReason::kErrRegBuf);
	EXPECT_EQ(client.sent(), 0U);
}

TEST(ConfirmLinkFlow, EyecatchersAreRefused)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));
	Bytes request = from_hex(golden::kConfirmLinkRequest21);
	Bytes response = from_hex(golden::kConfirmLinkResponse21);

	request[3] = std::byte{0x00};
	response[3] = std::byte{0x80};
	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	client.receive(request);
	server.receive(response);
	for (Member *member : {&client, &server}) {
		ASSERT_EQ(member->count<LinkConfirmFailed>(), 1);
		EXPECT_EQ(member->last<LinkConfirmFailed>()->reason, DeclineReason::kRmbeEc);
		EXPECT_EQ(member->count<LinkConfirmed>(), 0);
	}
}

TEST(ConfirmLinkFlow, LinkZeroOrAnotherOneIsNotThisOne)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));
	Bytes request = from_hex(golden::kConfirmLinkRequest21);
	Bytes response = from_hex(golden::kConfirmLinkResponse21);

	request[29] = std::byte{0};
	response[29] = std::byte{2};
	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	client.receive(request);
	server.receive(response);
	EXPECT_EQ(client.machine().link_state(0), LinkState::kAwaitRequest);
	EXPECT_EQ(server.machine().link_state(0), LinkState::kAwaitResponse);
	EXPECT_EQ(client.machine().counters().unexpected_requests, 1U);
	EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
}

// A CONFIRM_LINK whose sender is not the one of the Accept or Confirm comes from a peer that the
// link was not made with, or that does not know it.
TEST(ConfirmLinkFlow, AnotherQueuePairOrGidEndsIt)
{
	constexpr std::size_t kGidFirst = 10, kGidLast = 25, kQpnFirst = 26, kQpnLast = 28;

	for (const std::size_t at : {kGidFirst, kGidLast, kQpnFirst, kQpnLast}) {
		SCOPED_TRACE(at);
		Member client(config_of(Role::kClient));
		Member server(config_of(Role::kServer));
		Bytes request = from_hex(golden::kConfirmLinkRequest21);
		Bytes response = from_hex(golden::kConfirmLinkResponse21);

		request[at] ^= std::byte{0x80};
		response[at] ^= std::byte{0x80};
		client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
		server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		server.drop_sent();
		client.receive(request);
		server.receive(response);
		EXPECT_EQ(client.count<ActivateLink>(), 0);
		for (Member *member : {&client, &server}) {
			ASSERT_EQ(member->count<LinkConfirmFailed>(), 1);
			EXPECT_EQ(member->last<LinkConfirmFailed>()->reason,
				  DeclineReason::kTimeoutCl);
			EXPECT_EQ(member->count<LinkConfirmed>(), 0);
			EXPECT_EQ(member->sent(), 0U);
			ASSERT_TRUE(member->over());
			EXPECT_EQ(member->terminated()->cause, TerminateCause::kNoLink);
			EXPECT_EQ(member->machine().counters().violations(), 1U);
		}
		EXPECT_EQ(client.machine().counters().unexpected_requests, 1U);
		EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
	}
}

// A peer that mirrors our message is none.
TEST(ConfirmLinkFlow, OwnIdentityIsNotThePeers)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	client.receive(encoded(confirm_link_of(2, 1)));
	server.receive(encoded(confirm_link_of(1, 1), /*response=*/true));
	EXPECT_TRUE(client.over());
	EXPECT_TRUE(server.over());
}

// Behind a bond or a VLAN the frames' MAC may have changed by then.
TEST(ConfirmLinkFlow, AnotherMacIsNoViolation)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));
	Bytes request = from_hex(golden::kConfirmLinkRequest21);
	Bytes response = from_hex(golden::kConfirmLinkResponse21);

	request[9] ^= std::byte{0x10};
	response[9] ^= std::byte{0x10};
	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	client.receive(request);
	server.receive(response);
	EXPECT_EQ(client.count<ActivateLink>(), 1);
	EXPECT_EQ(server.count<LinkConfirmed>(), 1);
	EXPECT_EQ(client.machine().counters().violations(), 0U);
	EXPECT_EQ(server.machine().counters().violations(), 0U);
}

// Accept and Confirm have agreed on everything already.
TEST(ConfirmLinkFlow, LimitsInItChangeNothing)
{
	for (const std::uint8_t links : {0, 1, 2, 255}) {
		for (const std::uint8_t conns : {0, 1, 255}) {
			SCOPED_TRACE(std::to_string(links) + " " + std::to_string(conns));
			Config config = config_of(Role::kServer);
			config.max_links = 2;
			config.max_conns = 100;
			Member server(config);
			config.role = Role::kClient;
			Member client(config);
			wire::ConfirmLink request = confirm_link_of(1, 1);
			wire::ConfirmLink response = confirm_link_of(2, 1);

			request.max_links = response.max_links = links;
			request.max_conns = response.max_conns = conns;
			client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
			server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
			server.drop_sent();
			server.receive(encoded(response, /*response=*/true));
			EXPECT_EQ(server.count<LinkConfirmed>(), 1);
			EXPECT_TRUE(server.take<wire::AddLink>(/*response=*/false));
			client.receive(encoded(request));
			client.deliver(LinkActivated{0, std::nullopt});
			const auto answer = client.take<wire::ConfirmLink>(/*response=*/true);
			ASSERT_TRUE(answer);
			EXPECT_EQ(answer->max_links, 2);
			EXPECT_EQ(answer->max_conns, 100);
			EXPECT_EQ(server.machine().config().max_conns, 100);
			EXPECT_EQ(server.machine().counters().violations(), 0U);
			EXPECT_EQ(client.machine().counters().violations(), 0U);
		}
	}
}

TEST(ConfirmLinkFlow, RepeatedOnesAreCounted)
{
	Member client = active_member(Role::kClient);
	Member server = active_member(Role::kServer);

	client.receive(golden::kConfirmLinkRequest21);
	server.receive(golden::kConfirmLinkResponse21);
	server.receive(golden::kConfirmLinkRequest21);
	EXPECT_EQ(client.count<ActivateLink>(), 1);
	EXPECT_EQ(client.machine().counters().unexpected_requests, 1U);
	EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
	EXPECT_EQ(server.machine().counters().unexpected_requests, 1U);
}

TEST(ConfirmLinkFlow, OfTheOtherRoleOrOnAUsedSlotIsNothing)
{
	Member client = active_member(Role::kClient);
	Member server = active_member(Role::kServer);

	client.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.deliver(LinkActivated{0, std::nullopt});
	server.deliver(ExpectConfirmLink{1, identity_of(2), identity_of(1)});
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	for (Member *member : {&client, &server}) {
		EXPECT_EQ(member->machine().link_state(0), LinkState::kActive);
		EXPECT_EQ(member->machine().link_state(1), LinkState::kUnused);
		EXPECT_EQ(member->sent(), 0U);
		EXPECT_EQ(member->count<LinkConfirmed>(), 1);
	}
}

TEST(ConfirmLinkFlow, LinkLostMeanwhile)
{
	for (const Role role : {Role::kClient, Role::kServer}) {
		Member member(config_of(role));
		if (role == Role::kClient)
			member.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
		else
			member.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		member.deliver(LinkFailed{0});
		ASSERT_EQ(member.count<LinkConfirmFailed>(), 1);
		EXPECT_EQ(member.last<LinkConfirmFailed>()->reason, DeclineReason::kTimeoutCl);
		EXPECT_TRUE(member.over());
	}
}

// --- A second link --------------------------------------------------------------------------

TEST(AddLinkFlow, ClientRejectsAsLinuxDoes)
{
	Member client = active_member(Role::kClient);

	client.receive(golden::kAddLinkRequest);
	EXPECT_EQ(client.take_sent(), as_sent_here(golden::kAddLinkReject));
	EXPECT_EQ(client.machine().counters().rejected_add_links, 1U);
	EXPECT_EQ(client.machine().counters().violations(), 0U);
}

TEST(AddLinkFlow, ClientOfVersionOneGivesTheReason)
{
	Config config = config_of(Role::kClient);

	config.version = wire::LlcVersion::kV1;
	Member client = active_member(Role::kClient, config);
	wire::AddLink request;
	request.link = wire::LinkId{2};
	request.qpn = wire::Qpn{0x12};
	client.receive(encoded(request, false, config.version));
	const auto reject = client.take<wire::AddLink>(/*response=*/true);
	ASSERT_TRUE(reject);
	EXPECT_TRUE(reject->rejected);
	EXPECT_EQ(reject->reject_reason, wire::AddLinkReject::kNoAlternatePath);
	EXPECT_EQ(reject->link, wire::LinkId{2});
	EXPECT_EQ(reject->qpn, wire::Qpn{0x12});
}

TEST(AddLinkFlow, ServerIgnoresAHint)
{
	Member server = active_member(Role::kServer);

	server.receive(golden::kAddLinkRequest);
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.machine().counters().ignored, 1U);
}

TEST(AddLinkFlow, ServerAnswersReqAddLinkWithNothing)
{
	Member server = active_member(Role::kServer);

	server.receive(encoded(wire::ReqAddLink{}));
	EXPECT_EQ(server.take_sent(), as_sent_here("252c0080" + std::string(80, '0')));
}

TEST(AddLinkFlow, ClientIsNotAskedForOne)
{
	Member client = active_member(Role::kClient);
	Member server = active_member(Role::kServer);

	client.receive(encoded(wire::ReqAddLink{}));
	server.receive(encoded(wire::ReqAddLink{}, /*response=*/true));
	EXPECT_EQ(client.sent() + server.sent(), 0U);
	EXPECT_EQ(client.machine().counters().unexpected_requests, 1U);
	EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
}

TEST(AddLinkFlow, ContinuationBelongsToNothing)
{
	Config config = config_of(Role::kClient);

	config.version = wire::LlcVersion::kV1;
	Member client = active_member(Role::kClient, config);
	client.receive(encoded(wire::AddLinkCont{}, false, config.version));
	client.receive(encoded(wire::AddLinkCont{}, true, config.version));
	EXPECT_EQ(client.sent(), 0U);
	EXPECT_EQ(client.machine().counters().unexpected_requests, 1U);
	EXPECT_EQ(client.machine().counters().unexpected_responses, 1U);
}

// A client that may have two links gets the refusal of a second one at once.
TEST(AddLinkFlow, ServerOffersNothingWhereTwoLinksWereAgreed)
{
	for (const auto version : {wire::LlcVersion::kV1, wire::LlcVersion::kV2}) {
		Config config = config_of(Role::kServer);
		config.version = version;
		config.max_links = 2;
		Member server(config);
		config.role = Role::kClient;
		Member client(config);
		server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
		client.receive(server.take_sent());
		client.deliver(LinkActivated{0, std::nullopt});
		server.receive(client.take_sent());
		const Bytes offer = server.take_sent();
		EXPECT_EQ(offer.size(), version == wire::LlcVersion::kV1 ? 44U : 72U);
		const auto message = wire::decode_llc(offer);
		ASSERT_TRUE(message);
		ASSERT_NE(message->get<wire::AddLink>(), nullptr);
		EXPECT_EQ(message->get<wire::AddLink>()->mtu, wire::QpMtu{0});
		client.receive(offer);
		const Bytes reject = client.take_sent();
		server.receive(reject);
		EXPECT_EQ(server.machine().counters().violations(), 0U);
		server.receive(reject);
		EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
	}
}

// The refusal of a second link as a peer of version 1 or 2.0 gets it. Linux rejects at once an
// ADD_LINK with the GID of its peer (in version 1 also with the MAC) if it has no second port, or
// else one without an MTU. A body of zeros it would take as its own request for a link.
TEST(AddLinkFlow, OfferOfNothingIsOneThatLinuxRejects)
{
	const std::string mac_1 = "525400000001";
	const std::string gid_1 = "00000000000000000000ffff0a090001";
	const std::string nothing = std::string(32, '0'); // QPN, link, MTU, PSN, reserved
	const std::string body = mac_1 + "0000" + gid_1 + nothing;
	const struct {
		wire::LlcVersion version;
		std::string offer, reject;
	} cases[] = {
		{wire::LlcVersion::kV1, "022c0000" + body, "022c01c0" + body},
		{wire::LlcVersion::kV2, "22480000" + body + "0000" + gid_1 + std::string(20, '0'),
		 "222c00c0" + body},
	};

	for (const auto &expected : cases) {
		Config config = config_of(Role::kServer);
		config.version = expected.version;
		config.release = 0;
		config.max_links = 2;
		Member server(config);

		server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		server.drop_sent();
		server.receive(encoded(confirm_link_of(2, 1), /*response=*/true, expected.version));
		EXPECT_EQ(server.take_sent(), as_sent_here(expected.offer));
		server.receive(expected.reject);
		EXPECT_EQ(server.machine().counters().violations(), 0U);
		EXPECT_EQ(server.sent(), 0U);
		EXPECT_EQ(server.machine().link_state(0), LinkState::kActive);
	}
}

// From a server without a second link either. Our answer repeats the message, as Linux's does.
TEST(AddLinkFlow, ClientRejectsAllZeros)
{
	const std::string body(80, '0');
	const struct {
		wire::LlcVersion version;
		std::string offer, reject;
	} cases[] = {
		{wire::LlcVersion::kV1, "022c0000" + body, "022c01c0" + body},
		{wire::LlcVersion::kV2, "22480000" + body + std::string(56, '0'),
		 "222c00c0" + body},
	};

	for (const auto &expected : cases) {
		Config config = config_of(Role::kClient);
		config.version = expected.version;
		config.release = 0;
		config.max_links = 2;
		Member client = active_member(Role::kClient, config);

		client.receive(expected.offer);
		EXPECT_EQ(client.take_sent(), as_sent_here(expected.reject));
		EXPECT_EQ(client.machine().counters().rejected_add_links, 1U);
		EXPECT_EQ(client.machine().counters().violations(), 0U);
	}
}

// A client of version 1 asks for a link like this: its address, and no queue pair, link or MTU.
TEST(AddLinkFlow, ServerIgnoresAHintOfVersionOne)
{
	Config config = config_of(Role::kServer);

	config.version = wire::LlcVersion::kV1;
	config.release = 0;
	Member server = active_member(Role::kServer, config);
	server.receive("022c0000525400000002000000000000000000000000ffff0a090002" +
		       std::string(32, '0'));
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.machine().counters().ignored, 1U);
	EXPECT_EQ(server.machine().counters().violations(), 0U);
}

TEST(AddLinkFlow, OfferOfNothingCannotBeAccepted)
{
	Config config = config_of(Role::kServer);

	config.max_links = 2;
	Member server = active_member(Role::kServer, config);
	wire::AddLink reply;
	reply.extension.emplace();
	server.receive(encoded(reply, /*response=*/true));
	EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
}

// --- The peer's RMBs ------------------------------------------------------------------------

TEST(PeerRkeys, ConfirmedAndDeletedAsLinuxDoes)
{
	Member server = active_member(Role::kServer);

	server.receive(golden::kConfirmRkeyRequest);
	EXPECT_EQ(server.take_sent(), as_sent_here(golden::kConfirmRkeyResponse));
	const auto known =
		server.machine().acquire_rtoken(0, {wire::Rkey{0x66c}, 0xff2c06a7c4b50000});
	ASSERT_TRUE(known);
	EXPECT_EQ(server.machine().rtoken(*known, 0)->rkey, wire::Rkey{0x66c});
	server.machine().release_rtoken(*known);

	ASSERT_TRUE(server.machine().acquire_rtoken(0, {wire::Rkey{0x385}, 0xff2c06a7c4b30000}));
	server.receive(golden::kDeleteRkeyRequest);
	EXPECT_EQ(server.take_sent(), as_sent_here(golden::kDeleteRkeyResponse));
	EXPECT_EQ(server.count<RtokensDeleted>(), 1); // a connection uses it
}

TEST(PeerRkeys, UnknownOnesAreCounted)
{
	Member server = active_member(Role::kServer);

	server.receive(golden::kDeleteRkeyRequest);
	const auto reply = server.take<wire::DeleteRkey>(/*response=*/true);
	ASSERT_TRUE(reply);
	EXPECT_TRUE(reply->negative);
	EXPECT_EQ(reply->count, 1);
	EXPECT_EQ(reply->errors, 1);
	EXPECT_EQ(server.count<RtokensDeleted>(), 0);
}

TEST(PeerRkeys, UnknownOnesAreMarkedInVersionOne)
{
	Config config = config_of(Role::kServer);

	config.version = wire::LlcVersion::kV1;
	Member server = active_member(Role::kServer, config);
	const std::array<wire::Rkey, 3> rkeys = {wire::Rkey{1}, wire::Rkey{2}, wire::Rkey{3}};
	std::array<std::byte, 12> space{};
	wire::DeleteRkey request;
	request.rkeys = wire::RkeyList::of(rkeys, space);
	const auto index = server.machine().acquire_rtoken(0, {wire::Rkey{2}, 0x1000});
	ASSERT_TRUE(index);
	server.receive(encoded(request, false, config.version));
	const auto reply = server.take<wire::DeleteRkey>(/*response=*/true);
	ASSERT_TRUE(reply);
	EXPECT_TRUE(reply->negative);
	EXPECT_EQ(reply->count, 3);
	EXPECT_EQ(reply->errors, 0xa0);
	EXPECT_EQ(reply->rkeys[1], wire::Rkey{2});
	ASSERT_EQ(server.count<RtokensDeleted>(), 1);
	EXPECT_TRUE(server.last<RtokensDeleted>()->rtokens.contains(*index));
}

TEST(PeerRkeys, ManyInOneMessage)
{
	Member server = active_member(Role::kServer);
	Bytes request = from_hex("29040400ff000000");
	const std::uint16_t size = 8 + 255 * 4;

	std::memcpy(request.data() + 1, &size, 2);
	request[3] = std::byte{0};
	for (std::uint32_t rkey = 1; rkey <= 255; rkey++) {
		for (const int shift : {24, 16, 8, 0})
			request.push_back(static_cast<std::byte>(rkey >> shift));
		if (rkey % 2 == 0) {
			ASSERT_TRUE(server.machine().acquire_rtoken(0, {wire::Rkey{rkey}, 0}));
		}
	}
	server.receive(request);
	const auto reply = server.take<wire::DeleteRkey>(/*response=*/true);
	ASSERT_TRUE(reply);
	EXPECT_EQ(reply->count, 255);
	EXPECT_EQ(reply->errors, 128);
	EXPECT_EQ(server.count<RtokensDeleted>(), 1);

	// Truncated: malformed, so nothing is deleted.
	Member other = active_member(Role::kServer);
	const auto index = other.machine().acquire_rtoken(0, {wire::Rkey{2}, 0});
	ASSERT_TRUE(index);
	request.resize(100);
	other.receive(request);
	EXPECT_EQ(other.sent(), 0U);
	EXPECT_EQ(other.machine().counters().malformed, 1U);
	EXPECT_TRUE(other.machine().rtoken(*index, 0));
}

TEST(PeerRkeys, TooManyOthersAreRefused)
{
	Member server = active_member(Role::kServer);
	wire::ConfirmRkey request;

	request.token = {wire::Rkey{5}, 0x1000};
	request.others_count = 3;
	server.receive(encoded(request));
	auto reply = server.take<wire::ConfirmRkey>(/*response=*/true);
	ASSERT_TRUE(reply);
	EXPECT_FALSE(reply->negative);

	request.token = {wire::Rkey{6}, 0x1000};
	request.others_count = 4;
	server.receive(encoded(request));
	reply = server.take<wire::ConfirmRkey>(/*response=*/true);
	ASSERT_TRUE(reply);
	EXPECT_TRUE(reply->negative);
	EXPECT_TRUE(reply->retry);
	EXPECT_EQ(reply->token, request.token);
}

TEST(PeerRkeys, FullTableRefuses)
{
	Member server = active_member(Role::kServer);

	for (std::uint32_t rkey = 1; rkey <= kRtokensMax + 1; rkey++) {
		wire::ConfirmRkey request;
		request.token = {wire::Rkey{rkey}, 0x1000};
		server.receive(encoded(request));
		const auto reply = server.take<wire::ConfirmRkey>(/*response=*/true);
		ASSERT_TRUE(reply);
		EXPECT_EQ(reply->negative, rkey > kRtokensMax) << rkey;
		// Each is in use.
		if (rkey <= kRtokensMax) {
			EXPECT_TRUE(server.machine().acquire_rtoken(0, request.token));
		}
	}
	EXPECT_FALSE(server.machine().acquire_rtoken(0, {wire::Rkey{1000}, 0x1000}));
}

TEST(PeerRkeys, OnOtherLinks)
{
	Config config = config_of(Role::kServer);
	Member server = active_member(Role::kServer, config);
	const wire::ConfirmLink second = confirm_link_of(2, 2);

	server.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	EXPECT_EQ(server.machine().link_id(1), wire::LinkId{2});
	server.receive(encoded(second, /*response=*/true), 1);
	ASSERT_EQ(server.machine().link_state(1), LinkState::kActive);
	server.drop_sent();

	wire::ConfirmRkey request;
	request.token = {wire::Rkey{5}, 0x1000};
	ASSERT_TRUE(request.others.push_back({wire::LinkId{2}, {wire::Rkey{50}, 0x5000}}));
	ASSERT_TRUE(request.others.push_back({wire::LinkId{9}, {wire::Rkey{90}, 0x9000}}));
	server.receive(encoded(request));
	const auto index = server.machine().acquire_rtoken(0, request.token);
	ASSERT_TRUE(index);
	const wire::RemoteToken on_second{wire::Rkey{50}, 0x5000};
	EXPECT_EQ(server.machine().rtoken(*index, 1), on_second);
	EXPECT_EQ(server.machine().rtoken(*index, 2), std::nullopt);
}

TEST(PeerRkeys, OfALinkThatWasNeverConfirmed)
{
	Member server = active_member(Role::kServer);

	server.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	const auto index = server.machine().acquire_rtoken(1, {wire::Rkey{5}, 0x1000});
	ASSERT_TRUE(index);
	server.deliver(LinkFailed{1});
	EXPECT_EQ(server.machine().rtoken(*index, 1), std::nullopt);
	EXPECT_FALSE(server.over());
}

TEST(PeerRkeys, ContinuationIsIgnored)
{
	Config config = config_of(Role::kServer);

	config.version = wire::LlcVersion::kV1;
	Member server = active_member(Role::kServer, config);
	server.receive(encoded(wire::ConfirmRkeyCont{}, false, config.version));
	EXPECT_EQ(server.machine().counters().ignored, 1U);
	EXPECT_EQ(server.machine().counters().violations(), 0U);
}

// --- DELETE_LINK ----------------------------------------------------------------------------

TEST(DeleteLinkFlow, ServerAnswersAllAsLinuxDoes)
{
	Member server = active_member(Role::kServer);

	server.receive(golden::kDeleteLinkAll);
	EXPECT_EQ(server.take_sent(), as_sent_here(golden::kDeleteLinkAllOrderly));
	ASSERT_TRUE(server.over());
	EXPECT_EQ(server.terminated()->cause, TerminateCause::kPeer);
	EXPECT_EQ(server.terminated()->reason, DeleteLinkReason::kOperator);
}

TEST(DeleteLinkFlow, ClientDoesNotAnswerAll)
{
	Member client = active_member(Role::kClient);

	client.receive(golden::kDeleteLinkAllOrderly);
	EXPECT_EQ(client.sent(), 0U);
	ASSERT_TRUE(client.over());
	EXPECT_EQ(client.terminated()->cause, TerminateCause::kPeer);
}

TEST(DeleteLinkFlow, TerminateSaysSo)
{
	for (const Role role : {Role::kClient, Role::kServer}) {
		Member member = active_member(role);
		member.deliver(Terminate{DeleteLinkReason::kOperator});
		EXPECT_EQ(member.take_sent(), as_sent_here(golden::kDeleteLinkAll));
		ASSERT_TRUE(member.over());
		EXPECT_EQ(member.terminated()->cause, TerminateCause::kLocal);
		EXPECT_EQ(member.machine().link_state(0), LinkState::kDown);
	}
}

TEST(DeleteLinkFlow, TerminateWithoutALinkSaysNothing)
{
	Member fresh(config_of(Role::kServer));
	Member expecting(config_of(Role::kClient));

	fresh.deliver(Terminate{});
	EXPECT_TRUE(fresh.over());
	EXPECT_EQ(fresh.sent(), 0U);
	expecting.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	expecting.deliver(Terminate{});
	EXPECT_TRUE(expecting.over());
	EXPECT_EQ(expecting.sent(), 0U);
	EXPECT_EQ(expecting.count<LinkConfirmFailed>(), 1);
}

// Linux's server ends the group before it declines.
TEST(DeleteLinkFlow, AllWhileConfirming)
{
	Member client(config_of(Role::kClient));
	Member server(config_of(Role::kServer));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.receive(golden::kDeleteLinkAll);
	EXPECT_EQ(client.count<LinkConfirmFailed>(), 1);
	EXPECT_TRUE(client.over());
	EXPECT_EQ(client.sent(), 0U);

	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	server.drop_sent();
	server.receive(golden::kDeleteLinkAll);
	EXPECT_EQ(server.count<LinkConfirmFailed>(), 1);
	EXPECT_TRUE(server.over());
	EXPECT_EQ(server.take_sent(), as_sent_here(golden::kDeleteLinkAllOrderly));
}

TEST(DeleteLinkFlow, ClientObeysForOneLink)
{
	Member client = active_member(Role::kClient);
	wire::DeleteLink request;

	request.link = wire::LinkId{1};
	request.reason = DeleteLinkReason::kLostPath;
	client.receive(encoded(request));
	const auto reply = client.take<wire::DeleteLink>(/*response=*/true);
	ASSERT_TRUE(reply);
	EXPECT_EQ(reply->reason, DeleteLinkReason::kNone);
	EXPECT_EQ(reply->link, wire::LinkId{1});
	EXPECT_EQ(client.count<LinkDown>(), 1);
	ASSERT_TRUE(client.over());
	EXPECT_EQ(client.terminated()->cause, TerminateCause::kPeer);
	EXPECT_EQ(client.terminated()->reason, DeleteLinkReason::kLostPath);
}

TEST(DeleteLinkFlow, ClientKnowsNoSuchLink)
{
	Member client = active_member(Role::kClient);

	for (const std::uint8_t id : {0, 7}) {
		wire::DeleteLink request;
		request.link = wire::LinkId{id};
		client.receive(encoded(request));
		const auto reply = client.take<wire::DeleteLink>(/*response=*/true);
		ASSERT_TRUE(reply);
		EXPECT_EQ(reply->reason, DeleteLinkReason::kUnknownLink);
	}
	EXPECT_FALSE(client.over());
}

TEST(DeleteLinkFlow, ServerRepeatsForOneLink)
{
	Member server = active_member(Role::kServer);
	wire::DeleteLink request;

	request.link = wire::LinkId{7};
	server.receive(encoded(request));
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.machine().counters().ignored, 1U);

	request.link = wire::LinkId{1};
	request.reason = DeleteLinkReason::kLostPath;
	server.receive(encoded(request));
	EXPECT_EQ(server.take<wire::DeleteLink>(/*response=*/false), request);
	EXPECT_EQ(server.count<LinkDown>(), 1);
	EXPECT_TRUE(server.over());
}

TEST(DeleteLinkFlow, OneLinkWhileConfirming)
{
	Member server(config_of(Role::kServer));
	Member client(config_of(Role::kClient));
	wire::DeleteLink request;

	request.link = wire::LinkId{1};
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	server.receive(encoded(request));
	EXPECT_EQ(server.count<LinkConfirmFailed>(), 1);
	EXPECT_TRUE(server.over());

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.receive(golden::kConfirmLinkRequest21);
	client.receive(encoded(request));
	EXPECT_EQ(client.sent(), 0U); // its queue pair cannot send yet
	EXPECT_EQ(client.count<LinkConfirmFailed>(), 1);
	EXPECT_TRUE(client.over());
}

TEST(DeleteLinkFlow, ResponsesToNothing)
{
	Member client = active_member(Role::kClient);
	Member server = active_member(Role::kServer);

	client.receive(encoded(wire::DeleteLink{}, /*response=*/true));
	server.receive(encoded(wire::DeleteLink{}, /*response=*/true));
	EXPECT_EQ(client.machine().counters().unexpected_responses, 1U);
	EXPECT_EQ(server.machine().counters().ignored, 1U);
}

TEST(DeleteLinkFlow, OneOfTwoLinksLeavesTheGroup)
{
	Member server = active_member(Role::kServer);
	const wire::ConfirmLink second = confirm_link_of(2, 2);

	server.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	server.receive(encoded(second, /*response=*/true), 1);
	server.drop_sent();
	server.deliver(AnnounceRkey{11, rkeys_of(1)});
	server.deliver(AnnounceRkey{12, rkeys_of(2)});
	LinkRkeys both = rkeys_of(3);
	ASSERT_TRUE(both.push_back({1, {wire::Rkey{30}, 0x3000}}));
	server.deliver(AnnounceRkey{13, both});
	server.drop_sent();

	server.deliver(LinkFailed{0});
	EXPECT_EQ(server.count<LinkDown>(), 1);
	EXPECT_FALSE(server.over());
	EXPECT_EQ(server.flow(11), FlowResult::kLinkLost);
	EXPECT_EQ(server.flow(12), FlowResult::kLinkLost); // known by the lost link only
	EXPECT_EQ(server.next_sent_on(), 1);
	const auto deletion = server.take<wire::DeleteLink>(/*response=*/false);
	ASSERT_TRUE(deletion);
	EXPECT_EQ(deletion->link, wire::LinkId{1});
	EXPECT_EQ(deletion->reason, wire::DeleteLinkReason::kLostPath);
	EXPECT_FALSE(deletion->all);
	EXPECT_EQ(server.next_sent_on(), 1);
	const auto request = server.take<wire::ConfirmRkey>(/*response=*/false);
	ASSERT_TRUE(request);
	EXPECT_EQ(request->token.rkey, wire::Rkey{30});
	EXPECT_TRUE(request->others.empty());
	// The slot can be used again.
	server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
	EXPECT_EQ(server.machine().link_id(0), wire::LinkId{3});
	server.deliver(LinkFailed{1});
	EXPECT_FALSE(server.over());
	server.deliver(LinkFailed{0});
	EXPECT_TRUE(server.over());
	EXPECT_EQ(server.terminated()->cause, TerminateCause::kNoLink);
}

// --- TEST_LINK ------------------------------------------------------------------------------

TEST(TestLinkFlow, IsEchoed)
{
	Member server = active_member(Role::kServer);

	server.receive(kTestLink);
	Bytes expected = as_sent_here(kTestLink);
	expected[3] = std::byte{0x80};
	EXPECT_EQ(server.take_sent(), expected);
}

TEST(TestLinkFlow, SilentLinkIsTested)
{
	Member server = active_member(Role::kServer);

	server.sleep(29999);
	EXPECT_EQ(server.sent(), 0U);
	server.sleep(1);
	const Bytes request = server.take_sent();
	ASSERT_FALSE(request.empty());
	Bytes response = request;
	response[3] = std::byte{0x80};
	server.sleep(1999);
	server.receive(response);
	EXPECT_EQ(server.machine().counters().late_responses, 0U);
	server.sleep(29999);
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.count<LinkDown>(), 0);
	server.sleep(1);
	EXPECT_EQ(server.sent(), 1U);
	// The late answer to the last test does not answer this one.
	server.receive(response);
	EXPECT_EQ(server.machine().counters().late_responses, 1U);
	EXPECT_EQ(server.machine().counters().violations(), 0U);
}

TEST(TestLinkFlow, AnsweredOneIsOver)
{
	Config config = config_of(Role::kServer);

	config.testlink_idle_ms = 1000; // shorter than the wait for an answer
	Member server = active_member(Role::kServer, config);
	for (int i = 0; i < 5; i++) {
		server.sleep(1000);
		Bytes response = server.take_sent();
		ASSERT_FALSE(response.empty()) << i;
		response[3] = std::byte{0x80};
		server.receive(response);
	}
	EXPECT_EQ(server.machine().counters().late_responses, 0U);
}

TEST(TestLinkFlow, DeadLinkGoesDown)
{
	Member server = active_member(Role::kServer);

	server.sleep(30000 + 19999);
	EXPECT_EQ(server.count<LinkDown>(), 0);
	server.sleep(1);
	EXPECT_EQ(server.count<LinkDown>(), 1);
	ASSERT_TRUE(server.over());
	EXPECT_EQ(server.terminated()->cause, TerminateCause::kNoLink);
	EXPECT_EQ(server.sent(), 1U); // TEST_LINK, and no DELETE_LINK, which could not arrive
}

TEST(TestLinkFlow, AnySignOfLifeWillDo)
{
	Member server = active_member(Role::kServer);

	server.sleep(30000);
	server.machine().note_activity(0, server.now_ms());
	server.sleep(2000);
	EXPECT_EQ(server.count<LinkDown>(), 0);
	EXPECT_EQ(server.sent(), 1U);
	server.sleep(28000);
	EXPECT_EQ(server.sent(), 2U);
}

// Linux' worker may be busy for 10 s.
TEST(TestLinkFlow, SlowPeerKeepsItsLink)
{
	Member server = active_member(Role::kServer);

	for (int i = 0; i < 10; i++) {
		server.sleep(30000);
		Bytes response = server.take_sent();
		ASSERT_FALSE(response.empty()) << i;
		response[3] = std::byte{0x80};
		server.sleep(12000);
		server.receive(response);
	}
	EXPECT_FALSE(server.over());
	EXPECT_EQ(server.machine().counters().late_responses, 0U);
}

// One test at a time, however short the interval.
TEST(TestLinkFlow, IsNotRepeatedMeanwhile)
{
	Config config = config_of(Role::kServer);

	config.testlink_idle_ms = 1000;
	Member server = active_member(Role::kServer, config);
	server.sleep(1000 + 19999);
	EXPECT_EQ(server.sent(), 1U);
	// A message arrives, then silence again: the next test is due, and the link has its full
	// time.
	server.machine().note_activity(0, server.now_ms());
	server.sleep(1000 + 19999);
	EXPECT_EQ(server.sent(), 2U);
	EXPECT_EQ(server.count<LinkDown>(), 0);
	server.sleep(1);
	EXPECT_EQ(server.count<LinkDown>(), 1);
}

TEST(TestLinkFlow, BusyLinkIsLeftAlone)
{
	Member server = active_member(Role::kServer);

	for (int i = 0; i < 20; i++) {
		server.sleep(20000);
		server.machine().note_activity(0, server.now_ms());
	}
	EXPECT_EQ(server.sent(), 0U);
}

TEST(TestLinkFlow, CanBeOff)
{
	Config config = config_of(Role::kServer);

	config.testlink_idle_ms = 0;
	Member server = active_member(Role::kServer, config);
	server.sleep(1000000);
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.deadline_ms(), std::nullopt);
}

// Somebody wants to know what the peer has received.
TEST(TestLinkFlow, IsSentWhenItIsAskedFor)
{
	Member server = active_member(Role::kServer);

	server.deliver(ProbeLink{0});
	EXPECT_EQ(server.machine().probes(), 1U);
	Bytes first = server.take_sent();
	server.deliver(ProbeLink{0});
	EXPECT_EQ(server.machine().probes(), 2U);
	Bytes second = server.take_sent();
	ASSERT_EQ(first.size(), second.size());
	EXPECT_NE(first, second);
	EXPECT_EQ(server.count<LinkAnswered>(), 0);
	second[3] = std::byte{0x80};
	server.receive(second);
	ASSERT_EQ(server.count<LinkAnswered>(), 1);
	EXPECT_EQ(server.last<LinkAnswered>()->link, 0);
	EXPECT_EQ(server.last<LinkAnswered>()->probe, 2U);
	// The one before says less, and is no violation.
	first[3] = std::byte{0x80};
	server.receive(first);
	EXPECT_EQ(server.last<LinkAnswered>()->probe, 1U);
	EXPECT_EQ(server.machine().counters().violations(), 0U);
}

TEST(TestLinkFlow, WaitsForRoomAndIsSentThen)
{
	Member server = active_member(Role::kServer);

	server.machine().hold_requests(true);
	server.deliver(ProbeLink{0});
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_TRUE(server.machine().probe_under_way(0));
	server.deliver(Timer{});
	EXPECT_EQ(server.sent(), 0U);
	server.machine().hold_requests(false);
	server.deliver(Timer{});
	ASSERT_EQ(server.sent(), 1U);
	Bytes test = server.take_sent();
	server.deliver(Timer{});
	EXPECT_EQ(server.sent(), 0U);
	test[3] = std::byte{0x80};
	server.receive(test);
	ASSERT_EQ(server.count<LinkAnswered>(), 1);
	EXPECT_EQ(server.last<LinkAnswered>()->probe, server.machine().probes());
	EXPECT_FALSE(server.machine().probe_under_way(0));
}

TEST(TestLinkFlow, NothingIsAskedOnALinkThatIsNotThere)
{
	Member server = active_member(Role::kServer);

	server.deliver(ProbeLink{1});
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.machine().probes(), 0U);
}

// Who asks again and again does not keep a dead link alive.
TEST(TestLinkFlow, ADeadLinkGoesDownWhateverIsAsked)
{
	Member server = active_member(Role::kServer);

	server.deliver(ProbeLink{0});
	server.sleep(19999);
	server.deliver(ProbeLink{0});
	EXPECT_EQ(server.count<LinkDown>(), 0);
	server.sleep(1);
	EXPECT_EQ(server.count<LinkDown>(), 1);
}

TEST(TestLinkFlow, AnswersToNothingAreCounted)
{
	Member server = active_member(Role::kServer);
	Bytes response = from_hex(kTestLink);

	response[3] = std::byte{0x80};
	server.receive(response);
	EXPECT_EQ(server.machine().counters().unexpected_responses, 1U);
	EXPECT_EQ(server.count<LinkAnswered>(), 0);
}

// --- Violations -----------------------------------------------------------------------------

TEST(Violations, EndTheGroup)
{
	Member server = active_member(Role::kServer);

	for (std::uint32_t i = 1; i < kViolationsMax; i++)
		server.receive(from_hex("212c"));
	EXPECT_FALSE(server.over());
	EXPECT_EQ(server.sent(), 0U);
	server.receive(Bytes{});
	ASSERT_TRUE(server.over());
	EXPECT_EQ(server.terminated()->cause, TerminateCause::kViolations);
	const auto last = server.take<wire::DeleteLink>(/*response=*/false);
	ASSERT_TRUE(last);
	EXPECT_TRUE(last->all);
	EXPECT_EQ(last->reason, DeleteLinkReason::kProtocolViolation);
	EXPECT_EQ(server.machine().counters().malformed, kViolationsMax);
}

// A group that lives for months collects more than sixteen violations: they must not end it.
TEST(Violations, AreForgotten)
{
	Member server = active_member(Role::kServer);

	for (std::uint32_t i = 1; i < kViolationsMax; i++)
		server.receive(from_hex("212c"));
	for (int i = 0; i < 100; i++) {
		server.sleep(kViolationForgotten_ms);
		server.receive(from_hex("212c"));
		ASSERT_FALSE(server.over()) << i;
	}
	EXPECT_EQ(server.machine().counters().violations(), kViolationsMax - 1 + 100);
	server.sleep(kViolationForgotten_ms - 1);
	server.receive(from_hex("212c"));
	EXPECT_TRUE(server.over());
}

TEST(Violations, AllAreForgottenInTime)
{
	Config config = config_of(Role::kServer);

	config.testlink_idle_ms = 0;
	Member server = active_member(Role::kServer, config);
	server.receive(from_hex("212c"));
	server.sleep(1000000);
	for (std::uint32_t i = 1; i < kViolationsMax; i++)
		server.receive(from_hex("212c"));
	EXPECT_FALSE(server.over());
	server.receive(from_hex("212c"));
	EXPECT_TRUE(server.over());
}

TEST(Violations, UnknownTypesAreNone)
{
	Member server = active_member(Role::kServer);

	for (int i = 0; i < 100; i++)
		server.receive(from_hex("2a2c0000" + std::string(80, '0')));
	EXPECT_FALSE(server.over());
	EXPECT_EQ(server.machine().counters().ignored, 100U);
}

TEST(Violations, OtherVersionIsOne)
{
	Member server = active_member(Role::kServer);

	server.receive(encoded(wire::TestLink{}, false, wire::LlcVersion::kV1));
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.machine().counters().wrong_version, 1U);
	EXPECT_EQ(server.machine().counters().violations(), 1U);
}

TEST(Violations, NothingIsAnsweredBeforeTheLinkIsConfirmed)
{
	Member client(config_of(Role::kClient));

	client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
	client.receive(golden::kConfirmRkeyRequest);
	client.receive(kTestLink);
	client.receive(golden::kAddLinkRequest);
	EXPECT_EQ(client.sent(), 0U);
	EXPECT_EQ(client.machine().counters().unexpected_requests, 3U);
}

TEST(Violations, LinksThatAreNotThereSayNothing)
{
	Member server = active_member(Role::kServer);

	server.receive(from_hex(kTestLink), 2);
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.machine().counters().ignored, 1U);
	server.deliver(LinkFailed{2});
	EXPECT_EQ(server.count<LinkDown>(), 0);
}

// --- States ---------------------------------------------------------------------------------

TEST(GroupStates, NothingFollowsTheEnd)
{
	Member server = active_member(Role::kServer);

	server.deliver(Terminate{});
	server.drop_sent();
	server.receive(kTestLink);
	server.deliver(Timer{});
	server.deliver(AnnounceRkey{1, rkeys_of(1)});
	server.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
	server.deliver(LinkFailed{0});
	server.deliver(Terminate{});
	EXPECT_EQ(server.sent(), 0U);
	EXPECT_EQ(server.count<TerminateGroup>(), 1);
}

TEST(GroupStates, LinkTransitionsAreTheseAndNoOthers)
{
	const std::pair<LinkState, LinkState> legal[] = {
		{LinkState::kUnused, LinkState::kPreparing},
		{LinkState::kPreparing, LinkState::kOffered},
		{LinkState::kPreparing, LinkState::kExchanging},
		{LinkState::kPreparing, LinkState::kAwaitRequest},
		{LinkState::kPreparing, LinkState::kDown},
		{LinkState::kOffered, LinkState::kExchanging},
		{LinkState::kOffered, LinkState::kReadying},
		{LinkState::kOffered, LinkState::kDown},
		{LinkState::kExchanging, LinkState::kReadying},
		{LinkState::kExchanging, LinkState::kAwaitRequest},
		{LinkState::kExchanging, LinkState::kDown},
		{LinkState::kReadying, LinkState::kAwaitResponse},
		{LinkState::kReadying, LinkState::kDown},
		{LinkState::kUnused, LinkState::kAwaitRequest},
		{LinkState::kUnused, LinkState::kAwaitResponse},
		{LinkState::kAwaitRequest, LinkState::kActivating},
		{LinkState::kAwaitRequest, LinkState::kDown},
		{LinkState::kActivating, LinkState::kAnswered},
		{LinkState::kActivating, LinkState::kDown},
		{LinkState::kAnswered, LinkState::kActive},
		{LinkState::kAnswered, LinkState::kDown},
		{LinkState::kAwaitResponse, LinkState::kActive},
		{LinkState::kAwaitResponse, LinkState::kDown},
		{LinkState::kActive, LinkState::kDown},
		{LinkState::kDown, LinkState::kUnused},
	};

	for (std::uint8_t from = 0; from < kLinkStates; from++) {
		for (std::uint8_t to = 0; to < kLinkStates; to++) {
			const std::pair pair{static_cast<LinkState>(from),
					     static_cast<LinkState>(to)};
			const bool listed = std::find(std::begin(legal), std::end(legal), pair) !=
					    std::end(legal);
			EXPECT_EQ(GroupMachine::transition_is_legal(pair.first, pair.second),
				  listed)
				<< name(pair.first) << " -> " << name(pair.second);
		}
	}
}

TEST(GroupStates, GroupTransitionsAreTheseAndNoOthers)
{
	const std::pair<GroupState, GroupState> legal[] = {
		{GroupState::kForming, GroupState::kActive},
		{GroupState::kForming, GroupState::kTerminated},
		{GroupState::kActive, GroupState::kTerminated},
	};

	for (std::uint8_t from = 0; from < kGroupStates; from++) {
		for (std::uint8_t to = 0; to < kGroupStates; to++) {
			const std::pair pair{static_cast<GroupState>(from),
					     static_cast<GroupState>(to)};
			const bool listed = std::find(std::begin(legal), std::end(legal), pair) !=
					    std::end(legal);
			EXPECT_EQ(GroupMachine::transition_is_legal(pair.first, pair.second),
				  listed)
				<< name(pair.first) << " -> " << name(pair.second);
		}
	}
}

TEST(GroupStates, NamesDiffer)
{
	for (std::uint8_t a = 0; a < kLinkStates; a++) {
		EXPECT_NE(name(static_cast<LinkState>(a)), "UNKNOWN");
		for (std::uint8_t b = 0; b < a; b++)
			EXPECT_NE(name(static_cast<LinkState>(a)), name(static_cast<LinkState>(b)));
	}
	for (std::uint8_t a = 0; a < kGroupStates; a++) {
		EXPECT_NE(name(static_cast<GroupState>(a)), "UNKNOWN");
		for (std::uint8_t b = 0; b < a; b++)
			EXPECT_NE(name(static_cast<GroupState>(a)),
				  name(static_cast<GroupState>(b)));
	}
	EXPECT_EQ(name(static_cast<LinkState>(kLinkStates)), "UNKNOWN");
	EXPECT_EQ(name(static_cast<GroupState>(kGroupStates)), "UNKNOWN");
}

TEST(GroupStates, IdsOfLinksAreNeverZeroNorGivenTwice)
{
	Member server = active_member(Role::kServer);

	for (int i = 0; i < 600; i++) {
		server.deliver(StartConfirmLink{1, identity_of(1), identity_of(2)});
		EXPECT_FALSE(server.machine().link_id(1).is_zero());
		EXPECT_NE(server.machine().link_id(1), server.machine().link_id(0));
		server.deliver(LinkFailed{1});
	}
	EXPECT_FALSE(server.over());
}

} // namespace
} // namespace smc::group::test
