// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/ring_queue.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace smc::group {
namespace {

TEST(RingQueue, KeepsOrderAcrossTheWrap)
{
	RingQueue<int, 3> queue;
	std::deque<int> model;
	int next = 1;

	for (int round = 0; round < 50; round++) {
		const int pushes = round % 5;
		for (int i = 0; i < pushes; i++, next++) {
			EXPECT_EQ(queue.push(next), model.size() < 3);
			if (model.size() < 3)
				model.push_back(next);
		}
		ASSERT_EQ(queue.size(), model.size());
		for (std::size_t i = 0; i < model.size(); i++)
			EXPECT_EQ(queue[i], model[i]);
		for (int i = 0; i < 2 && !model.empty(); i++) {
			EXPECT_EQ(queue.front(), model.front());
			queue.pop();
			model.pop_front();
		}
		EXPECT_EQ(queue.empty(), model.empty());
	}
}

TEST(RingQueue, TakesOneAtItsFront)
{
	RingQueue<int, 3> queue;

	EXPECT_TRUE(queue.push(2));
	EXPECT_TRUE(queue.push_front(1));
	EXPECT_TRUE(queue.push_front(0));
	EXPECT_FALSE(queue.push_front(7));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(queue.front(), i);
		queue.pop();
	}
	EXPECT_TRUE(queue.empty());
}

TEST(RingQueue, ErasesAnywhere)
{
	for (int shift = 0; shift < 4; shift++) {
		for (std::size_t victim = 0; victim < 4; victim++) {
			RingQueue<int, 4> queue;
			std::deque<int> model = {1, 2, 3, 4};

			for (int i = 0; i < shift; i++) {
				EXPECT_TRUE(queue.push(0));
				queue.pop();
			}
			for (const int item : model)
				EXPECT_TRUE(queue.push(item));
			queue.erase(victim);
			model.erase(model.begin() + static_cast<long>(victim));
			EXPECT_TRUE(queue.push(5));
			model.push_back(5);
			ASSERT_EQ(queue.size(), model.size());
			for (std::size_t i = 0; i < model.size(); i++)
				EXPECT_EQ(queue[i], model[i]);
		}
	}
}

} // namespace
} // namespace smc::group
