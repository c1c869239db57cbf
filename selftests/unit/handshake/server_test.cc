// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/server.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "handshake/side.hpp"
#include "wire/golden.hpp"

namespace smc::handshake::test {
namespace {

using wire::DeclineReason;

constexpr int kBrokenPipe = 32;

Bytes good_proposal(bool v1 = true, bool v2 = true)
{
	Client client(offer_of(2, v1, v2), {});

	client.start();
	return client.take_sent();
}

wire::Confirm good_confirm(bool first_contact = true, std::uint8_t version = 2)
{
	wire::Confirm confirm;

	confirm.version = version;
	confirm.first_contact = first_contact;
	confirm.endpoint = endpoint_of(2, version == 2);
	if (version == 2)
		confirm.eid = eid("SMCV2-TEST-UEID");
	if (version == 2 && first_contact) {
		confirm.first_contact_extension.release = 1;
		confirm.first_contact_extension.max_conns = 255;
		confirm.first_contact_extension.max_links = 2;
		EXPECT_TRUE(confirm.gids.push_back(gid_of(2)));
	}
	return confirm;
}

// Nothing is answered, so the machine stays in this state.
Server server_in(State state, bool first_contact = true)
{
	const bool later = state == State::kAnnouncingRkey || !first_contact;
	Answers silent = answers(endpoint_of(1), !later);

	if (state == State::kAcquiringLink)
		silent.acquire.clear();
	if (state == State::kAnnouncingRkey)
		silent.announce.reset();
	silent.connect.reset();
	silent.confirm.reset();
	if (state == State::kConfirmingLink || state == State::kAwaitDecline)
		silent.connect = LinkConnected{};
	Server server(offer_of(1, true, true), silent);
	if (state == State::kIdle)
		return server;
	server.start();
	if (state != State::kAwaitProposal)
		server.arrive(good_proposal());
	if (state == State::kConnectingLink || state == State::kConfirmingLink ||
	    state == State::kAwaitDecline)
		server.arrive(encoded(good_confirm(!later)));
	if (state == State::kAwaitDecline)
		server.deliver(LinkConfirmFailed{});
	EXPECT_EQ(server.state(), state) << name(server.state());
	(void)server.take_sent();
	return server;
}

constexpr State kStarted[] = {
	State::kAwaitProposal, State::kAcquiringLink,  State::kAnnouncingRkey,
	State::kAwaitConfirm,  State::kConnectingLink, State::kConfirmingLink,
	State::kAwaitDecline,
};

// --- Until there is a Proposal, it is the user's connection ---------------------------------

TEST(ServerClean, SilentClientIsServedByTcp)
{
	Server server = server_in(State::kAwaitProposal);

	server.sleep(5999);
	EXPECT_FALSE(server.finished());
	server.sleep(1);
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc));
	EXPECT_TRUE(server.sent().empty());
}

TEST(ServerClean, GarbageIsServedByTcpAtItsFirstByte)
{
	for (const char *hex :
	     {"00", "47455420", "e2d4c3ff", "e2d4c3d9ff", "e2d4c3d9010000000000"}) {
		Server server = server_in(State::kAwaitProposal);
		const Bytes bytes = from_hex(hex);
		server.arrive(bytes);
		EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc)) << hex;
		EXPECT_EQ(server.left_in_stream(), bytes);
		EXPECT_TRUE(server.sent().empty());
	}
}

TEST(ServerClean, OtherMessagesAreServedByTcp)
{
	for (const auto hex : {golden::kAcceptFirst21, golden::kConfirmFirst21}) {
		Server server = server_in(State::kAwaitProposal);
		server.arrive(from_hex(hex));
		EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc));
		EXPECT_EQ(server.left_in_stream(), from_hex(hex));
	}
}

