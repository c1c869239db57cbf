// SPDX-License-Identifier: GPL-2.0-only
//
// Whom a link waits for before it is ready. Devices and routes are doubles.
#include "shell/transport/rdma/link_roce.cc"

#include <gtest/gtest.h>

#include <optional>

namespace {

// No route, if there is none.
std::optional<bool> route_uses_gateway;
bool gateway_answers = true;
int waits = 0;

} // namespace

int smc_ib_route_lookup(smc_ib_device *, u8, const struct smc_ib_gid *, const u8 *,
			bool *uses_gateway)
{
	*uses_gateway = route_uses_gateway.value_or(false);
	return route_uses_gateway ? 0 : -101;
}

int smc_ib_route_resolve(smc_ib_device *, u8, const struct smc_ib_gid *, const u8 *, u32,
			 struct smc_ib_route *out)
{
	waits++;
	*out = {};
	return gateway_answers ? 0 : -113;
}

void smc_ib_device_get(smc_ib_device *) {}

void smc_ib_device_put(smc_ib_device *) {}

bool smc_ib_device_iwarp(const smc_ib_device *)
{
	return false;
}

u32 smc_ib_link_qpn(const smc_ib_link *)
{
	return 0;
}

int smc_ib_link_to_rtr(smc_ib_link *, const struct smc_ib_path *)
{
	return 0;
}

int smc_ib_link_to_rts(smc_ib_link *, u32)
{
	return 0;
}

void smc_mutex_init(smc_mutex *, smc_lock_class) {}

void smc_mutex_lock(smc_mutex *) {}

void smc_mutex_unlock(smc_mutex *) {}

namespace smc::transport::rdma {

Link::~Link() = default;

wire::Mac Port::wire_mac() const
{
	return {};
}

wire::Gid Port::wire_gid() const
{
	return {};
}

group::LinkIdentity Link::identity_of_iwarp(const smc_ib_link *) const
{
	return {};
}

Result<void, wire::DeclineReason> Link::meet_by_manager(const group::LinkEnd &, Ready,
							const shell::Mutex &) const
{
	return fail(wire::DeclineReason::kIntErr);
}

namespace {

class LinkRoceTest : public ::testing::Test {
protected:
	void SetUp() override
	{
		route_uses_gateway = true;
		gateway_answers = true;
		waits = 0;
		for (std::size_t i = 0; i < 2; i++)
			peer_.identity.gid.bytes[10 + i] = 0xff;
		peer_.identity.gid.bytes[15] = 1;
	}

	// Why it is not ready. The queue pair is gone; so that is why, if nothing else is.
	[[nodiscard]] wire::DeclineReason meet(bool direct)
	{
		const auto met = link_.meet(peer_, direct, Link::Ready::kToSend, setup_);

		EXPECT_FALSE(met);
		return met.error();
	}

	group::LinkEnd peer_;
	// Whose group it is nobody asks.
	alignas(LinkGroup *) std::byte group_[sizeof(LinkGroup *)];
	Link link_{reinterpret_cast<LinkGroup &>(group_), 0};
	shell::Mutex setup_{SMC_LOCK_GROUP_SETUP};
};

TEST_F(LinkRoceTest, AGatewayIsWaitedFor)
{
	EXPECT_EQ(meet(/*direct=*/false), wire::DeclineReason::kErrRdyLnk);
	EXPECT_EQ(waits, 1);
	gateway_answers = false;
	EXPECT_EQ(meet(/*direct=*/false), wire::DeclineReason::kNoRoute);
	EXPECT_EQ(waits, 2);
}

TEST_F(LinkRoceTest, WithoutARouteNobodyIsWaitedFor)
{
	route_uses_gateway.reset();
	EXPECT_EQ(meet(/*direct=*/false), wire::DeclineReason::kNoRoute);
	EXPECT_EQ(waits, 0);
}

// It may have named a GID that nobody has.
TEST_F(LinkRoceTest, APeerIsNotWaitedFor)
{
	gateway_answers = false;
	EXPECT_EQ(meet(/*direct=*/true), wire::DeclineReason::kErrRdyLnk);
	route_uses_gateway = false;
	EXPECT_EQ(meet(/*direct=*/false), wire::DeclineReason::kErrRdyLnk);
	EXPECT_EQ(waits, 0);
}

} // namespace
} // namespace smc::transport::rdma
