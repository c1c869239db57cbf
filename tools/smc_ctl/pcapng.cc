// SPDX-License-Identifier: GPL-2.0-only
#include "pcapng.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace smc_ctl {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kInterfaceStatistics = 5;
constexpr std::uint32_t kEnhancedPacket = 6;

// Tells readers in which order the bytes of numbers are.
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint16_t kMajor = 1;
constexpr std::uint16_t kMinor = 0;
constexpr std::uint64_t kUnknownLength = UINT64_MAX;

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kSectionApplication = 4;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kInterfaceDescriptionText = 3;
constexpr std::uint16_t kInterfaceResolution = 9;
constexpr std::uint16_t kStatisticsEnd = 3;
constexpr std::uint16_t kStatisticsReceived = 4;
constexpr std::uint16_t kStatisticsDropped = 7;

constexpr std::uint8_t kNanoseconds = 9; // 10^-9 s
constexpr std::size_t kAlignment = 4;
constexpr std::size_t kFrameBytes = 12; // a block's type, and twice its length

} // namespace

PcapngWriter::PcapngWriter(std::FILE *to, const std::string &application) : to_(to)
{
	put(kByteOrder);
	put(kMajor);
	put(kMinor);
	put(kUnknownLength);
	put_text(kSectionApplication, application);
	put_end_of_options();
	write_block(kSectionHeader);
}

void PcapngWriter::add(const Interface &interface)
{
	put(interface.link_type);
	put(std::uint16_t{0});
	put(interface.most_bytes);
	put_text(kInterfaceName, interface.name);
	put_text(kInterfaceDescriptionText, interface.description);
	put_option(kInterfaceResolution, &kNanoseconds, sizeof(kNanoseconds));
	put_end_of_options();
	write_block(kInterfaceDescription);
}

void PcapngWriter::add(const Packet &packet)
{
	put(packet.interface);
	put_time(packet.when_ns);
	put(static_cast<std::uint32_t>(packet.kept.size()));
	put(packet.original_bytes);
	put_bytes(packet.kept.data(), packet.kept.size());
	if (!packet.comment.empty()) {
		put_text(kComment, packet.comment);
		put_end_of_options();
	}
	write_block(kEnhancedPacket);
}

void PcapngWriter::add(std::uint32_t interface, const Statistics &statistics)
{
	const std::uint32_t end[] = {static_cast<std::uint32_t>(statistics.end_ns >> 32),
				     static_cast<std::uint32_t>(statistics.end_ns)};

	put(interface);
	put_time(statistics.end_ns);
	put_option(kStatisticsEnd, end, sizeof(end));
	put_option(kStatisticsReceived, &statistics.received, sizeof(statistics.received));
	put_option(kStatisticsDropped, &statistics.dropped, sizeof(statistics.dropped));
	put_end_of_options();
	write_block(kInterfaceStatistics);
}

void PcapngWriter::flush()
{
	if (std::fflush(to_) != 0)
		throw std::system_error(errno, std::generic_category(), "writing packets");
}

template <typename Number>
void PcapngWriter::put(Number value)
{
	const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);

	body_.insert(body_.end(), bytes, bytes + sizeof(value));
}

// With zeros up to the next multiple of four.
void PcapngWriter::put_bytes(const void *bytes, std::size_t size_bytes)
{
	const auto *first = static_cast<const std::uint8_t *>(bytes);

	body_.insert(body_.end(), first, first + size_bytes);
	body_.resize((body_.size() + kAlignment - 1) / kAlignment * kAlignment);
}

void PcapngWriter::put_option(std::uint16_t code, const void *bytes, std::size_t size_bytes)
{
	put(code);
	put(static_cast<std::uint16_t>(size_bytes));
	put_bytes(bytes, size_bytes);
}

void PcapngWriter::put_end_of_options()
{
	put_option(kEndOfOptions, nullptr, 0);
}

void PcapngWriter::put_text(std::uint16_t code, const std::string &text)
{
	if (!text.empty())
		put_option(code, text.data(), std::min<std::size_t>(text.size(), UINT16_MAX));
}

// The upper half first, in either byte order.
void PcapngWriter::put_time(std::uint64_t when_ns)
{
	put(static_cast<std::uint32_t>(when_ns >> 32));
	put(static_cast<std::uint32_t>(when_ns));
}

void PcapngWriter::write_block(std::uint32_t type)
{
	const auto length = static_cast<std::uint32_t>(body_.size() + kFrameBytes);

	put(length);
	errno = 0;
	if (std::fwrite(&type, sizeof(type), 1, to_) != 1 ||
	    std::fwrite(&length, sizeof(length), 1, to_) != 1 ||
	    std::fwrite(body_.data(), body_.size(), 1, to_) != 1)
		throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
					"writing packets");
	written_bytes_ += length;
	body_.clear();
}

} // namespace smc_ctl
