// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "group/member.hpp"

namespace smc::group::test {
namespace {

constexpr std::uint64_t kAddress = 0xff2c06a7c4b50000;

// The second port of either host.
LinkEnd second_end(std::uint8_t host)
{
	return {{wire::Mac{{0x52, 0x54, 0, 0, 1, host}},
		 wire::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 1, host}},
		 wire::Qpn{0x22}},
		wire::Psn{0x100U + host},
		wire::QpMtu{static_cast<std::uint8_t>(host == 1 ? 5 : 3)}};
}

// The first port once more: the host has no other.
LinkEnd first_port_again(std::uint8_t host)
{
	LinkEnd end = second_end(host);

	end.identity.mac = identity_of(host).mac;
	end.identity.gid = identity_of(host).gid;
	return end;
}

// Two hosts with one active link each, and RMBs that the other one knows.
class Pair {
public:
	explicit Pair(wire::LlcVersion version = wire::LlcVersion::kV2, std::size_t rmbs = 1)
		: server(config(Role::kServer, version)), client(config(Role::kClient, version))
	{
		server.other_port = {second_end(1), rkeys_of_host(1, rmbs)};
		client.other_port = {second_end(2), rkeys_of_host(2, rmbs)};
		for (std::size_t i = 0; i < rmbs; i++) {
			ours.push_back(*server.machine().acquire_rtoken(0, first(2, i)));
			theirs.push_back(*client.machine().acquire_rtoken(0, first(1, i)));
		}
	}

	void form()
	{
		client.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
		server.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		exchange(server, client);
	}

	// Both ends have this link, each in a place of its own, and know all of each other's RMBs
	// on it.
	void expect_link(LinkIndex at_server, LinkIndex at_client)
	{
		EXPECT_EQ(server.machine().link_state(at_server), LinkState::kActive);
		EXPECT_EQ(client.machine().link_state(at_client), LinkState::kActive);
		EXPECT_EQ(server.machine().link_id(at_server), client.machine().link_id(at_client));
		for (std::size_t i = 0; i < ours.size(); i++) {
			EXPECT_EQ(server.machine().rtoken(ours[i], at_server), second(2, i));
			EXPECT_EQ(client.machine().rtoken(theirs[i], at_client), second(1, i));
		}
		EXPECT_EQ(server.machine().counters().violations(), 0U);
		EXPECT_EQ(client.machine().counters().violations(), 0U);
	}

	static wire::RemoteToken first(std::uint8_t host, std::size_t i)
	{
		return {wire::Rkey{static_cast<std::uint32_t>(0x1000U * host + i)}, kAddress + i};
	}
	static wire::RemoteToken second(std::uint8_t host, std::size_t i)
	{
		return {wire::Rkey{static_cast<std::uint32_t>(0x5000U * host + i)},
			2 * kAddress + i};
	}
	static std::vector<wire::RkeyPair> rkeys_of_host(std::uint8_t host, std::size_t rmbs)
	{
		std::vector<wire::RkeyPair> pairs;

		for (std::size_t i = 0; i < rmbs; i++)
			pairs.push_back({first(host, i).rkey, second(host, i).rkey,
					 second(host, i).address});
		return pairs;
	}
	static Config config(Role role, wire::LlcVersion version)
	{
		Config config = config_of(role);

		config.version = version;
		config.max_links = 2;
		config.testlink_idle_ms = 0; // a peer may be silent for minutes
		return config;
	}

	Member server;
	Member client;
	std::vector<RtokenIndex> ours;   // the client's RMBs, as the server knows them
	std::vector<RtokenIndex> theirs; // the server's
};

class AddLink : public testing::TestWithParam<wire::LlcVersion> {};
INSTANTIATE_TEST_SUITE_P(Versions, AddLink,
			 testing::Values(wire::LlcVersion::kV1, wire::LlcVersion::kV2));

