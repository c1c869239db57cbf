// SPDX-License-Identifier: GPL-2.0-only
//
// How many elements a slab gets, who gets one, and when a slab may go. Devices and the kernel's
// account of memory for rings are doubles.
#include "shell/transport/rdma/pool.cc"
#include "shell/transport/rdma/slab.cc"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "doubles/memory.hpp"
#include "doubles/net.hpp"
#include "doubles/spinlock.hpp"

struct sock {
	u64 group = 0;
};

struct smc_ib_buffer {
	std::vector<std::byte> bytes;
};

struct smc_ib_region {
	bool posted = false; // its registration is in the send queue
};

namespace {

u32 rmb_elements = 255;
bool rings_are_many = false;
u64 now_ms = 1;
size_t buffer_bytes_max = SIZE_MAX;
bool maps = false; // the device does

} // namespace

u32 smc_sysctl_smcr_buf_type(net *)
{
	return SMC_BUF_TYPE_PHYS;
}

u32 smc_sysctl_smcr_rmb_elements(net *)
{
	return rmb_elements;
}

bool smc_rings_are_many()
{
	return rings_are_many;
}

u64 smc_ring_group(const struct sock *sk)
{
	return sk != nullptr ? sk->group : 0;
}

u64 smc_now_ms()
{
	return now_ms;
}

void smc_mutex_init(smc_mutex *, smc_lock_class) {}

void smc_mutex_lock(smc_mutex *) {}

void smc_mutex_unlock(smc_mutex *) {}

int smc_ib_buffer_create(struct sock *, smc_ib_buffer_kind, size_t size_bytes, bool,
			 smc_ib_buffer **out)
{
	if (size_bytes > buffer_bytes_max)
		return -12;
	*out = new smc_ib_buffer{std::vector<std::byte>(size_bytes)};
	return 0;
}

void smc_ib_buffer_destroy(smc_ib_buffer *buffer)
{
	delete buffer;
}

void *smc_ib_buffer_data(const smc_ib_buffer *buffer)
{
	return const_cast<std::byte *>(buffer->bytes.data());
}

int smc_ib_region_create(smc_ib_link *, smc_ib_buffer *, smc_ib_region **out)
{
	if (!maps)
		return -12;
	*out = new smc_ib_region;
	return 0;
}

void smc_ib_region_destroy(smc_ib_region *region)
{
	EXPECT_FALSE(region->posted);
	delete region;
}

void smc_ib_region_info(const smc_ib_region *, struct smc_ib_region_info *) {}

bool smc_ib_region_posted(const smc_ib_region *region)
{
	return region->posted;
}

void smc_ib_device_put(smc_ib_device *) {}

void smc_ib_region_sync_for_cpu(const smc_ib_region *, u32, u32) {}

void smc_ib_region_sync_for_device(const smc_ib_region *, u32, u32) {}

namespace smc::transport::rdma {

Link::~Link() = default;

Registration Link::post_registration(smc_ib_region *region)
{
	region->posted = true;
	return Registration::kUnderWay;
}

namespace {

constexpr wire::BufferSize kSize{2};
constexpr u64 kDevice_bytes = 1U << 30;

class PoolTest : public ::testing::Test {
protected:
	void SetUp() override
	{
		rmb_elements = 255;
		rings_are_many = false;
		now_ms = 1;
		buffer_bytes_max = SIZE_MAX;
		maps = false;
	}
	void TearDown() override
	{
		EXPECT_EQ(doubles::memory().allocated, 0);
		EXPECT_EQ(net_.stats[SMC_STAT_BUF_NEW], net_.stats[SMC_STAT_BUF_FREE]);
	}

