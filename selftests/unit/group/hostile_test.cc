// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

#include "effort.hpp"
#include "group/member.hpp"
#include "wire/golden.hpp"

// Anything may arrive, in any order, on any link. Member's checks hold at each step, a request gets
// at most one answer, and the timer stops in the end.
namespace smc::group::test {
namespace {

constexpr std::uint32_t kRounds = smc::testing::rounds(3000);
constexpr int kSteps = 60;

class Fate {
public:
	explicit Fate(std::uint32_t seed) : engine_(seed) {}

	std::size_t below(std::size_t limit) { return engine_() % limit; }
	bool one_in(std::size_t n) { return below(n) == 0; }
	LinkIndex link() { return static_cast<LinkIndex>(one_in(3) ? below(kLinksMax) : 0); }

	Bytes message()
	{
		Bytes bytes = from_hex(golden::kLlcMessages[below(golden::kLlcMessages.size())]);

		if (one_in(3))
			bytes[0] = static_cast<std::byte>((one_in(4) ? 0x00 : 0x20) | below(12));
		if (one_in(3))
			bytes[3] = static_cast<std::byte>(below(256));
		for (std::size_t i = below(4); i > 0; i--)
			bytes[below(bytes.size())] = static_cast<std::byte>(below(256));
		if (one_in(10))
			bytes.resize(below(120));
		return bytes;
	}

private:
	std::mt19937 engine_;
};

void torment(std::uint32_t seed)
{
	SCOPED_TRACE(seed);
	Fate fate(seed);
	Config config = config_of(fate.one_in(2) ? Role::kServer : Role::kClient);
	if (fate.one_in(3))
		config.version = wire::LlcVersion::kV1;
	if (fate.one_in(3))
		config.max_links = 2;
	Member member(config);
	FlowId next_flow = 1;

	for (int i = 0; i < kSteps; i++) {
		const std::uint32_t rkey = static_cast<std::uint32_t>(fate.below(8));
		const std::size_t before = member.sent();
		switch (fate.below(16)) {
		case 0:
			member.deliver(
				StartConfirmLink{fate.link(), identity_of(1), identity_of(2)});
			break;
		case 1:
			member.deliver(
				ExpectConfirmLink{fate.link(), identity_of(2), identity_of(1)});
			break;
		case 2: member.deliver(LinkActivated{fate.link(), std::nullopt}); break;
		case 12: member.deliver(AnswerDelivered{fate.link()}); break;
		case 3:
			member.deliver(AnnounceRkey{next_flow++, rkeys_of(rkey, fate.link())});
			break;
		case 4: member.deliver(DeleteRkey{next_flow++, rkeys_of(rkey, fate.link())}); break;
		case 5:
			if (fate.one_in(2))
				member.deliver(CancelFlow{fate.below(next_flow)});
			else
				member.deliver(ProbeLink{fate.link()});
			break;
		case 6: member.sleep(fate.below(4000)); break;
		case 7: member.deliver(Timer{}); break;
		case 8:
			if (fate.one_in(8))
				member.deliver(LinkFailed{fate.link()});
			break;
		case 9:
			if (fate.one_in(8))
				member.deliver(Terminate{});
			break;
		case 10:
			// Sends back what was sent, with and without the response flag.
			if (before > 0) {
				const LinkIndex link = member.next_sent_on();
				Bytes bytes = member.take_sent();
				if (fate.one_in(2))
					bytes[3] |= std::byte{0x80};
				member.receive(bytes, link);
			}
			break;
		default: {
			const LinkIndex link = fate.link();
			const bool running_ends = member.machine().flows_waiting() > 0;
			member.receive(fate.message(), link);
			EXPECT_LE(member.sent(), before + (running_ends ? 3 : 2));
			break;
		}
		}
	}
	member.sleep(3600000);
	for (FlowId id = 1; id < next_flow; id++)
		(void)member.flow(id); // none ended twice
	EXPECT_EQ(member.machine().flows_waiting() > 0 && !member.over(), false);
	if (member.over()) {
		EXPECT_EQ(member.deadline_ms(), std::nullopt);
	}
}

TEST(Hostile, AnythingInAnyOrder)
{
	for (std::uint32_t seed = 0; seed < kRounds; seed++) {
		torment(seed);
		if (HasFailure())
			return;
	}
}

// The state of a member when a message arrives.
enum class Stage {
	kConfirming, // only the peer knows that its link is up
	kActive,
	kAnnouncing, // the RMB of the golden CONFIRM_RKEY
	kDeleting,
};

enum class Verdict {
	kAccepted,
	kIgnored,
	kViolation,
};

// The RMB of the golden DELETE_RKEY.
constexpr wire::RemoteToken kHeldRmb{.rkey = wire::Rkey{0x385}, .address = 0xff2c06a7c4b30000};

Member member_at(Role role, Stage stage)
{
	Config config = config_of(role);

	config.max_links = 2; // so that a server waits for the rejection of its ADD_LINK
	if (stage == Stage::kConfirming) {
		Member member(config);

		if (role == Role::kServer)
			member.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		else
			member.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
		member.drop_sent();
		return member;
	}
	Member member = active_member(role, config);

	if (stage == Stage::kAnnouncing)
		member.deliver(AnnounceRkey{1, rkeys_of(0x66c)});
	else if (stage == Stage::kDeleting)
		member.deliver(DeleteRkey{1, rkeys_of(0x66c)});
	member.drop_sent();
	return member;
}

// CONFIRM_LINK from another peer than the link's: the one violation that ends the link at once.
[[nodiscard]] bool comes_from_a_stranger(const Result<wire::LlcMessage, wire::LlcError> &message,
					 Role role, Stage stage)
{
	const auto *confirm = message ? message->get<wire::ConfirmLink>() : nullptr;
	const bool server = role == Role::kServer;

	if (stage != Stage::kConfirming || confirm == nullptr || message->response != server ||
	    message->version != wire::LlcVersion::kV2)
		return false;
	// About another link, or none: not about this one.
	if (server ? confirm->link != wire::LinkId{1} : confirm->link.is_zero())
		return false;
	const LinkIdentity peer = identity_of(server ? 2 : 1);
	return confirm->gid != peer.gid || confirm->qpn != peer.qpn;
}

// One message in a group that uses one RMB of the peer. A violation or a meaningless message is
// counted once and changes nothing else.
Verdict judge(Role role, Stage stage, const Bytes &bytes)
{
	Member member = member_at(role, stage);
	GroupMachine &machine = member.machine();
	const LinkState link = machine.link_state(0);
	const GroupState group = machine.state();
	const auto held = machine.acquire_rtoken(0, kHeldRmb);
	const Counters before = machine.counters();
	const auto message = wire::decode_llc(bytes);

	EXPECT_EQ(held, RtokenIndex{0});
	member.receive(bytes);
	const Counters after = machine.counters();
	const std::uint32_t violations = after.violations() - before.violations();
	const std::uint32_t ignored = after.ignored - before.ignored;

	EXPECT_EQ(after.received, before.received + 1);
	EXPECT_LE(violations + ignored, 1U);
	EXPECT_LE(member.sent(), 1U);
	if (!message) {
		const bool unknown = message.error() == wire::LlcError::kIgnored;
		EXPECT_EQ(ignored, unknown ? 1U : 0U);
		EXPECT_EQ(after.malformed - before.malformed, unknown ? 0U : 1U);
	} else {
		EXPECT_EQ(after.malformed, before.malformed);
		EXPECT_EQ(after.wrong_version - before.wrong_version,
			  message->version == wire::LlcVersion::kV2 ? 0U : 1U);
	}
	if (violations + ignored == 0)
		return Verdict::kAccepted;

	EXPECT_EQ(member.sent(), 0U);
	EXPECT_EQ(member.count<FlowDone>(), 0);
	EXPECT_EQ(member.count<RtokensDeleted>(), 0);
	if (comes_from_a_stranger(message, role, stage)) {
		EXPECT_EQ(violations, 1U);
		EXPECT_EQ(machine.link_state(0), LinkState::kDown);
		EXPECT_TRUE(member.over());
		return Verdict::kViolation;
	}
	EXPECT_EQ(machine.link_state(0), link);
	EXPECT_EQ(machine.state(), group);
	EXPECT_EQ(machine.rtoken(0, 0), kHeldRmb);
	for (LinkIndex other = 1; other < kLinksMax; other++) {
		EXPECT_EQ(machine.link_state(other), LinkState::kUnused);
		EXPECT_EQ(machine.rtoken(0, other), std::nullopt);
	}
	// Nothing was added: the next entry is still free.
	EXPECT_EQ(machine.acquire_rtoken(0, {wire::Rkey{0x777}, 0x77770000}), RtokenIndex{1});
	return violations != 0 ? Verdict::kViolation : Verdict::kIgnored;
}

// The outcomes of all messages to one member.
class Tally {
public:
	Tally(Role role, Stage stage) : role_(role), stage_(stage) {}

