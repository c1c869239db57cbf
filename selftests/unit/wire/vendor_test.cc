// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "core/wire/vendor.hpp"

namespace smc::wire {
namespace {

TEST(VendorTest, OfferAndAnswer)
{
	SmcdV1Area area;

	offer(0x1203, area);
	EXPECT_EQ(area.vendor_oui, (std::array<std::uint8_t, 3>{0x02, 0x53, 0x4d}));
	EXPECT_EQ(area.vendor_options, (std::array<std::uint8_t, 5>{1, 0x12, 0x03, 0, 0}));
	EXPECT_EQ(offered(area), 0x1203);
	EXPECT_EQ(vendor_answer(0x1203), 0x80001203u);
	EXPECT_EQ(answered(0x80001203), 0x1203);
}

TEST(VendorTest, NothingToOffer)
{
	SmcdV1Area area;

	offer(0, area);
	EXPECT_EQ(area, SmcdV1Area{});
	EXPECT_EQ(offered(area), 0);
	EXPECT_EQ(vendor_answer(0), 0u);
	EXPECT_EQ(answered(0), 0);
}

TEST(VendorTest, OthersAreNotUnderstood)
{
	SmcdV1Area area;

	offer(0xffff, area);
	area.vendor_oui[2]++;
	EXPECT_EQ(offered(area), 0);
	area.vendor_oui = kVendorOui;
	area.vendor_options[0]++;
	EXPECT_EQ(offered(area), 0);
	EXPECT_EQ(answered(0x7fffffff), 0);
	// Alibaba's server, which answers so only where its own OUI was offered.
	EXPECT_EQ(answered(0x20000000), 0);
}

} // namespace
} // namespace smc::wire