TEST(ServerClean, PartOfAProposalThenSilenceOrFin)
{
	const Bytes proposal = good_proposal();

	for (std::size_t length = 0; length < proposal.size(); length++) {
		const ByteSpan part = ByteSpan{proposal}.first(length);
		Server silent = server_in(State::kAwaitProposal);
		Server gone = server_in(State::kAwaitProposal);
		silent.arrive(part);
		gone.arrive(part);
		EXPECT_FALSE(silent.finished()) << length;
		silent.sleep(6000);
		gone.arrive_eof();
		EXPECT_TRUE(silent.fell_back(DeclineReason::kPeerNoSmc)) << length;
		EXPECT_TRUE(gone.fell_back(DeclineReason::kPeerNoSmc)) << length;
		EXPECT_EQ(silent.left_in_stream(), Bytes(part.begin(), part.end()));
		EXPECT_EQ(gone.left_in_stream(), Bytes(part.begin(), part.end()));
	}
}

// Single bytes do not extend the wait.
TEST(ServerClean, SlowProposalHasOneDeadline)
{
	Server server = server_in(State::kAwaitProposal);

	for (const std::byte byte : good_proposal()) {
		if (server.finished())
			break;
		server.arrive(ByteSpan{&byte, 1});
		server.sleep(500);
	}
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc));
	EXPECT_EQ(server.now_ms(), 7000U);
	EXPECT_EQ(server.left_in_stream().size(), 12U);
}

TEST(ServerClean, ResetConnectionIsTheUsers)
{
	Server idle = server_in(State::kIdle);
	Server waiting = server_in(State::kAwaitProposal);

	idle.deliver(TcpError{kConnectionReset});
	waiting.deliver(TcpError{kConnectionReset});
	EXPECT_TRUE(idle.fell_back(DeclineReason::kPeerNoSmc));
	EXPECT_TRUE(waiting.fell_back(DeclineReason::kPeerNoSmc));
}

TEST(ServerClean, BytesBeforeTheStartAreLeftAlone)
{
	Server server = server_in(State::kIdle);

	server.arrive(from_hex("00"));
	server.deliver(Timer{});
	EXPECT_EQ(server.state(), State::kIdle);
	EXPECT_EQ(server.left_in_stream().size(), 1U);
}

// --- Proposals -----------------------------------------------------------------------------

TEST(ServerProposal, SaysWhoAsks)
{
	Server server = server_in(State::kAcquiringLink);
	const auto *acquire = server.last<AcquireServerLink>();

	ASSERT_NE(acquire, nullptr);
	EXPECT_EQ(acquire->peer_id, peer_id_of(2));
	EXPECT_EQ(acquire->peer_gid, gid_of(2));
	EXPECT_EQ(acquire->peer_mac, mac_of(2));
	EXPECT_EQ(acquire->agreement->version, 2);
	EXPECT_EQ(acquire->agreement->eid, eid("SMCV2-TEST-UEID"));
	EXPECT_EQ(acquire->agreement->max_conns, 255);
}

TEST(ServerProposal, MalformedIsDeclined)
{
	Server server = server_in(State::kAwaitProposal);
	Bytes proposal = good_proposal();

	proposal.back() = std::byte{0};
	server.arrive(proposal);
	EXPECT_TRUE(server.fell_back(DeclineReason::kCnfErr));
	EXPECT_EQ(server.decline_sent()->version, 2);
	EXPECT_TRUE(server.left_in_stream().empty());
}

TEST(ServerProposal, VersionOneIsDeclinedInVersionOne)
{
	LocalOffer offer = offer_of(1, false, true);
	Server server(offer, {});
	wire::Proposal proposal;

	proposal.version = 1;
	proposal.mode_v1 = wire::ClcMode::kR;
	proposal.gid = v1_gid_of(2);
	server.start();
	server.arrive(encoded(proposal));
	EXPECT_TRUE(server.fell_back(DeclineReason::kNoSmcrDev));
	ASSERT_TRUE(server.decline_sent());
	EXPECT_EQ(server.decline_sent()->version, 1);
}

