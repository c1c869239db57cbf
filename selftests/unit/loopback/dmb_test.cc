// SPDX-License-Identifier: GPL-2.0-only
//
// Who owns a DMB, and until when. The kernel's account of memory for rings is a double.
#include "shell/transport/loopback/dmb.cc"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "doubles/memory.hpp"
#include "doubles/net.hpp"
#include "kernel/abi/stats.h"

struct sock {
	struct net *net;
	u64 group = 0;
};

namespace {

size_t ring_bytes_max = SIZE_MAX;
size_t rings_bytes_max = SIZE_MAX;
size_t rings_bytes = 0;
bool rings_are_many = false;

} // namespace

void *smc_ring_alloc(struct sock *, size_t size_bytes, bool)
{
	if (size_bytes > ring_bytes_max || rings_bytes + size_bytes > rings_bytes_max)
		return nullptr;
	void *ring = smc_mem_alloc(size_bytes);
	rings_bytes += ring != nullptr ? size_bytes : 0;
	if (ring != nullptr)
		std::memset(ring, 0, size_bytes);
	return ring;
}

void smc_ring_free(void *ring, size_t size_bytes)
{
	rings_bytes -= size_bytes;
	smc_mem_free(ring);
}

bool smc_rings_are_many()
{
	return rings_are_many;
}

u64 smc_ring_group(const struct sock *sk)
{
	return sk->group;
}

net *smc_sk_net(const struct sock *sk)
{
	return sk->net;
}

