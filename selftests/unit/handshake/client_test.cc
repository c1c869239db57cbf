// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/client.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "handshake/side.hpp"
#include "wire/golden.hpp"

namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

constexpr int kBrokenPipe = 32;

wire::Accept good_accept(bool first_contact = true, std::uint8_t version = 2)
{
	wire::Accept accept;

	accept.version = version;
	accept.first_contact = first_contact;
	accept.endpoint = endpoint_of(1, version == 2);
	if (version == 2)
		accept.eid = eid("SMCV2-TEST-UEID");
	if (version == 2 && first_contact) {
		accept.first_contact_extension.release = 1;
		accept.first_contact_extension.max_conns = 255;
		accept.first_contact_extension.max_links = 2;
	}
	return accept;
}

// Nothing is answered, so the machine stays in this state.
Client client_in(State state)
{
	const bool later = state == State::kAnnouncingRkey;
	Answers silent = answers(endpoint_of(2), !later);

	if (state == State::kAcquiringLink)
		silent.acquire.clear();
	silent.announce.reset();
	silent.confirm.reset();
	if (state == State::kConnectingLink)
		silent.connect.reset();
	Client client(offer_of(2, true, true), silent);
	if (state == State::kIdle)
		return client;
	client.start();
	if (state != State::kAwaitAccept)
		client.arrive(encoded(good_accept(!later)));
	if (state == State::kAwaitDecline)
		client.deliver(LinkConfirmFailed{});
	EXPECT_EQ(client.state(), state) << name(client.state());
	(void)client.take_sent();
	return client;
}

constexpr State kStarted[] = {
	State::kAwaitAccept,    State::kAcquiringLink,  State::kConnectingLink,
	State::kAnnouncingRkey, State::kConfirmingLink, State::kAwaitDecline,
};

TEST(ClientStart, ProposesOnce)
{
	Client client = client_in(State::kAwaitAccept);

	EXPECT_EQ(client.deadline_ms(), client.now_ms() + 6000);
	client.start();
	EXPECT_EQ(client.count<SendClc>(), 1);
}

TEST(ClientStart, ProposesWhatIsOffered)
{
	for (const auto &[v1, v2] : {std::pair{true, false}, {false, true}, {true, true}}) {
		Client client(offer_of(2, v1, v2), {});
		client.start();
		const Bytes sent = client.take_sent();
		const auto proposal = wire::decode_proposal(sent);
		ASSERT_TRUE(proposal);
		EXPECT_EQ(wire::offers_r(proposal->mode_v1), v1);
		EXPECT_EQ(wire::offers_r(proposal->mode_v2), v2);
		EXPECT_FALSE(wire::offers_d(proposal->mode_v1));
		EXPECT_FALSE(wire::offers_d(proposal->mode_v2));
		EXPECT_EQ(proposal->peer_id, peer_id_of(2));
		EXPECT_EQ(proposal->mac, mac_of(2));
		EXPECT_EQ(proposal->gid, v1 ? v1_gid_of(2) : wire::Gid{});
		EXPECT_EQ(proposal->prefixes.ipv4.length, v1 ? 24 : 0);
		EXPECT_EQ(proposal->v2.roce_gid, v2 ? gid_of(2) : wire::Gid{});
	}
}

TEST(ClientStart, ProposesPrefixesOfAnIpv6Socket)
{
	LocalOffer offer = offer_of(2, true, false);
	Client none(offer, {});

	offer.ipv4_prefixes.clear();
	ASSERT_TRUE(offer.ipv6_prefixes.push_back({{0x20, 1, 0xd, 0xb8}, 64}));
	Client client(offer, {});
	client.start();
	const Bytes sent = client.take_sent();
	const auto proposal = wire::decode_proposal(sent);
	ASSERT_TRUE(proposal);
	EXPECT_EQ(proposal->prefixes.ipv6.size(), 1U);
	EXPECT_EQ(proposal->prefixes.ipv4, wire::Ipv4Prefix{});
}