TEST_P(AddLink, SecondLinkFollowsTheFirst)
{
	for (const std::size_t rmbs : {0, 1, 2, 3, 255}) {
		SCOPED_TRACE(rmbs);
		Pair pair(GetParam(), rmbs);

		pair.form();
		pair.expect_link(1, 1);
		EXPECT_EQ(pair.server.machine().link_id(1), wire::LinkId{2});
		const ReadyLink *ready = pair.server.last<ReadyLink>();
		ASSERT_NE(ready, nullptr);
		EXPECT_EQ(ready->peer.identity.qpn, second_end(2).identity.qpn);
		EXPECT_EQ(ready->peer.psn, second_end(2).psn);
		EXPECT_EQ(ready->peer.mtu.code(), 3);
		const PrepareLink *prepare = pair.client.last<PrepareLink>();
		ASSERT_NE(prepare, nullptr);
		EXPECT_EQ(prepare->peer->psn, second_end(1).psn);
		EXPECT_TRUE(prepare->same_port_will_do);
	}
}

TEST_P(AddLink, ClientWithOnePortTakesItTwice)
{
	Pair pair(GetParam());

	pair.client.other_port->end = first_port_again(2);
	pair.form();
	pair.expect_link(1, 1);
}

TEST_P(AddLink, ServerWithOnePortOffersNoneUnasked)
{
	Pair pair(GetParam());

	pair.server.other_port.reset();
	pair.form();
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.count<PrepareLink>(), 0);
	EXPECT_FALSE(pair.server.last<PrepareLink>()->same_port_will_do);

	// The client's other port is enough.
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 1);
	pair.server.other_port = {first_port_again(1), Pair::rkeys_of_host(1, 1)};
	pair.client.deliver(AlternateFound{second_end(2).identity.mac, second_end(2).identity.gid});
	exchange(pair.client, pair.server);
	EXPECT_TRUE(pair.server.last<PrepareLink>()->same_port_will_do);
	EXPECT_FALSE(pair.client.last<PrepareLink>()->same_port_will_do);
	// The place that was not used is not the next one.
	pair.expect_link(2, 1);
}

// A client that has lost its second link hears that it has to ask for another one.
TEST_P(AddLink, ServerWithOnePortLeftSaysSo)
{
	Pair pair(GetParam());

	pair.form();
	pair.expect_link(1, 1);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 0);
	pair.server.other_port.reset();
	pair.server.deliver(LinkFailed{1});
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 1);
	pair.server.other_port = {first_port_again(1), Pair::rkeys_of_host(1, 1)};
	pair.client.deliver(AlternateFound{second_end(2).identity.mac, second_end(2).identity.gid});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.server.active_links(), 2);
	EXPECT_EQ(pair.client.active_links(), 2);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 1);
	EXPECT_EQ(pair.server.machine().counters().violations(), 0U);
	EXPECT_EQ(pair.client.machine().counters().violations(), 0U);
}

TEST_P(AddLink, RefusedByAClientWithoutAPort)
{
	Pair pair(GetParam());

	pair.client.other_port.reset();
	pair.form();
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.server.count<DestroyLink>(), 1);
	EXPECT_EQ(pair.server.machine().counters().violations(), 0U);
	// The first one is as good as before.
	pair.server.deliver(AnnounceRkey{11, rkeys_of(1)});
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.server.flow(11), FlowResult::kDone);
}

// The server's end of the first offer was lost before the client had its own.
TEST_P(AddLink, NextOfferTakesThePlaceOfOneThatTheClientStillPrepares)
{
	Pair pair(GetParam());

	pair.client.answers = false;
	pair.form();
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kPreparing);
	pair.server.deliver(LinkFailed{1});
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	pair.server.deliver(AlternateFound{second_end(1).identity.mac, second_end(1).identity.gid});
	pair.client.answers = true;
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	pair.expect_link(2, 2);
	// The first one comes to its end.
	pair.client.deliver(
		LinkPrepared{1, pair.client.other_port->end, pair.client.other_port->rkeys});
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.sent(), 0U);
}