	Verdict judge(const Bytes &bytes)
	{
		const Verdict verdict = test::judge(role_, stage_, bytes);

		verdicts_[static_cast<std::size_t>(verdict)]++;
		all_++;
		return verdict;
	}

	// Each byte changed, and cut short before it.
	void judge_changed(const Bytes &good)
	{
		Bytes bad = good;

		bad[0] ^= std::byte{0x20}; // the other version
		EXPECT_NE(judge(bad), Verdict::kAccepted);
		for (std::size_t at = 0; at < good.size() && !::testing::Test::HasFailure(); at++) {
			SCOPED_TRACE(at);
			for (const unsigned value : smc::testing::kByteValues) {
				SCOPED_TRACE(value);
				bad = good;
				bad[at] = static_cast<std::byte>(value);
				(void)judge(bad);
			}
			bad = good;
			bad.resize(at);
			EXPECT_EQ(judge(bad), Verdict::kViolation);
		}
	}

	[[nodiscard]] std::uint32_t all() const { return all_; }
	[[nodiscard]] std::uint32_t of(Verdict verdict) const
	{
		return verdicts_[static_cast<std::size_t>(verdict)];
	}

private:
	Role role_;
	Stage stage_;
	std::array<std::uint32_t, 3> verdicts_{};
	std::uint32_t all_ = 0;
};

TEST(Hostile, EachByteOfEachLlcMessageInEachRoleAndStage)
{
	constexpr std::array kStages = {Stage::kConfirming, Stage::kActive, Stage::kAnnouncing,
					Stage::kDeleting};
	std::array<bool, golden::kLlcMessages.size()> accepted{};

	for (const Role role : {Role::kClient, Role::kServer}) {
		SCOPED_TRACE(role == Role::kServer ? "server" : "client");
		for (const Stage stage : kStages) {
			SCOPED_TRACE(static_cast<int>(stage));
			Tally tally(role, stage);

			for (std::size_t i = 0; i < golden::kLlcMessages.size(); i++) {
				SCOPED_TRACE(i);
				const Bytes good = from_hex(golden::kLlcMessages[i]);

				if (tally.judge(good) == Verdict::kAccepted)
					accepted[i] = true;
				tally.judge_changed(good);
			}
			// Some are accepted, and some refused.
			EXPECT_GE(tally.of(Verdict::kAccepted), tally.all() / 30);
			EXPECT_GE(tally.of(Verdict::kIgnored), tally.all() / 100);
			EXPECT_GE(tally.of(Verdict::kViolation), tally.all() / 5);
		}
	}
	for (std::size_t i = 0; i < accepted.size(); i++)
		EXPECT_TRUE(accepted[i]) << "message " << i << " is of no use to anybody";
}

} // namespace
} // namespace smc::group::test