// A feature counts only if we have offered it, too.
TEST(ClientFeatures, AreNoneButThoseOffered)
{
	LocalOffer offer = offer_of(2, false, true);
	offer.feature_mask = 0x0005;
	Client client(offer, answers(endpoint_of(2), /*first_contact=*/true));
	wire::Accept accept = good_accept();
	accept.first_contact_extension.feature_mask = 0xfffc;

	client.start();
	(void)client.take_sent();
	client.arrive(encoded(accept));
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->feature_mask, 0x0004);
	const Bytes sent = client.take_sent();
	const auto confirm = wire::decode_confirm(sent);
	ASSERT_TRUE(confirm);
	EXPECT_EQ(confirm->first_contact_extension.feature_mask, 0x0004);
}

// Gateways exist in version 2 only.
TEST(ClientAccept, OfVersion1IsDirect)
{
	Client client(offer_of(2, true, false), {});

	client.start();
	client.arrive(encoded(good_accept(/*first_contact=*/true, /*version=*/1)));
	ASSERT_NE(client.last<AcquireClientLink>(), nullptr);
	EXPECT_TRUE(client.last<AcquireClientLink>()->v2_direct);
	EXPECT_EQ(client.last<AcquireClientLink>()->own_gid, offer_of(2, true, false).v1_gid);
}

// The server refuses a Confirm by another port than the proposed one.
TEST(ClientAccept, LinkIsOnTheProposedPort)
{
	Client client(offer_of(2, true, true), {});

	client.start();
	client.arrive(encoded(good_accept(/*first_contact=*/true, /*version=*/2)));
	ASSERT_NE(client.last<AcquireClientLink>(), nullptr);
	EXPECT_EQ(client.last<AcquireClientLink>()->own_gid, offer_of(2, true, true).v2_gid);
}

TEST(ClientStart, BytesBeforeTheStartAreLeftAlone)
{
	Client client(offer_of(2, true, true), {});
	const Bytes garbage = from_hex("deadbeef");

	client.arrive(garbage);
	EXPECT_EQ(client.state(), State::kIdle);
	EXPECT_EQ(client.left_in_stream(), garbage);
}

TEST(ClientTimeout, SilentServerIsATimeout)
{
	Client client = client_in(State::kAwaitAccept);

	client.sleep(5999);
	EXPECT_FALSE(client.finished());
	client.sleep(1);
	EXPECT_TRUE(client.failed_with(kTimedOut));
	EXPECT_TRUE(client.sent().empty());
}

TEST(ClientTimeout, OwnStepsAreBounded)
{
	const std::pair<State, DeclineReason> cases[] = {
		{State::kAcquiringLink, DeclineReason::kIntErr},
		{State::kConnectingLink, DeclineReason::kIntErr},
		{State::kAnnouncingRkey, DeclineReason::kErrRegBuf},
	};

	for (const auto &[state, reason] : cases) {
		Client client = client_in(state);
		client.sleep(4999);
		EXPECT_FALSE(client.finished()) << name(state);
		client.sleep(1);
		EXPECT_TRUE(client.fell_back(reason)) << name(state);
		EXPECT_EQ(client.declines_sent(), 1);
	}
}

TEST(ClientTimeout, ConfirmLinkGuard)
{
	Client client = client_in(State::kConfirmingLink);

	client.sleep(6499);
	EXPECT_EQ(client.state(), State::kConfirmingLink);
	client.sleep(2);
	EXPECT_EQ(client.state(), State::kAwaitDecline);
	client.sleep(2499);
	EXPECT_TRUE(client.failed_with(kTimedOut));
	EXPECT_EQ(client.declines_sent(), 0);
}