TEST(ServerProposal, VersionOneGetsVersionOne)
{
	Server server(offer_of(1, true, true), answers(endpoint_of(1, false), true));
	wire::Proposal proposal;

	proposal.version = 1;
	proposal.mode_v1 = wire::ClcMode::kR;
	proposal.peer_id = peer_id_of(2);
	proposal.gid = v1_gid_of(2);
	proposal.mac = mac_of(2);
	proposal.prefixes.ipv4 = {{10, 9, 0, 0}, 24};
	server.start();
	server.arrive(encoded(proposal));
	const Bytes accept = server.take_sent();
	EXPECT_EQ(accept.size(), 68U);
	server.arrive(encoded(good_confirm(true, 1)));
	ASSERT_NE(server.use_smc(), nullptr);
	EXPECT_EQ(server.use_smc()->agreement->version, 1);
}

// A feature that only one side names does not count.
TEST(ServerConfirm, FeaturesAreThoseThatBothHave)
{
	for (const std::uint16_t theirs : {0x0000, 0x0001, 0x0002, 0xffff}) {
		LocalOffer offer = offer_of(1, true, true);
		offer.feature_mask = 0x0005;
		Server server(offer, answers(endpoint_of(1), true));
		wire::Confirm confirm = good_confirm();
		confirm.first_contact_extension.feature_mask = theirs;
		server.start();
		server.arrive(good_proposal());
		server.arrive(encoded(confirm));
		ASSERT_NE(server.use_smc(), nullptr);
		EXPECT_EQ(server.use_smc()->agreement->feature_mask, theirs & 0x0005);
	}
}

TEST(ServerProposal, NoLinkAtAllIsDeclinedWithTheFirstReason)
{
	Answers none;

	none.acquire.push_back(LinkFailed{DeclineReason::kNoRoute});
	none.acquire.push_back(LinkFailed{DeclineReason::kNoSmcDev});
	Server server(offer_of(1, true, true), none);
	server.start();
	server.arrive(good_proposal());
	EXPECT_EQ(server.count<AcquireServerLink>(), 2);
	EXPECT_TRUE(server.fell_back(DeclineReason::kNoRoute));
	EXPECT_EQ(server.count<ReleaseLink>(), 0);
}

TEST(ServerProposal, DataBehindItIsNoHandshake)
{
	Server server = server_in(State::kAwaitProposal);
	Bytes bytes = good_proposal();

	bytes.push_back(std::byte{'x'});
	server.arrive(bytes);
	EXPECT_TRUE(server.failed_with(kConnectionReset));
}

// --- Waits ---------------------------------------------------------------------------------

TEST(ServerTimeout, EachStateHasOne)
{
	struct Case {
		State state;
		std::uint64_t after_ms;
		DeclineReason reason; // kNone: Fail(kTimedOut)
	};
	const Case cases[] = {
		{State::kAwaitProposal, 6000, DeclineReason::kPeerNoSmc},
		{State::kAcquiringLink, 5000, DeclineReason::kIntErr},
		{State::kAnnouncingRkey, 5000, DeclineReason::kErrRegBuf},
		{State::kAwaitConfirm, 6000, DeclineReason::kNone},
		{State::kConnectingLink, 2500, DeclineReason::kErrRdyLnk},
		{State::kConfirmingLink, 7500, DeclineReason::kTimeoutCl},
		{State::kAwaitDecline, 1000, DeclineReason::kTimeoutCl},
	};

	for (const Case &wait : cases) {
		SCOPED_TRACE(name(wait.state));
		Server server = server_in(wait.state);
		server.sleep(wait.after_ms - 1);
		EXPECT_FALSE(server.finished());
		server.sleep(1);
		if (wait.reason == DeclineReason::kNone)
			EXPECT_TRUE(server.failed_with(kTimedOut));
		else
			EXPECT_TRUE(server.fell_back(wait.reason));
		EXPECT_EQ(server.declines_sent(),
			  wait.reason == DeclineReason::kNone || wait.state == State::kAwaitProposal
				  ? 0
				  : 1);
	}
}

