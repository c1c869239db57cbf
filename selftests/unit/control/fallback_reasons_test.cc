// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/fallback_reasons.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <thread>
#include <vector>

namespace smc::control {
namespace {

TEST(FallbackReasonsTest, SlotsInOrderOfFirstUse)
{
	FallbackReasons reasons;
	EXPECT_EQ(reasons.reason_at(0), std::nullopt);
	EXPECT_EQ(reasons.slot_of(0x03010000), 0u);
	EXPECT_EQ(reasons.slot_of(0x05000000), 1u);
	EXPECT_EQ(reasons.slot_of(0x03010000), 0u);
	EXPECT_EQ(reasons.reason_at(0), 0x03010000u);
	EXPECT_EQ(reasons.reason_at(1), 0x05000000u);
	EXPECT_EQ(reasons.reason_at(2), std::nullopt);
}

TEST(FallbackReasonsTest, NoReasonIsOther)
{
	FallbackReasons reasons;
	EXPECT_EQ(reasons.slot_of(0), FallbackReasons::kOther);
	EXPECT_EQ(reasons.reason_at(0), std::nullopt);
}

TEST(FallbackReasonsTest, LateReasonsShareOther)
{
	FallbackReasons reasons;
	for (std::uint32_t i = 0; i < FallbackReasons::kCapacity; i++)
		EXPECT_EQ(reasons.slot_of(i + 1), i);
	EXPECT_EQ(reasons.slot_of(0xffffffff), FallbackReasons::kOther);
	EXPECT_EQ(reasons.slot_of(0xfffffffe), FallbackReasons::kOther);
	EXPECT_EQ(reasons.slot_of(64), 63u);
	EXPECT_EQ(reasons.reason_at(FallbackReasons::kCapacity), std::nullopt);
}

TEST(FallbackReasonsTest, ThreadsAgreeOnTheSlot)
{
	constexpr std::size_t kThreads = 4;
	constexpr std::uint32_t kCodes = 50;
	FallbackReasons reasons;
	std::array<std::map<std::uint32_t, std::size_t>, kThreads> seen;

	std::vector<std::thread> threads;
	for (std::size_t t = 0; t < kThreads; t++) {
		threads.emplace_back([&reasons, &mine = seen[t], t] {
			for (std::uint32_t i = 0; i < kCodes; i++) {
				const std::uint32_t code =
					1 + (i * 7 + static_cast<std::uint32_t>(t) * 13) % kCodes;
				mine[code] = reasons.slot_of(code);
			}
		});
	}
	for (std::thread &thread : threads)
		thread.join();

	for (std::size_t t = 1; t < kThreads; t++)
		EXPECT_EQ(seen[t], seen[0]);
	for (const auto &[code, slot] : seen[0])
		EXPECT_EQ(reasons.reason_at(slot), code);
	EXPECT_EQ(reasons.reason_at(kCodes), std::nullopt);
}

} // namespace
} // namespace smc::control