// The two Declines could cross.
TEST(ClientTimeout, AfterTheConfirmOnlyTheServerDeclines)
{
	Client client = client_in(State::kConfirmingLink);

	client.sleep(100);
	client.deliver(LinkConfirmFailed{DeclineReason::kTimeoutCl});
	client.sleep(8899);
	EXPECT_EQ(client.state(), State::kAwaitDecline);
	client.sleep(1);
	EXPECT_TRUE(client.failed_with(kTimedOut));
	EXPECT_EQ(client.declines_sent(), 0);
}

TEST(ClientTimeout, EarlyTimerIsSetAgain)
{
	Client client = client_in(State::kAwaitAccept);
	const auto deadline_ms = client.deadline_ms();

	client.deliver(Timer{});
	EXPECT_FALSE(client.finished());
	EXPECT_EQ(client.deadline_ms(), deadline_ms);
	EXPECT_EQ(client.count<SetTimer>(), 2);
}

TEST(ClientTimeout, TimerBeforeTheStartIsNothing)
{
	Client client = client_in(State::kIdle);

	client.deliver(Timer{});
	EXPECT_EQ(client.state(), State::kIdle);
}

TEST(ClientDecline, IsHeardInEveryState)
{
	wire::Decline decline;

	decline.reason = DeclineReason::kMem;
	for (const State state : kStarted) {
		Client client = client_in(state);
		const Bytes data = from_hex("4142434445464748");
		Bytes bytes = encoded(decline);
		bytes.insert(bytes.end(), data.begin(), data.end());
		client.arrive(bytes);
		EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kMem))
			<< name(state);
		EXPECT_EQ(client.left_in_stream(), data) << name(state);
		EXPECT_EQ(client.declines_sent(), 0) << name(state);
	}
}

TEST(ClientDecline, ArrivingRightBehindTheAcceptIsHeard)
{
	Answers silent;
	Client client(offer_of(2, false, true), silent);
	Bytes bytes = encoded(good_accept());
	const Bytes decline = encoded(wire::Decline{});

	client.start();
	bytes.insert(bytes.end(), decline.begin(), decline.end());
	client.arrive(bytes);
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNone));
	EXPECT_TRUE(client.left_in_stream().empty());
	EXPECT_EQ(client.count<ReleaseLink>(), 1);
}

// The server may have CONFIRM_LINK's response by then, unless it declines.
TEST(ClientRelease, FirstContactThatTheServerMayUse)
{
	Client aborted = client_in(State::kConfirmingLink);
	Client declined = client_in(State::kConfirmingLink);

	aborted.deliver(Abort{});
	declined.arrive(encoded(wire::Decline{}));
	ASSERT_EQ(aborted.count<ReleaseLink>(), 1);
	ASSERT_EQ(declined.count<ReleaseLink>(), 1);
	EXPECT_TRUE(aborted.last<ReleaseLink>()->peer_may_use);
	EXPECT_FALSE(declined.last<ReleaseLink>()->peer_may_use);
}

TEST(ClientDecline, OutOfSyncEndsTheGroup)
{
	wire::Decline decline;

	decline.reason = DeclineReason::kSyncErr;
	decline.out_of_sync = true;
	Client waiting = client_in(State::kAwaitAccept);
	waiting.arrive(encoded(decline));
	EXPECT_EQ(waiting.count<TerminateGroup>(), 0); // there is none yet
	Client linked = client_in(State::kConfirmingLink);
	linked.arrive(encoded(decline));
	EXPECT_EQ(linked.count<TerminateGroup>(), 1);
	EXPECT_EQ(linked.count<ReleaseLink>(), 0);
}

// Bytes of a server that does not do SMC, or echoes ours.
TEST(ClientForeign, BytesAreAReset)
{
	Client proposing(offer_of(2, true, true), {});
	proposing.start();
	const Bytes echo = proposing.take_sent();
	const Bytes cases[] = {
		from_hex("00"),
		from_hex("485454502f312e3120343030"),
		from_hex("e2d4c3d9ff001c20"),
		echo,
		encoded(wire::Confirm{[] {
			wire::Confirm confirm;
			static_cast<wire::AcceptConfirmBody &>(confirm) = good_accept();
			return confirm;
		}()}),
	};

	for (const Bytes &bytes : cases) {
		Client client = client_in(State::kAwaitAccept);
		client.arrive(bytes);
		EXPECT_TRUE(client.failed_with(kConnectionReset));
		EXPECT_EQ(client.left_in_stream(), bytes);
		EXPECT_TRUE(client.sent().empty());
	}
}