	[[nodiscard]] Buffer *take(Pool &pool) { return pool.take(&sk_, SMC_IB_BUFFER_RMB, kSize); }
	[[nodiscard]] std::vector<Buffer *> take(Pool &pool, int count)
	{
		std::vector<Buffer *> taken;

		for (int i = 0; i < count; i++) {
			taken.push_back(take(pool));
			EXPECT_NE(taken.back(), nullptr);
		}
		return taken;
	}
	static std::map<u64, int> sizes_of(const std::vector<Buffer *> &buffers)
	{
		std::set<const Slab *> slabs;
		std::map<u64, int> sizes; // elements → slabs

		for (const Buffer *buffer : buffers) {
			if (slabs.insert(&buffer->slab()).second)
				sizes[buffer->slab().bytes() / kSize.bytes()]++;
		}
		return sizes;
	}
	static void end(Pool &pool, const std::vector<Buffer *> &taken)
	{
		pool.close();
		for (Buffer *buffer : taken) {
			if (Slab *slab = pool.give_back(buffer, 0))
				pool.drop(slab);
		}
	}

	// Mapped on both links.
	[[nodiscard]] Buffer *take_mapped(Pool &pool)
	{
		Buffer *buffer = take(pool);

		maps = true;
		const shell::Guard guard(setup_);
		for (Link &link : links_)
			EXPECT_TRUE(buffer->slab().map(link, setup_));
		return buffer;
	}
	// When the next lock is given back.
	void register_all_meanwhile(Pool &pool, Link &link)
	{
		doubles::locks().meanwhile = [&pool, &link] { (void)pool.enable_all(link); };
	}

	net net_;
	sock sk_;
	// Whose group they are of nobody asks.
	alignas(LinkGroup *) std::byte group_[sizeof(LinkGroup *)];
	std::array<Link, 2> links_{Link{reinterpret_cast<LinkGroup &>(group_), 0},
				   Link{reinterpret_cast<LinkGroup &>(group_), 1}};
	shell::Mutex setup_{SMC_LOCK_GROUP_SETUP};
};

TEST_F(PoolTest, EachSlabIsLargerThanAllBefore)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 200);
	const std::map<u64, int> expected = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 6}};
	std::set<const std::byte *> places;

	EXPECT_EQ(sizes_of(taken), expected);
	EXPECT_EQ(pool.rmbs(), 11U);
	EXPECT_EQ(pool.bytes(SMC_IB_BUFFER_RMB), u64{223} * kSize.bytes());
	for (const Buffer *buffer : taken) {
		places.insert(buffer->data());
		EXPECT_EQ(buffer->data(),
			  buffer->slab().data() + u64{kSize.bytes()} * (buffer->rmbe_index() - 1U));
	}
	EXPECT_EQ(places.size(), taken.size());
	end(pool, taken);
}

TEST_F(PoolTest, OneElementWhereThatIsWanted)
{
	rmb_elements = 1;
	Pool alone(&net_, kDevice_bytes);
	const auto taken = take(alone, 40);

	EXPECT_EQ(sizes_of(taken), (std::map<u64, int>{{1, 40}}));
	end(alone, taken);
	rmb_elements = 3;
	Pool three(&net_, kDevice_bytes);
	const auto others = take(three, 40);
	EXPECT_EQ(sizes_of(others).rbegin()->first, 2U);
	end(three, others);
}

TEST_F(PoolTest, TheDeviceLimitsASlab)
{
	Pool pool(&net_, 5 * u64{kSize.bytes()});
	const auto taken = take(pool, 30);

	EXPECT_EQ(sizes_of(taken).rbegin()->first, 4U);
	end(pool, taken);
}

// There are never more than connections could use, and then some alone.
TEST_F(PoolTest, ElementsAreNoMoreThanPlaces)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, group::kRtokensMax + 10);

	EXPECT_EQ(pool.bytes(SMC_IB_BUFFER_RMB), u64{group::kRtokensMax + 10} * kSize.bytes());
	end(pool, taken);
}

TEST_F(PoolTest, SendBuffersAreAlone)
{
	Pool pool(&net_, kDevice_bytes);
	std::vector<Buffer *> taken;

	for (int i = 0; i < 20; i++)
		taken.push_back(pool.take(&sk_, SMC_IB_BUFFER_SEND, kSize));
	EXPECT_EQ(sizes_of(taken), (std::map<u64, int>{{1, 20}}));
	end(pool, taken);
}