// The same when the client has answered, and waits for CONFIRM_LINK.
TEST_P(AddLink, NextOfferTakesThePlaceOfOneThatTheClientHasAnswered)
{
	Pair pair(GetParam());

	pair.client.answers = false;
	pair.form();
	pair.server.deliver(LinkFailed{1});
	pair.client.deliver(
		LinkPrepared{1, pair.client.other_port->end, pair.client.other_port->rkeys});
	exchange(pair.client, pair.server); // too late
	pair.server.deliver(AlternateFound{second_end(1).identity.mac, second_end(1).identity.gid});
	pair.client.answers = true;
	exchange(pair.server, pair.client);
	pair.expect_link(2, 2);
}

TEST_P(AddLink, NothingIsAnnouncedMeanwhile)
{
	Pair pair(GetParam());

	pair.client.answers = false;
	pair.form();
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kOffered);
	pair.server.deliver(AnnounceRkey{11, rkeys_of(1)});
	pair.server.deliver(DeleteRkey{12, rkeys_of(2)});
	EXPECT_EQ(pair.server.sent(), 0U);
	// The client, which has said nothing yet, may.
	pair.client.deliver(AnnounceRkey{21, rkeys_of(3)});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.client.flow(21), FlowResult::kDone);
	LinkPrepared prepared{1, pair.client.other_port->end, pair.client.other_port->rkeys};
	pair.client.deliver(prepared);
	pair.client.deliver(AnnounceRkey{22, rkeys_of(4)});
	EXPECT_EQ(pair.client.sent(), 1U); // ADD_LINK
	exchange(pair.client, pair.server);
	pair.expect_link(1, 1);
	EXPECT_EQ(pair.server.flow(11), FlowResult::kDone);
	EXPECT_EQ(pair.server.flow(12), FlowResult::kRefused); // the client never knew it
	EXPECT_EQ(pair.client.flow(22), FlowResult::kDone);
}

// What was asked for before the exchange began, and waits for the end of another request.
TEST_P(AddLink, AnnouncementThatHasWaitedNamesTheNewLinkToo)
{
	Pair pair(GetParam());

	pair.server.other_port->rkeys.push_back(
		{rkeys_of(2)[0].token.rkey, wire::Rkey{0x99}, 0x9900});
	pair.client.answers = false;
	pair.form();
	pair.server.deliver(AnnounceRkey{11, rkeys_of(2)});
	pair.client.deliver(
		LinkPrepared{1, pair.client.other_port->end, pair.client.other_port->rkeys});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.server.flow(11), FlowResult::kDone);
	EXPECT_TRUE(pair.client.machine().acquire_known_rtoken(1, {wire::Rkey{0x99}, 0x9900}));
}

// The announcement goes by one link and the answer to ADD_LINK by the other one, which is quicker:
// the peer reads the key on the new link of an RMB that it does not know yet.
TEST(AddLinkVersion2, AnnouncementThatIsOvertakenIsMadeAgain)
{
	Pair pair(wire::LlcVersion::kV2);
	const wire::RemoteToken third{wire::Rkey{0x99}, 0x9900};
	LinkRkeys both = rkeys_of(0x77);

	pair.form();
	ASSERT_TRUE(both.push_back({1, {wire::Rkey{0x88}, 0x8800}}));
	pair.client.deliver(AnnounceRkey{11, both});
	ASSERT_EQ(pair.client.sent(), 1U);
	const Bytes announcement = pair.client.take_sent();
	// The server, one of whose ports has changed, offers one more link by the second one.
	wire::AddLink offer;
	offer.mac = wire::Mac{{0x52, 0x54, 0, 0, 2, 1}};
	offer.gid = wire::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 2, 1}};
	offer.qpn = wire::Qpn{0x33};
	offer.link = wire::LinkId{3};
	offer.mtu = wire::QpMtu{5};
	offer.extension.emplace();
	pair.client.other_port->rkeys = {{both[1].token.rkey, third.rkey, third.address}};
	pair.client.receive(encoded(offer), 1);
	ASSERT_TRUE(pair.client.take<wire::AddLink>(/*response=*/true));
	pair.server.receive(announcement);
	ASSERT_EQ(pair.server.sent(), 1U);
	pair.client.receive(pair.server.take_sent());
	EXPECT_FALSE(pair.client.flow(11));
	EXPECT_EQ(pair.client.sent(), 0U);

	wire::ConfirmLink confirm = confirm_link_of(1, 3);
	confirm.mac = offer.mac;
	confirm.gid = offer.gid;
	confirm.qpn = offer.qpn;
	confirm.no_eyecatchers = true;
	pair.client.receive(encoded(confirm), 2);
	pair.client.deliver(LinkActivated{2, std::nullopt});
	ASSERT_TRUE(pair.client.take<wire::ConfirmLink>(/*response=*/true));
	pair.client.deliver(AnswerDelivered{2});
	const auto again = pair.client.take<wire::ConfirmRkey>(/*response=*/false);
	ASSERT_TRUE(again);
	EXPECT_TRUE(std::any_of(again->others.begin(), again->others.end(), [&](const auto &other) {
		return other.link == wire::LinkId{3} && other.token == third;
	}));
	pair.client.receive(confirm_response(0x77));
	EXPECT_EQ(pair.client.flow(11), FlowResult::kDone);
}