TEST(ClientForeign, BytesAreAResetInEveryState)
{
	for (const State state : kStarted) {
		Client client = client_in(state);
		client.arrive(from_hex("de"));
		EXPECT_TRUE(client.failed_with(kConnectionReset)) << name(state);
		EXPECT_EQ(client.declines_sent(), 0);
	}
}

TEST(ClientEof, MattersWhereAMessageIsAwaited)
{
	for (const State state : kStarted) {
		Client client = client_in(state);
		client.arrive_eof();
		if (state == State::kAwaitAccept)
			EXPECT_TRUE(client.failed_with(kConnectionReset));
		else if (state == State::kAwaitDecline)
			EXPECT_TRUE(client.failed_with(kConnectionReset));
		else
			EXPECT_EQ(client.state(), state);
	}
}

TEST(ClientEof, BehindADeclineIsTheUsers)
{
	Client client = client_in(State::kAwaitAccept);

	client.arrive(encoded(wire::Decline{}));
	client.arrive_eof();
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNone));
}

TEST(ClientEof, InTheMiddleOfTheAccept)
{
	const Bytes accept = encoded(good_accept());

	for (std::size_t length = 0; length < accept.size(); length++) {
		Client client = client_in(State::kAwaitAccept);
		client.arrive(ByteSpan{accept}.first(length));
		EXPECT_FALSE(client.finished()) << length;
		client.arrive_eof();
		EXPECT_TRUE(client.failed_with(kConnectionReset)) << length;
	}
}

TEST(ClientTcpError, EndsEveryState)
{
	for (const State state : kStarted) {
		Client client = client_in(state);
		client.deliver(TcpError{kBrokenPipe});
		EXPECT_TRUE(client.failed_with(kBrokenPipe)) << name(state);
		EXPECT_TRUE(client.sent().empty());
	}
	Client idle = client_in(State::kIdle);
	idle.deliver(TcpError{kBrokenPipe});
	EXPECT_TRUE(idle.failed_with(kBrokenPipe));
}

TEST(ClientAbort, EndsEveryState)
{
	for (const State state : kStarted) {
		Client client = client_in(state);
		client.deliver(Abort{});
		EXPECT_TRUE(client.failed_with(kConnectionAborted)) << name(state);
		EXPECT_TRUE(client.sent().empty());
	}
	Client idle = client_in(State::kIdle);
	idle.deliver(Abort{});
	EXPECT_TRUE(idle.failed_with(kConnectionAborted));
}

// In each state, an answer that was not asked for.
TEST(ClientStray, AnswersChangeNothing)
{
	for (const State state : kStarted)
		expect_strays_ignored([state] { return client_in(state); }, endpoint_of(2));
}

TEST(ClientFinished, StaysFinished)
{
	Client client = client_in(State::kAwaitAccept);

	client.arrive(encoded(wire::Decline{}));
	ASSERT_TRUE(client.finished());
	client.start();
	client.arrive(encoded(good_accept()));
	client.arrive_eof();
	client.deliver(Timer{});
	client.deliver(TcpError{kBrokenPipe});
	client.deliver(LinkAcquired{});
	client.deliver(Abort{});
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNone));
}

struct BadAccept {
	const char *what;
	DeclineReason reason;
	std::function<void(wire::Accept &)> spoil;
};

wire::SmcrEndpoint &smcr(wire::AcceptConfirmBody &body)
{
	return *std::get_if<wire::SmcrEndpoint>(&body.endpoint);
}

