// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <random>

#include "effort.hpp"
#include "group/member.hpp"
#include "wire/golden.hpp"

// Anything may arrive, in any order, on any link. What Member checks at each step has to hold, a
// request gets one answer at most, and the timer comes to rest.
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
		case 5: member.deliver(CancelFlow{fate.below(next_flow)}); break;
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
			// What was sent comes back, with and without the response flag.
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

TEST(Hostile, EachByteOfEachMessageInEachRole)
{
	for (const Role role : {Role::kClient, Role::kServer}) {
		for (const auto hex : golden::kLlcMessages) {
			const Bytes good = from_hex(hex);
			for (std::size_t at = 0; at < good.size(); at++) {
				for (const unsigned value : smc::testing::kByteValues) {
					Member member = active_member(role);
					Bytes bad = good;
					bad[at] = static_cast<std::byte>(value);
					member.receive(bad);
					EXPECT_LE(member.sent(), 1U);
				}
			}
			for (std::size_t length = 0; length < good.size(); length++) {
				Member member = active_member(role);
				member.receive(
					Bytes(good.begin(),
					      good.begin() + static_cast<std::ptrdiff_t>(length)));
				EXPECT_LE(member.sent(), 1U);
			}
		}
	}
}

} // namespace
} // namespace smc::group::test