TEST_P(AddLink, RmbsOfLaterConnectionsAreAnnouncedForBothLinks)
{
	Pair pair(GetParam());

	pair.form();
	LinkRkeys both = rkeys_of(0x77);
	ASSERT_TRUE(both.push_back({1, {wire::Rkey{0x88}, 0x8800}}));
	pair.client.deliver(AnnounceRkey{11, both});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.client.flow(11), FlowResult::kDone);
	const auto index = pair.server.machine().acquire_known_rtoken(1, both[1].token);
	ASSERT_TRUE(index);
	EXPECT_EQ(pair.server.machine().rtoken(*index, 0), both[0].token);
}

TEST_P(AddLink, ClientThatNeverAnswers)
{
	Pair pair(GetParam());

	pair.client.answers = false;
	pair.form();
	pair.server.sleep(1999);
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kOffered);
	pair.server.sleep(1);
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	// Too late, which is no violation.
	pair.client.deliver(
		LinkPrepared{1, pair.client.other_port->end, pair.client.other_port->rkeys});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.server.machine().counters().late_responses, 1U);
	EXPECT_EQ(pair.server.machine().counters().violations(), 0U);
	// Nothing comes of it at the client either.
	pair.client.sleep(4000);
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	EXPECT_FALSE(pair.client.over());
}

// The way between the other ports may be interrupted, and no event tells when it is there again.
TEST_P(AddLink, OfferThatWasNotAnsweredIsRepeatedLessAndLessOften)
{
	Pair pair(GetParam());
	std::uint64_t wait_ms = 2 * kAdditionForgotten_ms;

	pair.client.answers = false;
	pair.form();
	for (int offers = 1; offers < 3; offers++) {
		EXPECT_EQ(pair.server.count<PrepareLink>(), offers);
		pair.server.sleep(2000);
		EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
		pair.server.drop_sent();
		pair.server.sleep(wait_ms - 1);
		EXPECT_EQ(pair.server.count<PrepareLink>(), offers);
		pair.server.sleep(1);
		wait_ms *= 2;
	}
	pair.client.answers = true;
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.server.active_links(), 2);
	EXPECT_EQ(pair.client.active_links(), 2);
}

TEST_P(AddLink, ServerThatCannotGetReadySaysSo)
{
	Pair pair(GetParam());

	pair.server.ready = false;
	pair.form();
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.count<DestroyLink>(), 1);
	EXPECT_FALSE(pair.client.over() || pair.server.over());
	EXPECT_EQ(pair.client.machine().counters().violations(), 0U);
}