namespace smc::transport::loopback {
namespace {

using doubles::memory;

constexpr wire::BufferSize kSmall{0};
constexpr wire::BufferSize kMiddle{1};
constexpr wire::BufferSize kLarge{DmbPool::kKeptCodeMax + 1};

s64 made(net &net)
{
	return net.stats[SMC_STAT_BUF_NEW];
}

s64 freed(net &net)
{
	return net.stats[SMC_STAT_BUF_FREE];
}

bool is_zero(const Dmb &dmb)
{
	return std::all_of(dmb.data(), dmb.data() + dmb.size().bytes(),
			   [](std::byte byte) { return byte == std::byte{}; });
}

TEST(DmbPool, KeepsSmallOnesInTheirNamespace)
{
	net here;
	net there;
	sock sk{&here};
	sock other{&there};
	{
		DmbPool pool;
		Dmb *dmb = pool.take(&sk, kSmall);
		ASSERT_NE(dmb, nullptr);
		dmb->data()[100] = std::byte{1};
		pool.give_back(dmb, 101);
		Dmb *another = pool.take(&other, kSmall);
		EXPECT_NE(another, dmb);
		EXPECT_EQ(pool.take(&sk, kSmall), dmb);
		EXPECT_TRUE(is_zero(*dmb));
		pool.give_back(dmb, 0);
		pool.give_back(another, 0);
		EXPECT_EQ(made(here), 1);
		EXPECT_EQ(freed(here), 0);
	}
	EXPECT_EQ(freed(here), 1);
	EXPECT_EQ(freed(there), 1);
	EXPECT_EQ(memory().allocated, 0);
}

TEST(DmbPool, KeepsThemInTheirMemoryCgroup)
{
	net here;
	sock sk{&here, 1};
	sock other{&here, 2};
	DmbPool pool;
	Dmb *dmb = pool.take(&sk, kSmall);

	ASSERT_NE(dmb, nullptr);
	pool.give_back(dmb, 0);
	Dmb *another = pool.take(&other, kSmall);
	EXPECT_NE(another, dmb) << "charged to who does not use it";
	pool.give_back(another, 0);
	EXPECT_EQ(pool.take(&sk, kSmall), dmb);
	pool.give_back(dmb, 0);
}

// Cgroups come and go: a full pool frees the rings that it keeps for former ones.
TEST(DmbPool, WhatNobodyAsksForGivesWay)
{
	net here;
	{
		DmbPool pool;
		for (u64 group = 1; group <= 3 * u64{DmbPool::kKeepMax}; group++) {
			sock sk{&here, group};
			Dmb *dmb = pool.take(&sk, kSmall);
			ASSERT_NE(dmb, nullptr);
			pool.give_back(dmb, 0);
			EXPECT_EQ(pool.take(&sk, kSmall), dmb);
			pool.give_back(dmb, 0);
		}
		EXPECT_EQ(made(here) - freed(here), DmbPool::kKeepMax);
		EXPECT_EQ(memory().allocated, 2 * static_cast<int>(DmbPool::kKeepMax));
	}
	EXPECT_EQ(made(here), freed(here));
	EXPECT_EQ(memory().allocated, 0);
}

TEST(DmbPool, LargeOnesAreNotKept)
{
	net here;
	sock sk{&here};
	DmbPool pool;
	Dmb *dmb = pool.take(&sk, kLarge);

	ASSERT_NE(dmb, nullptr);
	pool.give_back(dmb, 0);
	EXPECT_EQ(freed(here), 1);
	EXPECT_EQ(memory().allocated, 0);
}

// A container is deleted while the other end of its last connection, outside of it, is open.
TEST(DmbPool, OneInUseOutlivesItsNamespace)
{
	for (const wire::BufferSize size : {kSmall, kLarge}) {
		net here;
		net there;
		sock sk{&here};
		sock other{&there};
		{
			DmbPool pool;
			Dmb *dmb = pool.take(&sk, size);
			Dmb *kept = pool.take(&sk, kSmall);
			Dmb *others = pool.take(&other, size);
			ASSERT_TRUE(dmb != nullptr && kept != nullptr && others != nullptr);
			pool.give_back(kept, 0);
			pool.drop(&here);
			here.gone = true;
			EXPECT_EQ(made(here), 2);
			EXPECT_EQ(freed(here), 2);
			EXPECT_EQ(freed(there), 0);
			const int before = memory().allocated;
			pool.give_back(dmb, 10);
			EXPECT_EQ(memory().allocated, before - 2) << "it is kept, for nobody";
			pool.give_back(others, 10);
		}
		EXPECT_EQ(freed(there), 1);
		EXPECT_EQ(memory().allocated, 0);
	}
}

// The last two connections of a container end while it is deleted.
TEST(DmbPool, OneThatComesBackWhileOthersAreDroppedIsNotKept)
{
	net here;
	sock sk{&here};
	{
		DmbPool pool;
		Dmb *lent = pool.take(&sk, kSmall);
		Dmb *kept = pool.take(&sk, kMiddle);
		ASSERT_TRUE(lent != nullptr && kept != nullptr);
		pool.give_back(kept, 0);
		memory().meanwhile = [&pool, lent] { pool.give_back(lent, 10); };
		pool.drop(&here);
		EXPECT_EQ(memory().meanwhile, nullptr);
		EXPECT_EQ(freed(here), 2);
		EXPECT_EQ(memory().allocated, 0);
		here.gone = true;
	}
	EXPECT_EQ(memory().allocated, 0);
}

TEST(DmbPool, WithoutMemoryThereIsNone)
{
	net here;
	sock sk{&here};
	DmbPool pool;

	memory().allocations_left = 0;
	EXPECT_EQ(pool.take(&sk, kLarge), nullptr);
	memory().allocations_left = -1;
	EXPECT_EQ(made(here), 0);
}

// Pooled rings may use a part of the memory for rings.
TEST(DmbPool, KeptOnesGiveWayToWhatIsWanted)
{
	net here;
	sock sk{&here, 1};
	sock other{&here, 2};
	{
		DmbPool pool;
		Dmb *one = pool.take(&sk, kMiddle);
		ASSERT_NE(one, nullptr);
		pool.give_back(one, 0);
		rings_bytes_max = kMiddle.bytes();
		EXPECT_EQ(pool.take_spare(&other, kMiddle), nullptr) << "of use, not needed";
		Dmb *another = pool.take(&other, kMiddle);
		rings_bytes_max = SIZE_MAX;
		ASSERT_NE(another, nullptr);
		EXPECT_EQ(another->size(), kMiddle);
		pool.give_back(another, 0);
	}
	EXPECT_EQ(made(here), 2);
	EXPECT_EQ(freed(here), 2);
	EXPECT_EQ(rings_bytes, 0U);
}

TEST(DmbPool, NoneIsKeptWhileMemoryIsScarce)
{
	net here;
	sock sk{&here};
	DmbPool pool;
	Dmb *dmb = pool.take(&sk, kSmall);

	ASSERT_NE(dmb, nullptr);
	rings_are_many = true;
	pool.give_back(dmb, 0);
	rings_are_many = false;
	EXPECT_EQ(freed(here), 1);
	EXPECT_EQ(rings_bytes, 0U);
}

// A connection starts with a smaller ring than it asked for; a ring grows fully or not at all.
TEST(DmbPool, WithLittleMemoryOnlyTheFirstOneIsSmaller)
{
	net here;
	sock sk{&here};
	DmbPool pool;

	ring_bytes_max = kSmall.bytes();
	EXPECT_EQ(pool.take_spare(&sk, kLarge), nullptr);
	EXPECT_EQ(made(here), 0);
	Dmb *dmb = pool.take(&sk, kLarge);
	ring_bytes_max = SIZE_MAX;
	ASSERT_NE(dmb, nullptr);
	EXPECT_EQ(dmb->size(), kSmall);
	pool.give_back(dmb, 0);
	dmb = pool.take_spare(&sk, kLarge);
	ASSERT_NE(dmb, nullptr);
	EXPECT_EQ(dmb->size(), kLarge);
	pool.give_back(dmb, 0);
}

} // namespace
} // namespace smc::transport::loopback
