// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace smc_ctl {

// Writes packets as a pcapng file, in the byte order of this machine. libpcap writes only the older
// format, which has neither several interfaces nor counters of what was dropped. The methods throw
// std::system_error.
class PcapngWriter {
public:
	struct Interface {
		std::string name;
		std::string description{}; // empty: none
		std::uint16_t link_type = 0;
		std::uint32_t most_bytes = 0; // of a packet that are kept; 0: no limit
	};
	struct Statistics {
		std::uint64_t end_ns = 0; // since 1970
		std::uint64_t received = 0;
		std::uint64_t dropped = 0;
	};

	// Begins the file; @application: what is writing it. @to has to live longer.
	PcapngWriter(std::FILE *to, const std::string &application);

	// Interfaces are numbered from 0 on.
	void add(const Interface &interface);
	struct Packet {
		std::uint32_t interface = 0;
		std::uint64_t when_ns = 0; // since 1970
		std::span<const std::uint8_t> kept{};
		std::uint32_t original_bytes = 0; // of which these are the beginning
		std::string comment{};            // empty: none
	};
	void add(const Packet &packet);
	void add(std::uint32_t interface, const Statistics &statistics);
	// So that whoever reads the file sees what was added.
	void flush();

	[[nodiscard]] std::uint64_t written_bytes() const { return written_bytes_; }

private:
	template <typename Number>
	void put(Number value);
	void put_bytes(const void *bytes, std::size_t size_bytes);
	void put_option(std::uint16_t code, const void *bytes, std::size_t size_bytes);
	void put_end_of_options();
	void put_text(std::uint16_t code, const std::string &text);
	void put_time(std::uint64_t when_ns);
	void write_block(std::uint32_t type);

	std::FILE *to_;
	std::vector<std::uint8_t> body_{}; // of the block that is being made
	std::uint64_t written_bytes_ = 0;
};

} // namespace smc_ctl
