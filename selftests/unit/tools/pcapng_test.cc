// SPDX-License-Identifier: GPL-2.0-only
#include "smc_ctl/pcapng.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

using namespace smc_ctl;

namespace {

// What a reader of the same byte order sees.
struct Block {
	std::uint32_t type = 0;
	std::vector<std::uint8_t> body{};

	template <typename Number>
	[[nodiscard]] Number at(std::size_t offset) const
	{
		Number value{};

		EXPECT_LE(offset + sizeof(value), body.size());
		if (offset + sizeof(value) <= body.size())
			std::memcpy(&value, body.data() + offset, sizeof(value));
		return value;
	}
	// Of an option, which are from @offset on; "none" if there is no such.
	[[nodiscard]] std::string option(std::size_t offset, std::uint16_t code) const
	{
		while (offset + 4 <= body.size()) {
			const auto length = at<std::uint16_t>(offset + 2);

			if (at<std::uint16_t>(offset) == code)
				return {reinterpret_cast<const char *>(body.data()) + offset + 4,
					length};
			offset += 4 + (length + 3U) / 4 * 4;
		}
		return "none";
	}
};

class Pcapng : public testing::Test {
protected:
	Pcapng() : file_(open_memstream(&bytes_, &size_)) {}
	~Pcapng() override
	{
		if (file_ != nullptr)
			(void)std::fclose(file_);
		std::free(bytes_);
	}

	std::vector<Block> blocks()
	{
		std::vector<Block> found;
		std::size_t at = 0;

		(void)std::fflush(file_);
		while (at + 12 <= size_) {
			std::uint32_t type = 0, length = 0, again = 0;

			std::memcpy(&type, bytes_ + at, 4);
			std::memcpy(&length, bytes_ + at + 4, 4);
			if (length < 12 || length % 4 != 0 || length > size_ - at)
				break;
			std::memcpy(&again, bytes_ + at + length - 4, 4);
			EXPECT_EQ(again, length);
			found.push_back({type, {bytes_ + at + 8, bytes_ + at + length - 4}});
			at += length;
		}
		EXPECT_EQ(at, size_);
		return found;
	}

	char *bytes_ = nullptr;
	std::size_t size_ = 0;
	std::FILE *file_;
};

TEST_F(Pcapng, BeginsWithASectionThatTellsTheByteOrder)
{
	const PcapngWriter writer(file_, "a test");
	const std::vector<Block> found = blocks();

	ASSERT_EQ(found.size(), 1U);
	EXPECT_EQ(found[0].type, 0x0a0d0d0aU);
	EXPECT_EQ(found[0].at<std::uint32_t>(0), 0x1a2b3c4dU);
	EXPECT_EQ(found[0].at<std::uint16_t>(4), 1);
	EXPECT_EQ(found[0].at<std::uint64_t>(8), UINT64_MAX);
	EXPECT_EQ(found[0].option(16, 4), "a test");
	EXPECT_EQ(found[0].option(16, 0), "");
	EXPECT_EQ(writer.written_bytes(), size_);
}

TEST_F(Pcapng, InterfacesHaveNamesAndNanoseconds)
{
	PcapngWriter writer(file_, "a test");

	writer.add({.name = "eth0", .link_type = 1, .most_bytes = 99});
	writer.add({.name = "mlx5_0", .description = "RDMA device", .link_type = 101});
	const std::vector<Block> found = blocks();
	ASSERT_EQ(found.size(), 3U);
	EXPECT_EQ(found[1].type, 1U);
	EXPECT_EQ(found[1].at<std::uint16_t>(0), 1);
	EXPECT_EQ(found[1].at<std::uint32_t>(4), 99U);
	EXPECT_EQ(found[1].option(8, 2), "eth0");
	EXPECT_EQ(found[1].option(8, 3), "none");
	EXPECT_EQ(found[1].option(8, 9), "\x09");
	EXPECT_EQ(found[2].option(8, 3), "RDMA device");
	EXPECT_EQ(found[2].at<std::uint16_t>(0), 101);
}

TEST_F(Pcapng, PacketsOfEachLength)
{
	PcapngWriter writer(file_, "a test");
	const std::array<std::uint8_t, 9> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9};

	for (std::size_t length = 0; length <= bytes.size(); length++)
		writer.add({.interface = 3,
			    .when_ns = 0x123456789abcdef0,
			    .kept = {bytes.data(), length},
			    .original_bytes = 1000,
			    .comment = length % 2 != 0 ? "odd" : ""});
	const std::vector<Block> found = blocks();
	ASSERT_EQ(found.size(), bytes.size() + 2);
	for (std::size_t length = 0; length <= bytes.size(); length++) {
		const Block &packet = found[length + 1];
		const std::size_t padded = (length + 3) / 4 * 4;

		EXPECT_EQ(packet.type, 6U);
		EXPECT_EQ(packet.at<std::uint32_t>(0), 3U);
		EXPECT_EQ(packet.at<std::uint32_t>(4), 0x12345678U);
		EXPECT_EQ(packet.at<std::uint32_t>(8), 0x9abcdef0U);
		EXPECT_EQ(packet.at<std::uint32_t>(12), length);
		EXPECT_EQ(packet.at<std::uint32_t>(16), 1000U);
		EXPECT_EQ(std::memcmp(packet.body.data() + 20, bytes.data(), length), 0);
		for (std::size_t i = length; i < padded; i++)
			EXPECT_EQ(packet.body[20 + i], 0);
		EXPECT_EQ(packet.option(20 + padded, 1), length % 2 != 0 ? "odd" : "none");
	}
}

TEST_F(Pcapng, StatisticsTellWhatWasDropped)
{
	PcapngWriter writer(file_, "a test");

	writer.add(2, {.end_ns = 0x100000002, .received = 70, .dropped = 8});
	const std::vector<Block> found = blocks();
	ASSERT_EQ(found.size(), 2U);
	EXPECT_EQ(found[1].type, 5U);
	EXPECT_EQ(found[1].at<std::uint32_t>(0), 2U);
	EXPECT_EQ(found[1].at<std::uint32_t>(4), 1U);
	EXPECT_EQ(found[1].at<std::uint32_t>(8), 2U);
	const std::string received = found[1].option(12, 4);
	const std::string dropped = found[1].option(12, 7);
	ASSERT_EQ(received.size(), 8U);
	ASSERT_EQ(dropped.size(), 8U);
	std::uint64_t value = 0;
	std::memcpy(&value, received.data(), sizeof(value));
	EXPECT_EQ(value, 70U);
	std::memcpy(&value, dropped.data(), sizeof(value));
	EXPECT_EQ(value, 8U);
}

TEST(PcapngFull, AFullDiskIsAnError)
{
	std::FILE *full = std::fopen("/dev/full", "w");

	ASSERT_NE(full, nullptr);
	PcapngWriter writer(full, "a test");
	EXPECT_THROW(writer.flush(), std::system_error);
	(void)std::fclose(full);
}

} // namespace
