// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/pnet_table.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace smc::control {
namespace {

std::string text(const PnetId &id)
{
	return {id.bytes().begin(), id.bytes().begin() + static_cast<long>(id.length())};
}

TEST(PnetIdTest, UpperCasesAndTrims)
{
	const auto id = PnetId::parse("  net1a \t\n");
	ASSERT_TRUE(id);
	EXPECT_EQ(text(*id), "NET1A");
	EXPECT_EQ(std::string(id->bytes().begin(), id->bytes().end()), "NET1A           ");
	EXPECT_EQ(*id, *PnetId::parse("NET1A"));
	EXPECT_NE(*id, *PnetId::parse("NET1"));
}

TEST(PnetIdTest, TakesSixteenCharactersAndNoMore)
{
	const auto id = PnetId::parse("ABCDEFGHIJKLMNOP");
	ASSERT_TRUE(id);
	EXPECT_EQ(id->length(), 16u);
	EXPECT_FALSE(PnetId::parse("ABCDEFGHIJKLMNOPQ"));
	EXPECT_TRUE(PnetId::parse("ABCDEFGHIJKLMNOP    "));
}

TEST(PnetIdTest, RefusesAllButLettersAndDigits)
{
	EXPECT_FALSE(PnetId::parse(""));
	EXPECT_FALSE(PnetId::parse("   "));
	EXPECT_FALSE(PnetId::parse("A B"));
	EXPECT_FALSE(PnetId::parse("A-B"));
	EXPECT_FALSE(PnetId::parse("A.B"));
	EXPECT_FALSE(PnetId::parse("\xc4\x42"));
	EXPECT_FALSE(PnetId::parse(std::string_view("A\0B", 3)));
	for (int c = 0; c < 256; c++) {
		const char text[] = {'X', static_cast<char>(c), 'X'};
		const bool alnum =
			(c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
		EXPECT_EQ(PnetId::parse({text, 3}).has_value(), alnum) << c;
	}
}

TEST(PnetTargetTest, ChecksNamesAndPorts)
{
	EXPECT_TRUE(PnetTarget::eth("eth0"));
	EXPECT_TRUE(PnetTarget::eth(std::string(15, 'e')));
	EXPECT_FALSE(PnetTarget::eth(std::string(16, 'e')));
	EXPECT_FALSE(PnetTarget::eth(""));
	EXPECT_FALSE(PnetTarget::eth(std::string_view("a\0b", 3)));
	EXPECT_TRUE(PnetTarget::ib(std::string(63, 'm'), 1));
	EXPECT_FALSE(PnetTarget::ib(std::string(64, 'm'), 1));
	EXPECT_FALSE(PnetTarget::ib("mlx5_0", 0));
	EXPECT_TRUE(PnetTarget::ib("mlx5_0", 2));
	EXPECT_FALSE(PnetTarget::ib("mlx5_0", 3));
}

class PnetTableTest : public testing::Test {
protected:
	PnetTable::Added add_eth(std::string_view id, std::string_view name)
	{
		entries_.emplace_back(*PnetId::parse(id), *PnetTarget::eth(name));
		return table_.add(entries_.back());
	}
	PnetTable::Added add_ib(std::string_view id, std::string_view name, std::uint8_t port)
	{
		entries_.emplace_back(*PnetId::parse(id), *PnetTarget::ib(name, port));
		return table_.add(entries_.back());
	}
	// "ID:device" of every entry with @id, by the cursor walk that a dump does.
	std::vector<std::string> walk(const PnetId *id = nullptr) const
	{
		std::vector<std::string> rows;
		std::uint64_t cursor = 0;
		while (const PnetEntry *entry = table_.next(cursor, id)) {
			cursor = entry->serial();
			rows.push_back(text(entry->id()) + ":" +
				       std::string(entry->target().name()));
		}
		return rows;
	}

	PnetTable table_;
	std::deque<PnetEntry> entries_;
};

using Rows = std::vector<std::string>;

TEST_F(PnetTableTest, KeepsOrderOfArrival)
{
	EXPECT_EQ(walk(), Rows{});
	EXPECT_EQ(add_eth("NET1", "eth0"), PnetTable::Added::kYes);
	EXPECT_EQ(add_ib("NET1", "mlx5_0", 1), PnetTable::Added::kYes);
	EXPECT_EQ(add_eth("NET2", "eth1"), PnetTable::Added::kYes);
	EXPECT_EQ(walk(), (Rows{"NET1:eth0", "NET1:mlx5_0", "NET2:eth1"}));
	const auto net1 = PnetId::parse("net1");
	EXPECT_EQ(walk(&*net1), (Rows{"NET1:eth0", "NET1:mlx5_0"}));
	EXPECT_EQ(table_.size(), 3u);
}

TEST_F(PnetTableTest, OneEntryPerDeviceAndPort)
{
	EXPECT_EQ(add_eth("NET1", "dev"), PnetTable::Added::kYes);
	EXPECT_EQ(add_eth("NET1", "dev"), PnetTable::Added::kExists);
	EXPECT_EQ(add_eth("NET2", "dev"), PnetTable::Added::kExists);
	// A network device and an RDMA device of the same name are different, and so are two ports.
	EXPECT_EQ(add_ib("NET1", "dev", 1), PnetTable::Added::kYes);
	EXPECT_EQ(add_ib("NET2", "dev", 2), PnetTable::Added::kYes);
	EXPECT_EQ(add_ib("NET3", "dev", 2), PnetTable::Added::kExists);
	EXPECT_EQ(table_.size(), 3u);
}

TEST_F(PnetTableTest, FindsByDevice)
{
	add_eth("NET1", "eth0");
	add_ib("NET2", "mlx5_0", 1);
	add_ib("NET3", "0000:01:00.1", 2);

	ASSERT_TRUE(table_.of_eth("eth0"));
	EXPECT_EQ(text(*table_.of_eth("eth0")), "NET1");
	EXPECT_FALSE(table_.of_eth("eth"));
	EXPECT_FALSE(table_.of_eth("eth00"));
	EXPECT_FALSE(table_.of_eth("mlx5_0"));
	EXPECT_FALSE(table_.of_eth(""));

	EXPECT_EQ(text(*table_.of_ib("mlx5_0", "0000:01:00.0", 1)), "NET2");
	EXPECT_EQ(text(*table_.of_ib("mlx5_1", "0000:01:00.1", 2)), "NET3");
	EXPECT_FALSE(table_.of_ib("mlx5_0", "", 2));
	EXPECT_FALSE(table_.of_ib("eth0", "", 1));
	EXPECT_FALSE(table_.of_ib("eth0", "eth0", 0));
	EXPECT_FALSE(table_.of_ib("", "", 1));
}

TEST_F(PnetTableTest, TakesOutByIdOrAll)
{
	add_eth("NET1", "eth0");
	add_eth("NET2", "eth1");
	add_ib("NET1", "mlx5_0", 1);
	add_eth("NET2", "eth2");

	const auto net1 = PnetId::parse("NET1");
	EXPECT_EQ(table_.take(&*net1), &entries_[0]);
	EXPECT_EQ(table_.take(&*net1), &entries_[2]);
	EXPECT_EQ(table_.take(&*net1), nullptr);
	EXPECT_EQ(walk(), (Rows{"NET2:eth1", "NET2:eth2"}));

	EXPECT_EQ(table_.take(nullptr), &entries_[1]);
	EXPECT_EQ(table_.take(nullptr), &entries_[3]);
	EXPECT_EQ(table_.take(nullptr), nullptr);
	EXPECT_EQ(table_.size(), 0u);

	// The list's end pointer changes when the last entry is removed.
	EXPECT_EQ(add_eth("NET9", "eth0"), PnetTable::Added::kYes);
	EXPECT_EQ(walk(), Rows{"NET9:eth0"});
}

TEST_F(PnetTableTest, AppendsBehindARemovedTail)
{
	add_eth("NET1", "eth0");
	add_eth("NET2", "eth1");
	const auto net2 = PnetId::parse("NET2");
	ASSERT_TRUE(table_.take(&*net2));
	add_eth("NET3", "eth2");
	EXPECT_EQ(walk(), (Rows{"NET1:eth0", "NET3:eth2"}));
}

TEST_F(PnetTableTest, WalkSurvivesChangesBehindItsBack)
{
	for (int i = 0; i < 6; i++)
		add_eth("NET" + std::to_string(i), "eth" + std::to_string(i));
	std::uint64_t cursor = table_.next(0, nullptr)->serial();
	cursor = table_.next(cursor, nullptr)->serial(); // stands on eth1

	for (const char *gone : {"NET0", "NET1", "NET2"}) {
		const auto id = PnetId::parse(gone);
		ASSERT_TRUE(table_.take(&*id));
	}
	add_eth("NEW", "eth1");

	Rows rest;
	while (const PnetEntry *entry = table_.next(cursor, nullptr)) {
		cursor = entry->serial();
		rest.emplace_back(entry->target().name());
	}
	// Every entry that stayed is seen exactly once.
	EXPECT_EQ(rest, (Rows{"eth3", "eth4", "eth5", "eth1"}));
}

TEST_F(PnetTableTest, IsBounded)
{
	for (std::size_t i = 0; i < PnetTable::kCapacity; i++)
		ASSERT_EQ(add_eth("NET", "e" + std::to_string(i)), PnetTable::Added::kYes);
	EXPECT_EQ(table_.room(), 0u);
	EXPECT_EQ(add_eth("NET", "straw"), PnetTable::Added::kFull);
	EXPECT_EQ(add_eth("NET", "e7"), PnetTable::Added::kExists);
	EXPECT_FALSE(table_.of_eth("straw"));

	ASSERT_TRUE(table_.take(nullptr));
	EXPECT_EQ(add_eth("NET", "straw"), PnetTable::Added::kYes);
	EXPECT_EQ(walk().size(), PnetTable::kCapacity);
}

} // namespace
} // namespace smc::control