const BadAccept kBadAccepts[] = {
	{"EID not ours", DeclineReason::kNoUeid, [](auto &a) { a.eid = eid("OTHER"); }},
	{"release too high", DeclineReason::kReleaseErr,
	 [](auto &a) { a.first_contact_extension.release = 2; }},
	{"few connections", DeclineReason::kMaxConnErr,
	 [](auto &a) { a.first_contact_extension.max_conns = 15; }},
	{"no links", DeclineReason::kMaxLinkErr,
	 [](auto &a) { a.first_contact_extension.max_links = 0; }},
	{"more links than offered", DeclineReason::kMaxLinkErr,
	 [](auto &a) { a.first_contact_extension.max_links = 3; }},
	{"version from the future", DeclineReason::kModeUnsupp, [](auto &a) { a.version = 3; }},
	{"SMC-D", DeclineReason::kModeUnsupp, [](auto &a) { a.endpoint = wire::SmcdEndpoint{}; }},
	{"capabilities not offered", DeclineReason::kCnfErr,
	 [](auto &a) { a.first_contact_extension.vendor_options = wire::vendor_answer(1); }},
	{"token 0", DeclineReason::kCnfErr, [](auto &a) { smcr(a).token = wire::Token{0}; }},
	{"past the end", DeclineReason::kCnfErr,
	 [](auto &a) { smcr(a).rmb_address = UINT64_MAX - 65535; }},
	{"index past the end", DeclineReason::kCnfErr,
	 [](auto &a) {
		 smcr(a).rmb_address = UINT64_MAX - 65536 * 2;
		 smcr(a).rmbe_index = 3;
	 }},
};

TEST(ClientAccept, BadOnesAreDeclined)
{
	for (const BadAccept &bad : kBadAccepts) {
		SCOPED_TRACE(bad.what);
		Client client(offer_of(2, true, true), answers(endpoint_of(2), true));
		wire::Accept accept = good_accept();
		bad.spoil(accept);
		client.start();
		client.arrive(encoded(accept));
		EXPECT_TRUE(client.fell_back(bad.reason));
		ASSERT_TRUE(client.decline_sent());
		EXPECT_EQ(client.decline_sent()->reason, bad.reason);
		EXPECT_EQ(client.decline_sent()->version, 2);
		EXPECT_EQ(client.count<AcquireClientLink>(), 0);
		EXPECT_TRUE(client.left_in_stream().empty());
	}
}

// Only a server that was offered something has an answer.
TEST(ClientAccept, OtherVendorsOptionsMeanNothing)
{
	Client client(offer_of(2, true, true), answers(endpoint_of(2), true));
	wire::Accept accept = good_accept();

	accept.first_contact_extension.vendor_options = 0x7fffffff;
	client.start();
	client.arrive(encoded(accept));
	ASSERT_NE(client.use_smc(), nullptr);
	EXPECT_EQ(client.use_smc()->agreement->capabilities, 0);
}

TEST(ClientAccept, MoreConnectionsThanOfferedAreDeclined)
{
	LocalOffer offer = offer_of(2, false, true);

	offer.max_conns = 100;
	Client client(offer, answers(endpoint_of(2), true));
	client.start();
	client.arrive(encoded(good_accept()));
	EXPECT_TRUE(client.fell_back(DeclineReason::kMaxConnErr));
}

// Bytes that our encoder would not produce.
TEST(ClientAccept, MalformedOnesAreDeclined)
{
	const std::pair<const char *, std::pair<std::size_t, std::byte>> cases[] = {
		{"QP 0", {40, std::byte{0}}},
		{"RMBE index 0", {45, std::byte{0}}},
		{"MTU 0", {50, std::byte{0x20}}},
		{"trailer", {159, std::byte{0}}},
	};

	for (const auto &[what, change] : cases) {
		SCOPED_TRACE(what);
		Client client(offer_of(2, false, true), answers(endpoint_of(2), true));
		Bytes accept = from_hex(golden::kAcceptFirst21);
		accept[change.first] = change.second;
		client.start();
		client.arrive(accept);
		EXPECT_TRUE(client.fell_back(DeclineReason::kCnfErr));
		EXPECT_EQ(client.declines_sent(), 1);
		EXPECT_TRUE(client.left_in_stream().empty());
	}
}