// The client of a later contact has finished when it has sent its Confirm: it reads no Decline.
TEST(ServerTimeout, ConnectingAtALaterContactFails)
{
	Server server = server_in(State::kConnectingLink, /*first_contact=*/false);

	server.sleep(2500);
	EXPECT_TRUE(server.failed_with(kConnectionAborted));
	EXPECT_TRUE(server.sent().empty());
}

TEST(ServerTimeout, EarlyTimerIsSetAgain)
{
	Server server = server_in(State::kAwaitProposal);
	const auto deadline_ms = server.deadline_ms();

	server.deliver(Timer{});
	EXPECT_FALSE(server.finished());
	EXPECT_EQ(server.deadline_ms(), deadline_ms);
}

// --- Everything that can come at any time ---------------------------------------------------

TEST(ServerDecline, IsHeardInEveryState)
{
	wire::Decline decline;

	decline.reason = DeclineReason::kMem;
	for (const State state : kStarted) {
		Server server = server_in(state);
		const Bytes data = from_hex("4142434445464748");
		Bytes bytes = encoded(decline);
		bytes.insert(bytes.end(), data.begin(), data.end());
		server.arrive(bytes);
		EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kMem))
			<< name(state);
		EXPECT_EQ(server.left_in_stream(), data) << name(state);
		EXPECT_EQ(server.declines_sent(), 0) << name(state);
	}
}

// With the Confirm in one segment: no later arrival would wake the machine for these bytes.
TEST(ServerDecline, RightBehindTheConfirmIsHeard)
{
	wire::Decline decline;
	Server server = server_in(State::kAwaitConfirm);
	Bytes bytes = encoded(good_confirm());

	decline.reason = DeclineReason::kMem;
	for (const std::byte byte : encoded(decline))
		bytes.push_back(byte);
	server.arrive(bytes);
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kMem));
}

TEST(ServerForeign, BytesAreAResetOnceThereIsAProposal)
{
	for (const State state : kStarted) {
		Server server = server_in(state);
		server.arrive(from_hex("de"));
		if (state == State::kAwaitProposal)
			EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc));
		else
			EXPECT_TRUE(server.failed_with(kConnectionReset)) << name(state);
	}
}

TEST(ServerForeign, RepeatedMessagesAreAReset)
{
	Server proposed = server_in(State::kAwaitConfirm);
	Server confirmed = server_in(State::kConfirmingLink);

	proposed.arrive(good_proposal());
	confirmed.arrive(encoded(good_confirm()));
	EXPECT_TRUE(proposed.failed_with(kConnectionReset));
	EXPECT_TRUE(confirmed.failed_with(kConnectionReset));
}

TEST(ServerEof, MattersWhereAMessageIsAwaited)
{
	for (const State state : kStarted) {
		SCOPED_TRACE(name(state));
		Server server = server_in(state);
		server.arrive_eof();
		if (state == State::kAwaitProposal)
			EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc));
		else if (state == State::kAwaitConfirm || state == State::kAwaitDecline)
			EXPECT_TRUE(server.failed_with(kConnectionReset));
		else
			EXPECT_EQ(server.state(), state);
	}
}

TEST(ServerEof, RightBehindTheConfirmIsNoHindrance)
{
	Server server(offer_of(1, true, true), answers(endpoint_of(1), false));

	server.start();
	server.arrive(good_proposal());
	ASSERT_EQ(server.state(), State::kAwaitConfirm);
	const Bytes confirm = encoded(good_confirm(false));
	server.arrive(ByteSpan{confirm}.first(confirm.size() - 1));
	server.arrive(ByteSpan{confirm}.last(1));
	server.arrive_eof();
	EXPECT_NE(server.use_smc(), nullptr);
}

TEST(ServerTcpError, EndsEveryState)
{
	for (const State state : kStarted) {
		Server server = server_in(state);
		server.deliver(TcpError{kBrokenPipe});
		if (state != State::kAwaitProposal) {
			EXPECT_TRUE(server.failed_with(kBrokenPipe)) << name(state);
		}
		EXPECT_TRUE(server.sent().empty());
	}
}