TEST_F(PoolTest, WithLittleMemoryOneIsBetterThanNone)
{
	Pool pool(&net_, kDevice_bytes);
	auto taken = take(pool, 7);

	buffer_bytes_max = kSize.bytes();
	taken.push_back(take(pool));
	EXPECT_EQ(taken.back()->slab().bytes(), kSize.bytes());
	EXPECT_EQ(taken.back()->size(), kSize);
	buffer_bytes_max = SIZE_MAX;
	rings_are_many = true;
	taken.push_back(take(pool));
	EXPECT_EQ(taken.back()->slab().bytes(), kSize.bytes());
	end(pool, taken);
}

// The memory of a cgroup's programs is charged to it, and nobody else's.
TEST_F(PoolTest, CgroupsDoNotShareASlab)
{
	Pool pool(&net_, kDevice_bytes);
	sock other{.group = 1};
	auto taken = take(pool, 5);

	Buffer *first = pool.take(&other, SMC_IB_BUFFER_RMB, kSize);
	EXPECT_EQ(first->slab().bytes(), kSize.bytes());
	EXPECT_EQ(first->slab().memory_group(), 1U);
	taken.push_back(first);
	end(pool, taken);
}

TEST_F(PoolTest, TheFullestSlabGivesFirst)
{
	Pool pool(&net_, kDevice_bytes);
	auto taken = take(pool, 7); // of slabs with 1, 2 and 4
	const Slab *fuller = &taken[6]->slab();

	EXPECT_EQ(pool.give_back(taken[1], 0), nullptr);
	EXPECT_EQ(pool.give_back(taken[2], 0), nullptr);
	EXPECT_EQ(pool.give_back(taken[6], 0), nullptr);
	taken[6] = take(pool);
	EXPECT_EQ(&taken[6]->slab(), fuller);
	taken.erase(taken.begin() + 1, taken.begin() + 3);
	end(pool, taken);
}

TEST_F(PoolTest, OnlyItsOwnBytesAreZeroed)
{
	Pool pool(&net_, kDevice_bytes);
	auto taken = take(pool, 3);
	Buffer *a = taken[1];
	Buffer *b = taken[2];

	ASSERT_EQ(&a->slab(), &b->slab());
	a->data()[0] = a->data()[kSize.bytes() - 1] = std::byte{1};
	b->data()[0] = b->data()[kSize.bytes() - 1] = std::byte{2};
	EXPECT_EQ(pool.give_back(a, UINT32_MAX), nullptr);
	EXPECT_EQ(a->data()[0], std::byte{0});
	EXPECT_EQ(a->data()[kSize.bytes() - 1], std::byte{0});
	EXPECT_EQ(b->data()[0], std::byte{2});
	EXPECT_EQ(b->data()[kSize.bytes() - 1], std::byte{2});
	taken.erase(taken.begin() + 1);
	end(pool, taken);
}

// The peer may still write to one element: nobody gets it before the whole slab has been deleted,
// and that waits for the other's user.
TEST_F(PoolTest, AnElementInDoubtIsNotUsedAgain)
{
	Pool pool(&net_, kDevice_bytes);
	auto taken = take(pool, 3);
	Buffer *doubtful = taken[1];
	Slab *slab = &doubtful->slab();

	EXPECT_EQ(pool.doubt(doubtful), nullptr);
	Buffer *next = take(pool);
	EXPECT_NE(next, doubtful);
	EXPECT_NE(&next->slab(), slab);
	EXPECT_EQ(pool.give_back(taken[2], 0), slab);
	// Nobody gets an element of it any more.
	Buffer *another = take(pool);
	EXPECT_NE(&another->slab(), slab);
	EXPECT_EQ(pool.take_surplus(0), nullptr);
	EXPECT_FALSE(pool.keep(slab));
	const u32 rmbs = pool.rmbs();
	pool.drop(slab);
	EXPECT_EQ(pool.rmbs(), rmbs - 1);
	end(pool, {taken[0], next, another});
}