TEST_P(AddLink, LateRejectionByDeleteLink)
{
	Pair pair(GetParam());

	pair.server.answers = false;
	pair.server.deliver(Timer{});
	pair.form();
	pair.server.deliver(
		LinkPrepared{1, pair.server.other_port->end, pair.server.other_port->rkeys});
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kReadying);
	wire::DeleteLink body;
	body.link = wire::LinkId{2};
	body.reason = wire::DeleteLinkReason::kLostPath;
	pair.server.receive(encoded(body, /*response=*/false, GetParam()));
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	exchange(pair.server, pair.client);
	EXPECT_FALSE(pair.client.over() || pair.server.over());
	// The shell's answer comes too late, and finds nothing.
	pair.server.deliver(LinkReady{1, true});
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
}

TEST_P(AddLink, CarrierIsLostMeanwhile)
{
	Pair pair(GetParam());

	pair.client.answers = false;
	pair.form();
	pair.server.deliver(LinkFailed{0});
	EXPECT_EQ(pair.server.count<DestroyLink>(), 1);
	EXPECT_TRUE(pair.server.over());
	pair.client.deliver(LinkFailed{0});
	EXPECT_EQ(pair.client.count<DestroyLink>(), 1);
	EXPECT_TRUE(pair.client.over());
}

// The server's second end, by hand.
Bytes offer_of(wire::LinkId link, wire::LlcVersion version)
{
	wire::AddLink offer;

	offer.mac = second_end(1).identity.mac;
	offer.gid = second_end(1).identity.gid;
	offer.qpn = wire::Qpn{0x55};
	offer.link = link;
	offer.mtu = wire::QpMtu{3};
	if (version == wire::LlcVersion::kV2)
		offer.extension.emplace();
	return encoded(offer, /*response=*/false, version);
}

void offer_and_take_back(Member &client, wire::LinkId link, wire::LlcVersion version)
{
	wire::DeleteLink end;

	end.link = link;
	client.receive(offer_of(link, version));
	client.receive(encoded(end, /*response=*/false, version));
	client.drop_sent();
}

TEST_P(AddLink, ThatGoesOnForEverIsRefused)
{
	Pair pair(GetParam());

	pair.server.other_port.reset();
	pair.form();
	for (std::uint8_t i = 0; i < 20; i++)
		offer_and_take_back(pair.client, wire::LinkId{static_cast<std::uint8_t>(2 + i)},
				    GetParam());
	EXPECT_EQ(pair.client.count<PrepareLink>(), static_cast<int>(kAdditionsMax));
	pair.client.sleep(kAdditionForgotten_ms);
	pair.client.receive(offer_of(wire::LinkId{99}, GetParam()));
	EXPECT_EQ(pair.client.count<PrepareLink>(), static_cast<int>(kAdditionsMax) + 1);
}

// A port comes when so many links have been added that the next one has to wait.
TEST_P(AddLink, PortThatComesAtABadTimeIsLookedForLater)
{
	Pair pair(GetParam());
	const AlternateFound found{second_end(1).identity.mac, second_end(1).identity.gid};

	pair.client.other_port.reset();
	pair.form();
	for (std::uint32_t i = 0; i < kAdditionsMax; i++) {
		pair.server.deliver(found);
		exchange(pair.server, pair.client);
	}
	EXPECT_EQ(pair.server.count<PrepareLink>(), static_cast<int>(kAdditionsMax));
	pair.client.other_port = {second_end(2), Pair::rkeys_of_host(2, 1)};
	pair.server.deliver(found);
	EXPECT_EQ(pair.server.count<PrepareLink>(), static_cast<int>(kAdditionsMax));
	pair.client.sleep(kAdditionForgotten_ms);
	pair.server.sleep(kAdditionForgotten_ms);
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.server.active_links(), 2);
	EXPECT_EQ(pair.client.active_links(), 2);
}

// A port comes while a link is added that fails.
TEST_P(AddLink, PortThatComesMeanwhileIsLookedForLater)
{
	Pair pair(GetParam());

	pair.client.answers = false;
	pair.form();
	EXPECT_EQ(pair.server.count<PrepareLink>(), 1);
	pair.server.deliver(AlternateFound{second_end(1).identity.mac, second_end(1).identity.gid});
	EXPECT_EQ(pair.server.count<PrepareLink>(), 1);
	// The client refuses: it has no port.
	pair.client.deliver(LinkPrepared{pair.client.last<PrepareLink>()->link, std::nullopt, {}});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.server.active_links(), 1);
	pair.client.answers = true;
	pair.server.sleep(kAdditionForgotten_ms);
	exchange(pair.server, pair.client);
	EXPECT_EQ(pair.server.active_links(), 2);
}