TEST(ServerAbort, EndsEveryState)
{
	for (const State state : kStarted) {
		Server server = server_in(state);
		server.deliver(Abort{});
		EXPECT_TRUE(server.failed_with(kConnectionAborted)) << name(state);
		EXPECT_TRUE(server.sent().empty());
	}
}

TEST(ServerStray, AnswersChangeNothing)
{
	for (const State state : kStarted)
		expect_strays_ignored([state] { return server_in(state); }, endpoint_of(1));
}

TEST(ServerFinished, StaysFinished)
{
	Server server = server_in(State::kAwaitProposal);

	server.arrive(from_hex("00"));
	ASSERT_TRUE(server.finished());
	server.start();
	server.arrive(good_proposal());
	server.arrive_eof();
	server.deliver(Timer{});
	server.deliver(TcpError{kBrokenPipe});
	server.deliver(LinkConfirmed{});
	server.deliver(Abort{});
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerNoSmc));
}

// --- Confirms ------------------------------------------------------------------------------

struct BadConfirm {
	const char *what;
	DeclineReason reason;
	std::function<void(wire::Confirm &)> spoil;
};

wire::SmcrEndpoint &smcr(wire::AcceptConfirmBody &body)
{
	return *std::get_if<wire::SmcrEndpoint>(&body.endpoint);
}

const BadConfirm kBadConfirms[] = {
	{"other EID", DeclineReason::kNoUeid, [](auto &c) { c.eid = eid("OTHER"); }},
	{"other release", DeclineReason::kReleaseErr,
	 [](auto &c) { c.first_contact_extension.release = 0; }},
	{"other max_conns", DeclineReason::kMaxConnErr,
	 [](auto &c) { c.first_contact_extension.max_conns = 254; }},
	{"other max_links", DeclineReason::kMaxLinkErr,
	 [](auto &c) { c.first_contact_extension.max_links = 1; }},
	{"other version", DeclineReason::kVersMismat, [](auto &c) { c = good_confirm(true, 1); }},
	{"SMC-D", DeclineReason::kModeUnsupp,
	 [](auto &c) {
		 c.endpoint = wire::SmcdEndpoint{};
		 c.gids.clear();
	 }},
	{"later contact", DeclineReason::kCnfErr, [](auto &c) { c = good_confirm(false); }},
	{"other host", DeclineReason::kCnfErr, [](auto &c) { smcr(c).gid = gid_of(3); }},
	{"token 0", DeclineReason::kCnfErr, [](auto &c) { smcr(c).token = wire::Token{0}; }},
	{"past the end", DeclineReason::kCnfErr,
	 [](auto &c) { smcr(c).rmb_address = UINT64_MAX - 65535; }},
};

TEST(ServerConfirm, BadOnesAreDeclined)
{
	for (const BadConfirm &bad : kBadConfirms) {
		SCOPED_TRACE(bad.what);
		Server server(offer_of(1, true, true), answers(endpoint_of(1), true));
		wire::Confirm confirm = good_confirm();
		bad.spoil(confirm);
		server.start();
		server.arrive(good_proposal());
		server.arrive(encoded(confirm));
		EXPECT_TRUE(server.fell_back(bad.reason));
		ASSERT_TRUE(server.decline_sent());
		EXPECT_EQ(server.decline_sent()->reason, bad.reason);
		EXPECT_EQ(server.count<ConnectLink>(), 0);
		EXPECT_EQ(server.count<ReleaseLink>(), 1);
	}
}

TEST(ServerConfirm, OfAnotherHostInVersionOne)
{
	const auto outcome = [](auto spoil) {
		Server server(offer_of(1, true, false), answers(endpoint_of(1, false), true));
		wire::Confirm confirm = good_confirm(true, 1);

		spoil(smcr(confirm));
		server.start();
		server.arrive(good_proposal(true, false));
		server.arrive(encoded(confirm));
		return server.use_smc() != nullptr;
	};

	EXPECT_TRUE(outcome([](auto &) {}));
	EXPECT_FALSE(outcome([](auto &end) { end.gid = v1_gid_of(3); }));
	EXPECT_FALSE(outcome([](auto &end) { end.mac = mac_of(3); }));
}