TEST_F(PoolTest, WithoutUsersASlabInDoubtIsDeletedAtOnce)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 3);

	EXPECT_EQ(pool.give_back(taken[2], 0), nullptr);
	Slab *slab = pool.doubt(taken[1]);
	EXPECT_EQ(slab, &taken[1]->slab());
	EXPECT_TRUE(pool.quarantine(slab));
	Buffer *next = take(pool);
	EXPECT_NE(&next->slab(), slab);
	end(pool, {taken[0], next});
}

// The peer must not be told that it goes.
TEST_F(PoolTest, WhatIsSetAsideStaysUntilTheGroupEnds)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 3);
	const u32 rmbs = pool.rmbs();

	pool.set_aside(taken[1]);
	EXPECT_EQ(pool.give_back(taken[2], 0), nullptr);
	EXPECT_EQ(pool.give_back(taken[0], 0), nullptr);
	now_ms += Pool::kStale_ms;
	while (Slab *slab = pool.take_surplus(0))
		pool.drop(slab);
	EXPECT_EQ(pool.rmbs(), rmbs - 1);
	pool.close();
	EXPECT_EQ(pool.rmbs(), 0U);
}

TEST_F(PoolTest, TheLastUserFreesWhatIsSetAsideBehindTheEnd)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 3);

	pool.close();
	pool.set_aside(taken[1]);
	EXPECT_EQ(pool.rmbs(), 2U);
	Slab *slab = pool.give_back(taken[2], 0);
	ASSERT_EQ(slab, &taken[1]->slab());
	EXPECT_TRUE(pool.keep(slab));
	EXPECT_EQ(pool.rmbs(), 1U);
	pool.set_aside(taken[0]);
	EXPECT_EQ(pool.rmbs(), 0U);
}

TEST_F(PoolTest, FewUnusedOnesAreKept)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 127); // 1 … 16, 3 × 32
	std::vector<Slab *> over;

	for (Buffer *buffer : taken) {
		if (Slab *slab = pool.give_back(buffer, 0))
			over.push_back(slab);
	}
	EXPECT_FALSE(over.empty());
	for (Slab *slab : over)
		pool.drop(slab);
	EXPECT_LE(pool.bytes(SMC_IB_BUFFER_RMB), u64{Pool::kKeepMax} * kSize.bytes());
	EXPECT_GE(pool.bytes(SMC_IB_BUFFER_RMB), u64{kSize.bytes()});
	pool.close();
}

// Those that rings grow to.
TEST_F(PoolTest, FewerLargeOnesAreKept)
{
	constexpr wire::BufferSize kGrown{5};
	constexpr u64 kKept_bytes = u64{Pool::keep_max(kGrown)} * kGrown.bytes();
	Pool pool(&net_, kDevice_bytes);
	std::vector<Buffer *> taken;
	std::vector<Slab *> over;

	static_assert(Pool::keep_max(kGrown) == 8 && Pool::keep_max(kSize) == Pool::kKeepMax);
	for (int i = 0; i < 40; i++)
		taken.push_back(pool.take(nullptr, SMC_IB_BUFFER_RMB, kGrown));
	for (Buffer *buffer : taken) {
		if (Slab *slab = pool.give_back(buffer, 0))
			over.push_back(slab);
	}
	for (Slab *slab : over)
		pool.drop(slab);
	EXPECT_LE(pool.bytes(SMC_IB_BUFFER_RMB), kKept_bytes);
	EXPECT_GE(pool.bytes(SMC_IB_BUFFER_RMB), u64{kGrown.bytes()});
	pool.close();
}

TEST_F(PoolTest, WithMemoryScarceNoneIsKept)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 3);

	EXPECT_EQ(pool.give_back(taken[1], 0), nullptr);
	rings_are_many = true;
	Slab *slab = pool.give_back(taken[2], 0);
	ASSERT_NE(slab, nullptr);
	// The peer could not be told of it: it stays, for later.
	EXPECT_TRUE(pool.keep(slab));
	EXPECT_EQ(pool.take_surplus(255), slab);
	pool.drop(slab);
	end(pool, {taken[0]});
}