// A client that had to refuse an offer for its number asks for another one.
TEST_P(AddLink, ClientThatRefusedForTheNumberAsksLater)
{
	Pair pair(GetParam());

	pair.server.other_port.reset();
	pair.form();
	for (std::uint8_t i = 0; i <= kAdditionsMax; i++)
		offer_and_take_back(pair.client, wire::LinkId{static_cast<std::uint8_t>(2 + i)},
				    GetParam());
	const int sought = pair.client.count<SeekAlternate>();
	pair.client.sleep(kAdditionForgotten_ms);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + 1);
	// Once.
	pair.client.sleep(5 * kAdditionForgotten_ms);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + 1);
}

// The kernel's own server repeats no offer.
TEST_P(AddLink, ClientThatCouldNotMakeItsEndAsks)
{
	Pair pair(GetParam());
	const auto port = std::exchange(pair.client.other_port, std::nullopt);

	pair.form();
	pair.client.sleep(kAdditionForgotten_ms - 1);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 0);
	pair.client.sleep(1);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 1);
	pair.client.other_port = port;
	pair.client.deliver(AlternateFound{second_end(2).identity.mac, second_end(2).identity.gid});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.client.active_links(), 2);
	EXPECT_EQ(pair.server.active_links(), 2);
	// It has what it asked for.
	pair.client.sleep(100 * kAdditionForgotten_ms);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), 1);
	EXPECT_EQ(pair.client.machine().counters().violations(), 0U);
}

// No answer, or a link of which nothing comes.
TEST_P(AddLink, ClientAsksLessAndLessOften)
{
	Pair pair(GetParam());
	const AlternateFound found{second_end(2).identity.mac, second_end(2).identity.gid};
	std::uint64_t wait_ms = 2 * kAdditionForgotten_ms;

	pair.server.other_port.reset();
	pair.form();
	const int sought = pair.client.count<SeekAlternate>();
	for (int asked = 0; asked < 10; asked++) {
		pair.client.deliver(found);
		EXPECT_EQ(pair.client.sent(), 1U);
		pair.client.drop_sent();
		pair.client.sleep(wait_ms - 1);
		EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + asked);
		pair.client.sleep(1);
		EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + asked + 1);
		wait_ms = std::min(2 * wait_ms, kAdditionForgotten_ms << kAdditionFailuresMax);
	}
	// Where there is no port any more, the next one that comes is what begins it again.
	pair.client.sleep(10 * wait_ms);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + 10);
	EXPECT_FALSE(pair.client.over());
}

TEST_P(AddLink, ClientAsksForALinkThatItsServerHasGivenUp)
{
	Pair pair(GetParam());

	pair.server.other_port.reset();
	pair.form();
	const int sought = pair.client.count<SeekAlternate>();
	offer_and_take_back(pair.client, wire::LinkId{2}, GetParam());
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	pair.client.sleep(kAdditionForgotten_ms);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + 1);
}

TEST(AddLinkVersion2, PortThatComesAndGoesAsksOnceInAWhile)
{
	Pair pair(wire::LlcVersion::kV2);
	const AlternateFound found{second_end(2).identity.mac, second_end(2).identity.gid};
	const Bytes nothing = encoded(wire::ReqAddLink{}, /*response=*/true);

	pair.server.other_port.reset();
	pair.form();
	pair.client.drop_sent();
	for (int i = 0; i < 20; i++)
		pair.client.deliver(found);
	EXPECT_TRUE(pair.client.take<wire::ReqAddLink>(/*response=*/false));
	EXPECT_EQ(pair.client.sent(), 0U);
	const int sought = pair.client.count<SeekAlternate>();
	pair.client.sleep(kAdditionForgotten_ms);
	EXPECT_EQ(pair.client.count<SeekAlternate>(), sought + 1);
	pair.client.deliver(found);
	EXPECT_TRUE(pair.client.take<wire::ReqAddLink>(/*response=*/false));
	// A slow server answers both.
	pair.client.receive(nothing);
	pair.client.receive(nothing);
	EXPECT_EQ(pair.client.machine().counters().violations(), 0U);
	pair.client.receive(nothing);
	EXPECT_EQ(pair.client.machine().counters().violations(), 1U);
}