TEST(ClientAccept, OfAVersionNotProposed)
{
	Client only_v2(offer_of(2, false, true), answers(endpoint_of(2), true));
	only_v2.start();
	only_v2.arrive(encoded(good_accept(true, 1)));
	EXPECT_TRUE(only_v2.fell_back(DeclineReason::kModeUnsupp));
	EXPECT_EQ(only_v2.decline_sent()->version, 1);

	Client only_v1(offer_of(2, true, false), answers(endpoint_of(2), true));
	only_v1.start();
	only_v1.arrive(encoded(good_accept()));
	EXPECT_TRUE(only_v1.fell_back(DeclineReason::kModeUnsupp));
	EXPECT_EQ(only_v1.decline_sent()->version, 2);
}

TEST(ClientAccept, RepeatedIsAReset)
{
	Client client = client_in(State::kConfirmingLink);

	client.arrive(encoded(good_accept()));
	EXPECT_TRUE(client.failed_with(kConnectionReset));
}

TEST(ClientConfirmFailed, TimeoutWaitsForADecline)
{
	Client client = client_in(State::kConfirmingLink);

	client.deliver(LinkConfirmFailed{DeclineReason::kTimeoutCl});
	// Linux: 5 s for its RMB, 2 s for our response, 1 s for our Decline.
	client.sleep(8500);
	ASSERT_FALSE(client.finished());
	client.arrive(encoded(wire::Decline{}));
	EXPECT_TRUE(client.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNone));
	EXPECT_EQ(client.declines_sent(), 0);
}

// The server learns of it over the link, at the latest by its silence, but never by a Decline.
TEST(ClientConfirmFailed, OtherReasonsGiveTheLinkBackAndWaitAsWell)
{
	Client client = client_in(State::kConfirmingLink);

	client.deliver(LinkConfirmFailed{DeclineReason::kErrRegBuf});
	EXPECT_EQ(client.state(), State::kAwaitDecline);
	EXPECT_EQ(client.count<ReleaseLink>(), 1);
	client.sleep(8500);
	ASSERT_FALSE(client.finished());
	wire::Decline decline;
	decline.reason = DeclineReason::kTimeoutCl;
	client.arrive(encoded(decline));
	EXPECT_TRUE(client.fell_back(DeclineReason::kErrRegBuf, DeclineReason::kTimeoutCl));
	EXPECT_EQ(client.declines_sent(), 0);
	EXPECT_EQ(client.count<ReleaseLink>(), 1);
}

TEST(ClientConfirmFailed, WithoutADeclineItIsATimeout)
{
	Client client = client_in(State::kConfirmingLink);

	client.deliver(LinkConfirmFailed{DeclineReason::kErrRegBuf});
	client.sleep(9000);
	EXPECT_TRUE(client.failed_with(kTimedOut));
	EXPECT_EQ(client.declines_sent(), 0);
}

Again again_of(const Client &client)
{
	return client.failed() != nullptr ? client.failed()->again : Again::kNo;
}

// What no SMC server would do, and what the network may have done.
TEST(ClientAgain, WhoDoesNotAnswerByClcIsAStranger)
{
	const std::function<void(Client &)> strange[] = {
		[](Client &client) { client.sleep(6000); },
		[](Client &client) { client.arrive(from_hex("53534820")); },
		[](Client &client) { client.arrive_eof(); },
		[](Client &client) { client.deliver(TcpError{kConnectionReset}); },
	};

	for (const auto &does : strange) {
		Client client = client_in(State::kAwaitAccept);
		does(client);
		EXPECT_EQ(again_of(client), Again::kStranger);
	}
	for (const int error : {kBrokenPipe, kTimedOut}) {
		Client client = client_in(State::kAwaitAccept);
		client.deliver(TcpError{error});
		EXPECT_TRUE(client.failed_with(error));
		EXPECT_EQ(again_of(client), Again::kMaybeServer);
	}
}