TEST_F(PoolTest, StaleOnesGo)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 3);

	EXPECT_EQ(pool.give_back(taken[1], 0), nullptr);
	now_ms += Pool::kStale_ms;
	EXPECT_EQ(pool.take_surplus(255), nullptr);
	EXPECT_EQ(pool.give_back(taken[2], 0), nullptr);
	now_ms += Pool::kStale_ms - 1;
	EXPECT_EQ(pool.take_surplus(255), nullptr);
	now_ms++;
	Slab *slab = pool.take_surplus(255);
	EXPECT_EQ(slab, &taken[1]->slab());
	pool.drop(slab);
	end(pool, {taken[0]});
}

// A device that could not map one of many elements gets them one by one.
TEST_F(PoolTest, ASlabThatIsTurnedDownIsTheLastLargeOne)
{
	Pool pool(&net_, kDevice_bytes);
	auto taken = take(pool, 4);
	Slab *slab = pool.turn_down(taken[3]);

	ASSERT_EQ(slab, &taken[3]->slab());
	EXPECT_EQ(slab->bytes(), 4 * u64{kSize.bytes()});
	pool.drop(slab);
	taken[3] = take(pool);
	EXPECT_EQ(taken[3]->slab().bytes(), kSize.bytes());
	EXPECT_EQ(pool.turn_down(taken[1]), nullptr);
	taken.erase(taken.begin() + 1);
	end(pool, taken);
}

// Who could map it before may use it to the end, but nobody else.
TEST_F(PoolTest, ElementsOfOneThatIsTurnedDownAreNotUsedAgain)
{
	Pool pool(&net_, kDevice_bytes);
	auto taken = take(pool, 3);
	Slab &slab = taken[1]->slab();

	ASSERT_EQ(&taken[2]->slab(), &slab);
	EXPECT_EQ(pool.turn_down(taken[1]), nullptr);
	taken[1] = take(pool);
	EXPECT_NE(&taken[1]->slab(), &slab);
	EXPECT_EQ(pool.give_back(taken[2], 0), &slab);
	pool.drop(&slab);
	taken[2] = take(pool);
	EXPECT_EQ(taken[2]->slab().bytes(), kSize.bytes());
	end(pool, taken);
}

// A link is being added, and its completions go on with the registration of all slabs.
TEST_F(PoolTest, NoLinkRegistersWhatIsFreed)
{
	Pool pool(&net_, kDevice_bytes);
	Slab *slab = pool.doubt(take_mapped(pool));

	ASSERT_NE(slab, nullptr);
	register_all_meanwhile(pool, links_[1]);
	pool.drop(slab);
	EXPECT_EQ(pool.rmbs(), 0U);
	EXPECT_EQ(pool.bytes(SMC_IB_BUFFER_RMB), 0U);
}

TEST_F(PoolTest, NoLinkRegistersWhatIsFreedLater)
{
	Pool pool(&net_, kDevice_bytes);
	Buffer *buffer = take_mapped(pool);
	smc_ib_region *first = buffer->slab().region(0);

	EXPECT_EQ(pool.enable_all(links_[0]), Registration::kUnderWay);
	pool.drop(pool.doubt(buffer));
	EXPECT_FALSE(pool.free_unused(false));
	EXPECT_EQ(pool.rmbs(), 1U);
	first->posted = false;
	register_all_meanwhile(pool, links_[1]);
	EXPECT_TRUE(pool.free_unused(false));
	EXPECT_EQ(pool.rmbs(), 0U);
}

TEST_F(PoolTest, WithoutMemoryThereIsNone)
{
	Pool pool(&net_, kDevice_bytes);
	const auto taken = take(pool, 3);

	for (int left = 0; left < 2; left++) {
		doubles::memory().allocations_left = left;
		EXPECT_EQ(take(pool), nullptr);
	}
	doubles::memory().allocations_left = -1;
	buffer_bytes_max = 0;
	EXPECT_EQ(take(pool), nullptr);
	end(pool, taken);
}

} // namespace
} // namespace smc::transport::rdma