// ---- A link of two is lost ------------------------------------------------------------------

// The link that carries an announcement is lost after another one has been added.
TEST_P(AddLink, AnnouncementIsRepeatedOverALinkThatIsNewerThanIt)
{
	Pair pair(GetParam());
	LinkRkeys rkeys;

	pair.form();
	EXPECT_TRUE(rkeys.push_back({0, Pair::first(1, 0)}));
	EXPECT_TRUE(rkeys.push_back({1, {wire::Rkey{0x7777}, kAddress}}));
	pair.server.deliver(AnnounceRkey{7, rkeys});
	pair.server.drop_sent();
	pair.server.deliver(LinkFailed{1});
	exchange(pair.server, pair.client);
	ASSERT_EQ(pair.server.machine().link_state(2), LinkState::kActive);
	pair.server.deliver(LinkFailed{0});
	EXPECT_TRUE(pair.server.take<wire::DeleteLink>(/*response=*/false));
	const auto again = pair.server.take<wire::ConfirmRkey>(/*response=*/false);
	ASSERT_TRUE(again);
	EXPECT_EQ(again->token, Pair::second(1, 0));
}

TEST_P(AddLink, LostLinkIsDeletedAndReplaced)
{
	for (const LinkIndex lost : {0, 1}) {
		for (const bool by_client : {false, true}) {
			SCOPED_TRACE(static_cast<int>(lost));
			SCOPED_TRACE(static_cast<int>(by_client));
			Pair pair(GetParam());

			pair.form();
			Member &one = by_client ? pair.client : pair.server;
			Member &other = by_client ? pair.server : pair.client;
			one.deliver(LinkFailed{lost});
			EXPECT_EQ(one.count<LinkDown>(), 1);
			EXPECT_EQ(one.next_sent_on(), 1 - lost);
			exchange(one, other);
			EXPECT_EQ(other.count<LinkDown>(), 1);
			EXPECT_FALSE(one.over() || other.over());
			EXPECT_EQ(one.machine().counters().violations(), 0U);
			EXPECT_EQ(other.machine().counters().violations(), 0U);
			// The server had another port at once.
			EXPECT_EQ(pair.server.machine().link_state(lost), LinkState::kUnused);
			EXPECT_EQ(pair.server.machine().link_state(2), LinkState::kActive);
			EXPECT_EQ(pair.client.machine().link_state(2), LinkState::kActive);
			EXPECT_EQ(pair.server.machine().link_id(2), wire::LinkId{3});
			// And nothing is said again.
			pair.server.sleep(10000);
			pair.client.sleep(10000);
			EXPECT_EQ(pair.server.sent() + pair.client.sent(), 0U);
		}
	}
}

TEST_P(AddLink, BothEndsLoseItAtOnce)
{
	Pair pair(GetParam());

	pair.form();
	pair.server.deliver(LinkFailed{0});
	pair.client.deliver(LinkFailed{0});
	exchange(pair.server, pair.client);
	EXPECT_FALSE(pair.server.over() || pair.client.over());
	EXPECT_EQ(pair.server.machine().counters().violations(), 0U);
	EXPECT_EQ(pair.client.machine().counters().violations(), 0U);
	EXPECT_EQ(pair.server.machine().link_state(2), LinkState::kActive);
}

