// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <random>

#include "effort.hpp"
#include "handshake/side.hpp"
#include "wire/golden.hpp"

// Anything may arrive, in any order. Side's checks hold at each step, the machine ends in bounded
// time, and it consumes whole messages.
namespace smc::handshake::test {
namespace {

constexpr std::uint32_t kRounds = smc::testing::rounds(20000);

class Fate {
public:
	explicit Fate(std::uint32_t seed) : engine_(seed) {}

	std::size_t below(std::size_t limit) { return engine_() % limit; }
	bool one_in(std::size_t n) { return below(n) == 0; }

	void spoil(Bytes &bytes)
	{
		if (bytes.empty())
			return;
		switch (below(4)) {
		case 0: bytes[below(bytes.size())] ^= static_cast<std::byte>(1U << below(8)); break;
		case 1: bytes[below(bytes.size())] = static_cast<std::byte>(below(256)); break;
		case 2: bytes.resize(below(bytes.size())); break;
		case 3:
			bytes.insert(bytes.begin() +
					     static_cast<std::ptrdiff_t>(below(bytes.size())),
				     static_cast<std::byte>(below(256)));
			break;
		}
	}

	Event stray()
	{
		const Event events[] = {
			Start{},
			Start{.crossed = true},
			Timer{},
			Abort{},
			TcpError{32},
			LinkAcquired{one_in(2), one_in(2), endpoint_of(1)},
			DmbAcquired{dmb_of(1)},
			LinkFailed{},
			LinkConnected{},
			LinkConnectFailed{},
			RkeyAnnounced{},
			RkeyAnnounceFailed{},
			LinkConfirmed{},
			LinkConfirmFailed{},
		};

		return events[below(std::size(events))];
	}

private:
	std::mt19937 engine_;
};

template <class Machine>
void torment(std::uint32_t seed)
{
	SCOPED_TRACE(seed);
	Fate fate(seed);
	const bool first_contact = fate.one_in(2);
	Answers local = answers(endpoint_of(1), first_contact);

	if (fate.one_in(8))
		local.acquire.clear();
	if (fate.one_in(8))
		local.connect.reset();
	if (fate.one_in(8))
		local.announce.reset();
	if (fate.one_in(2))
		local.confirm.reset();
	Side<Machine> side(offer_of(1, !fate.one_in(8), !fate.one_in(8)), local);
	const bool crossed = fate.one_in(8);
	if (!fate.one_in(16))
		side.deliver(Start{crossed});

	std::size_t arrived = 0;
	for (int i = 0; i < 6 && !side.finished(); i++) {
		// The messages of the other end, mostly in the right order.
		const std::string_view right[] = {
			std::is_same_v<Machine, ServerHandshake> ? golden::kProposal21
			: first_contact                          ? golden::kAcceptFirst21
								 : golden::kAcceptLater,
			first_contact ? golden::kConfirmFirst21 : golden::kConfirmLater,
			golden::kDecline,
		};
		Bytes bytes = from_hex(
			fate.one_in(6)
				? golden::kClcMessages[fate.below(golden::kClcMessages.size())]
				: right[std::min(i, 2)]);
		if (!fate.one_in(2))
			fate.spoil(bytes);
		if (fate.one_in(8))
			side.deliver(fate.stray());
		arrived += bytes.size();
		side.arrive(bytes);
		if (fate.one_in(8))
			side.arrive_eof();
		if (fate.one_in(4))
			side.sleep(fate.below(3000));
	}
	const std::size_t left = side.left_in_stream().size();
	ASSERT_LE(left, arrived);
	side.start();
	side.sleep(60000);
	ASSERT_TRUE(side.finished()) << name(side.state());
	EXPECT_LE(side.declines_sent(), 1);
	if (side.fall_back() != nullptr && side.declines_sent() == 0 &&
	    side.template count<ConsumeTcp>() == 0) {
		EXPECT_EQ(side.left_in_stream().size(), arrived);
	}
}

TEST(Hostile, Client)
{
	for (std::uint32_t seed = 0; seed < kRounds; seed++) {
		torment<ClientHandshake>(seed);
		if (HasFailure())
			return;
	}
}

TEST(Hostile, Server)
{
	for (std::uint32_t seed = 0; seed < kRounds; seed++) {
		torment<ServerHandshake>(seed);
		if (HasFailure())
			return;
	}
}

// The machine has either consumed exactly the one message and answered for it, or left everything;
// the bytes behind the message are still there.
template <class Machine>
void expect_whole_messages(const Side<Machine> &side, const Bytes &sent)
{
	const Bytes &left = side.left_in_stream();
	const std::size_t taken = sent.size() - left.size();

	ASSERT_TRUE(side.finished());
	ASSERT_LE(left.size(), sent.size());
	EXPECT_TRUE(std::equal(left.rbegin(), left.rend(), sent.rbegin()));
	EXPECT_LE(side.declines_sent(), 1);
	if (taken == 0) {
		EXPECT_EQ(side.use_smc(), nullptr);
		EXPECT_EQ(side.declines_sent(), 0);
		return;
	}
	EXPECT_EQ(taken, std::to_integer<std::size_t>(sent[5]) << 8 |
				 std::to_integer<std::size_t>(sent[6]));
	if (side.fall_back() != nullptr) {
		EXPECT_TRUE(side.declines_sent() == 1 ||
			    side.fall_back()->reason == wire::DeclineReason::kPeerDecl ||
			    side.fall_back()->reason == wire::DeclineReason::kOptUnsupp);
	}
}

// Only what was offered is agreed on, within both ends' limits.
void expect_offered(const Agreement &agreement, const LocalOffer &offer)
{
	EXPECT_TRUE(agreement.version == 1 || agreement.version == 2);
	EXPECT_FALSE(agreement.smcd);
	EXPECT_LE(agreement.release, offer.release);
	if (agreement.version == 2) {
		EXPECT_EQ(agreement.eid, offer.eids.front());
	}
	if (agreement.first_contact) {
		EXPECT_GE(agreement.max_conns, kMaxConnsLeast);
		EXPECT_GE(agreement.max_links, kMaxLinksLeast);
		EXPECT_LE(agreement.max_links, offer.max_links);
		EXPECT_EQ(agreement.feature_mask & ~offer.feature_mask, 0);
	}
}

// Each byte of each message, set to a few values, as the first message.
TEST(Hostile, EachByteOfEachMessageInEachRole)
{
	const LocalOffer here = offer_of(1, true, true);
	const LocalOffer there = offer_of(2, true, true);

	for (const auto hex : golden::kClcMessages) {
		const Bytes good = from_hex(hex);
		for (std::size_t at = 0; at < good.size() && !HasFailure(); at++) {
			for (const unsigned value : smc::testing::kByteValues) {
				SCOPED_TRACE(std::to_string(at) + " = " + std::to_string(value));
				Bytes bad = good;
				bad[at] = static_cast<std::byte>(value);
				Server server(here, answers(endpoint_of(1), true));
				Client client(there, answers(endpoint_of(2), true));
				server.start();
				client.start();
				(void)client.take_sent();
				server.arrive(bad);
				client.arrive(bad);
				server.sleep(60000);
				client.sleep(60000);
				expect_whole_messages(server, bad);
				expect_whole_messages(client, bad);
				// A single message never completes a server's handshake.
				EXPECT_EQ(server.use_smc(), nullptr);
				if (server.declines_sent() == 1) {
					EXPECT_EQ(server.decline_sent()->version,
						  wire::decline_version(bad));
				}
				if (client.use_smc() != nullptr) {
					expect_offered(*client.use_smc()->agreement, there);
					EXPECT_EQ(client.declines_sent(), 0);
					EXPECT_NE(client.last<ConnectLink>(), nullptr);
				}
			}
		}
	}
}

// The same with the Confirm: the peer of the connection is the one that proposed.
TEST(Hostile, EachByteInPlaceOfTheConfirm)
{
	const LocalOffer here = offer_of(1, true, true);
	const Bytes proposal = from_hex(golden::kProposal21);

	for (const auto hex : golden::kClcMessages) {
		const Bytes good = from_hex(hex);
		for (std::size_t at = 0; at < good.size() && !HasFailure(); at++) {
			for (const unsigned value : smc::testing::kByteValues) {
				SCOPED_TRACE(std::to_string(at) + " = " + std::to_string(value));
				Bytes bad = good;
				bad[at] = static_cast<std::byte>(value);
				Server server(here, answers(endpoint_of(1), true));
				server.start();
				server.arrive(proposal);
				ASSERT_EQ(server.state(), State::kAwaitConfirm);
				server.arrive(bad);
				server.sleep(60000);
				expect_whole_messages(server, bad);
				if (server.declines_sent() == 1) {
					EXPECT_EQ(server.decline_sent()->version, 2);
				}
				if (server.use_smc() == nullptr)
					continue;
				expect_offered(*server.use_smc()->agreement, here);
				EXPECT_EQ(server.use_smc()->agreement->version, 2);
				EXPECT_EQ(server.use_smc()->agreement->release, 1);
				EXPECT_EQ(server.last<ConnectLink>()->peer->gid, gid_of(2));
				EXPECT_FALSE(server.last<ConnectLink>()->peer->token.is_zero());
			}
		}
	}
}

} // namespace
} // namespace smc::handshake::test