TEST(ServerConfirm, OfAnotherHostAtALaterContact)
{
	Server server = server_in(State::kAwaitConfirm, /*first_contact=*/false);
	wire::Confirm confirm = good_confirm(false);

	smcr(confirm).gid = gid_of(3);
	server.arrive(encoded(confirm));
	EXPECT_TRUE(server.failed_with(kConnectionAborted));
	EXPECT_EQ(server.count<ConnectLink>(), 0);
}

TEST(ServerConfirm, BadOneOfALaterContactFails)
{
	Server server = server_in(State::kAwaitConfirm, /*first_contact=*/false);
	wire::Confirm confirm = good_confirm(false);

	smcr(confirm).token = wire::Token{0};
	server.arrive(encoded(confirm));
	EXPECT_TRUE(server.failed_with(kConnectionAborted));
	EXPECT_TRUE(server.sent().empty());
}

// After the Accept, a client of a later contact may be writing already.
TEST(ServerRelease, LaterContactThatTheClientMayUse)
{
	const auto released_after = [](bool first_contact, auto happens) {
		Server server = server_in(State::kAwaitConfirm, first_contact);

		happens(server);
		EXPECT_EQ(server.template count<ReleaseLink>(), 1);
		return server.template last<ReleaseLink>()->peer_may_use;
	};
	const auto aborted = [](Server &server) { server.deliver(Abort{}); };
	const auto broken = [](Server &server) { server.deliver(TcpError{kBrokenPipe}); };
	const auto silent = [](Server &server) { server.sleep(6000); };
	const auto spoilt = [](Server &server) {
		wire::Confirm confirm = good_confirm(false);
		smcr(confirm).token = wire::Token{0};
		server.arrive(encoded(confirm));
	};
	const auto hung_up = [](Server &server) { server.arrive_eof(); };
	const auto declined = [](Server &server) { server.arrive(encoded(wire::Decline{})); };

	EXPECT_TRUE(released_after(false, aborted));
	EXPECT_TRUE(released_after(false, broken));
	EXPECT_TRUE(released_after(false, silent));
	EXPECT_TRUE(released_after(false, spoilt));
	EXPECT_FALSE(released_after(false, hung_up));
	EXPECT_FALSE(released_after(false, declined));
	EXPECT_FALSE(released_after(true, aborted));
	EXPECT_FALSE(released_after(true, silent));

	Server early = server_in(State::kAnnouncingRkey);
	aborted(early);
	ASSERT_EQ(early.count<ReleaseLink>(), 1);
	EXPECT_FALSE(early.last<ReleaseLink>()->peer_may_use);
}

// Other connections may have joined the group by then.
TEST(ServerRelease, FirstContactThatTheClientMayUse)
{
	Server confirming = server_in(State::kConfirmingLink);
	Server connecting = server_in(State::kConnectingLink);

	confirming.deliver(Abort{});
	connecting.deliver(Abort{});
	ASSERT_EQ(confirming.count<ReleaseLink>(), 1);
	ASSERT_EQ(connecting.count<ReleaseLink>(), 1);
	EXPECT_TRUE(confirming.last<ReleaseLink>()->peer_may_use);
	EXPECT_FALSE(connecting.last<ReleaseLink>()->peer_may_use);
}

TEST(ServerRelease, OnlyALaterContactMayBeConfirmedUnseen)
{
	for (const bool first_contact : {false, true}) {
		ServerHandshake server(offer_of(1, true, true), Timeouts{});
		const Bytes proposal = good_proposal();
		const Bytes confirm = encoded(good_confirm(first_contact));

		(void)server.step(Start{}, 1);
		(void)server.step(TcpBytes{proposal, false}, 1);
		EXPECT_FALSE(server.peer_may_confirm());
		(void)server.step(answers(endpoint_of(1), first_contact).acquire.front(), 1);
		EXPECT_FALSE(server.peer_may_confirm());
		(void)server.step(RkeyAnnounced{}, 1);
		EXPECT_EQ(server.state(), State::kAwaitConfirm);
		EXPECT_EQ(server.peer_may_confirm(), !first_contact);
		(void)server.step(TcpBytes{confirm, false}, 1);
		EXPECT_EQ(server.state(), State::kConnectingLink);
		EXPECT_FALSE(server.peer_may_confirm());
	}
}