TEST(ClientAgain, WhoHasAnsweredIsNoStranger)
{
	for (const State state : kStarted) {
		if (state == State::kAwaitAccept)
			continue;
		Client foreign = client_in(state);
		foreign.arrive(from_hex("de"));
		EXPECT_EQ(again_of(foreign), Again::kMaybeServer) << name(state);
		Client broken = client_in(state);
		broken.deliver(TcpError{kConnectionReset});
		EXPECT_EQ(again_of(broken), Again::kMaybeServer) << name(state);
	}
	Client silent = client_in(State::kAwaitDecline);
	silent.sleep(9000);
	EXPECT_EQ(again_of(silent), Again::kMaybeServer);
}

TEST(ClientAgain, NotForAUserWhoHasGivenUp)
{
	for (const State state : kStarted) {
		Client client = client_in(state);
		client.deliver(Abort{});
		EXPECT_EQ(again_of(client), Again::kNo) << name(state);
	}
}

TEST(ClientPatience, AStrangerHasLessTime)
{
	Client client(offer_of(2, true, true), {}, {.accept_ms = 2000});

	client.start();
	client.sleep(1999);
	EXPECT_FALSE(client.finished());
	client.sleep(1);
	EXPECT_TRUE(client.failed_with(kTimedOut));
}

TEST(ClientPatience, AServerHasAllOfIt)
{
	Client client(offer_of(2, true, true), {}, {.accept_ms = 2000});

	client.start();
	client.sleep(1999);
	client.deliver(ServerKnown{});
	client.sleep(4000);
	EXPECT_FALSE(client.finished());
	client.sleep(1);
	EXPECT_TRUE(client.failed_with(kTimedOut));
}

TEST(ClientPatience, CountsOnlyForTheAccept)
{
	for (const State state : kStarted) {
		if (state == State::kAwaitAccept)
			continue;
		Client client = client_in(state);
		const int timers = client.count<SetTimer>();
		client.deliver(ServerKnown{});
		EXPECT_EQ(client.state(), state);
		EXPECT_EQ(client.count<SetTimer>(), timers) << name(state);
	}
}

TEST(ClientState, TransitionsAreTheseAndNoOthers)
{
	const std::pair<State, State> legal[] = {
		{State::kIdle, State::kAwaitAccept},
		{State::kIdle, State::kAwaitProposal},
		{State::kIdle, State::kFinished},
		{State::kAwaitProposal, State::kAwaitAccept},
		{State::kAwaitProposal, State::kFinished},
		{State::kAwaitAccept, State::kAcquiringLink},
		{State::kAwaitAccept, State::kFinished},
		{State::kAcquiringLink, State::kConnectingLink},
		{State::kAcquiringLink, State::kFinished},
		{State::kConnectingLink, State::kAnnouncingRkey},
		{State::kConnectingLink, State::kConfirmingLink},
		{State::kConnectingLink, State::kFinished},
		{State::kAnnouncingRkey, State::kFinished},
		{State::kConfirmingLink, State::kAwaitDecline},
		{State::kConfirmingLink, State::kFinished},
		{State::kAwaitDecline, State::kFinished},
	};

	expect_transitions<ClientHandshake>(legal);
}

TEST(ClientState, NamesDiffer)
{
	for (std::uint8_t a = 0; a < kStates; a++) {
		EXPECT_NE(name(static_cast<State>(a)), "UNKNOWN");
		for (std::uint8_t b = 0; b < a; b++)
			EXPECT_NE(name(static_cast<State>(a)), name(static_cast<State>(b)));
	}
	EXPECT_EQ(name(static_cast<State>(kStates)), "UNKNOWN");
}

} // namespace
} // namespace smc::handshake::test