TEST_P(AddLink, DeletionIsRepeatedSoOftenAndNoMore)
{
	Pair pair(GetParam());

	pair.form();
	pair.client.other_port.reset();
	pair.server.deliver(LinkFailed{0});
	for (std::uint32_t i = 0; i < kDeletionTries; i++) {
		EXPECT_TRUE(pair.server.take<wire::DeleteLink>(/*response=*/false));
		if (i == 0)
			pair.server.drop_sent(); // the next ADD_LINK
		pair.server.sleep(2000);
	}
	// The offer once more.
	EXPECT_TRUE(pair.server.take<wire::AddLink>(/*response=*/false));
	EXPECT_EQ(pair.server.sent(), 0U);
	EXPECT_FALSE(pair.server.over());
}

TEST_P(AddLink, SlotOfALostLinkIsTakenUntilTheShellHasLetItGo)
{
	Pair pair(GetParam());

	pair.form();
	pair.server.drops_links = false;
	pair.server.deliver(LinkFailed{0});
	EXPECT_EQ(pair.server.machine().link_state(0), LinkState::kDown);
	pair.server.drop_sent();
	const int prepared = pair.server.count<PrepareLink>();
	pair.server.deliver(LinkGone{0});
	EXPECT_EQ(pair.server.count<PrepareLink>(), prepared + 1);
	EXPECT_EQ(pair.server.last<PrepareLink>()->beside, 1);
}

// What is under way for a lost link does not meet its successor at once.
TEST_P(AddLink, PlacesAreTakenInTurn)
{
	Pair pair(GetParam());

	pair.form();
	for (const LinkIndex lost : {0, 1, 2, 0}) {
		pair.server.deliver(LinkFailed{lost});
		exchange(pair.server, pair.client);
		EXPECT_EQ(pair.server.last<PrepareLink>()->link, (lost + 2) % kLinksMax);
		EXPECT_EQ(pair.server.machine().link_state((lost + 2) % kLinksMax),
			  LinkState::kActive);
	}
}

TEST_P(AddLink, ThirdLinkReplacesTheAsymmetricOne)
{
	Pair pair(GetParam());

	pair.client.other_port->end = first_port_again(2);
	pair.form();
	pair.expect_link(1, 1);
	// The client's second port comes.
	pair.client.other_port->end = second_end(2);
	pair.server.other_port->end = second_end(1);
	pair.client.deliver(AlternateFound{second_end(2).identity.mac, second_end(2).identity.gid});
	exchange(pair.client, pair.server);
	EXPECT_EQ(pair.server.machine().link_state(0), LinkState::kActive);
	EXPECT_EQ(pair.server.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.server.machine().link_state(2), LinkState::kActive);
	EXPECT_EQ(pair.client.machine().link_state(1), LinkState::kUnused);
	EXPECT_EQ(pair.client.machine().link_state(2), LinkState::kActive);
	EXPECT_EQ(pair.server.machine().counters().violations(), 0U);
	EXPECT_EQ(pair.client.machine().counters().violations(), 0U);
}

TEST(AddLinkV1, RkeysForEverAreNotTaken)
{
	Pair pair(wire::LlcVersion::kV1);
	wire::AddLinkCont endless;

	pair.client.answers = false;
	pair.form();
	pair.server.drop_sent();
	pair.client.deliver(LinkPrepared{1, pair.client.other_port->end, {}});
	exchange(pair.client, pair.server);
	// The exchange has ended; more of it is a violation.
	endless.link = wire::LinkId{2};
	endless.rkeys_left = 255;
	pair.client.receive(encoded(endless, /*response=*/false, wire::LlcVersion::kV1));
	EXPECT_EQ(pair.client.machine().counters().violations(), 1U);

	Pair other(wire::LlcVersion::kV1);
	other.client.answers = false;
	other.form();
	other.client.deliver(LinkPrepared{1, other.client.other_port->end, {}});
	for (int i = 0; i < 255; i++)
		other.client.receive(encoded(endless, /*response=*/false, wire::LlcVersion::kV1));
	EXPECT_LT(other.client.sent(), 140U);
	EXPECT_GT(other.client.machine().counters().violations(), 0U);
}

} // namespace
} // namespace smc::group::test