TEST(ServerConfirm, MalformedIsDeclined)
{
	Server server = server_in(State::kAwaitConfirm);
	Bytes confirm = encoded(good_confirm());

	confirm[45] = std::byte{0}; // RMBE index
	server.arrive(confirm);
	EXPECT_TRUE(server.fell_back(DeclineReason::kCnfErr));
	EXPECT_TRUE(server.left_in_stream().empty());
}

TEST(ServerConfirm, TruncatedAnywhereIsNoConnection)
{
	const Bytes confirm = encoded(good_confirm());

	for (std::size_t length = 0; length < confirm.size(); length++) {
		Server server = server_in(State::kAwaitConfirm);
		server.arrive(ByteSpan{confirm}.first(length));
		EXPECT_EQ(server.state(), State::kAwaitConfirm) << length;
		server.sleep(6000);
		EXPECT_TRUE(server.failed_with(kTimedOut)) << length;
	}
}

TEST(ServerConfirm, EmptyAddressesAreThoseOfTheProposal)
{
	Server server = server_in(State::kAwaitConfirm);
	wire::Confirm confirm = good_confirm();

	smcr(confirm).gid = {};
	smcr(confirm).mac = {};
	server.arrive(encoded(confirm));
	ASSERT_EQ(server.count<ConnectLink>(), 1);
	EXPECT_EQ(server.last<ConnectLink>()->peer->gid, gid_of(2));
	EXPECT_EQ(server.last<ConnectLink>()->peer->mac, mac_of(2));
}

TEST(ServerConfirmFailed, TimeoutWaitsForADecline)
{
	Server server = server_in(State::kAwaitDecline);

	server.sleep(999);
	server.arrive(encoded(wire::Decline{}));
	EXPECT_TRUE(server.fell_back(DeclineReason::kPeerDecl, DeclineReason::kNone));
}

// The client got CONFIRM_LINK, its response is lost, and it writes and closes: a fallback would
// give the user a TCP stream that ends cleanly without these bytes.
TEST(ServerConfirmFailed, ClientThatWasThroughAndClosedIsAReset)
{
	Server server = server_in(State::kConfirmingLink);

	server.arrive_eof();
	EXPECT_EQ(server.state(), State::kConfirmingLink);
	server.deliver(LinkConfirmFailed{DeclineReason::kTimeoutCl});
	EXPECT_TRUE(server.failed_with(kConnectionReset));
}

TEST(ServerState, TransitionsAreTheseAndNoOthers)
{
	const std::pair<State, State> legal[] = {
		{State::kIdle, State::kAwaitProposal},
		{State::kIdle, State::kFinished},
		{State::kAwaitProposal, State::kAcquiringLink},
		{State::kAwaitProposal, State::kFinished},
		{State::kAcquiringLink, State::kAnnouncingRkey},
		{State::kAcquiringLink, State::kAwaitConfirm},
		{State::kAcquiringLink, State::kFinished},
		{State::kAnnouncingRkey, State::kAwaitConfirm},
		{State::kAnnouncingRkey, State::kFinished},
		{State::kAwaitConfirm, State::kConnectingLink},
		{State::kAwaitConfirm, State::kFinished},
		{State::kConnectingLink, State::kConfirmingLink},
		{State::kConnectingLink, State::kFinished},
		{State::kConfirmingLink, State::kAwaitDecline},
		{State::kConfirmingLink, State::kFinished},
		{State::kAwaitDecline, State::kFinished},
	};

	expect_transitions<ServerHandshake>(legal);
}

} // namespace
} // namespace smc::handshake::test
