// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "capture_filter.hpp"
#include "smc_packet.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

struct pcap;

namespace smc_ctl {

// How much of the packets is kept.
enum class Keep {
	kHeaders, // and SMC's own messages
	kBlanks,  // and zeros in place of what applications send by RDMA
	kAll,
};
[[nodiscard]] constexpr unsigned most_bytes(Keep keep)
{
	switch (keep) {
	case Keep::kHeaders: return 1024;
	case Keep::kBlanks: return 4096 + 256; // the largest MTU of RDMA, and headers
	case Keep::kAll: break;
	}
	return 65536 + 64;
}

// A device whose packets are read, without waiting for them.
class CaptureSource {
public:
	struct Counts {
		std::uint64_t received = 0; // and let through by the filter
		std::uint64_t dropped = 0;  // of these
	};
	// @when_ns: since 1970. @original_bytes: of the packet, of which the span is the beginning.
	using Visit = std::function<void(std::uint64_t when_ns, std::span<const std::uint8_t>,
					 std::uint32_t original_bytes)>;

	// These throw NetlinkError.
	static CaptureSource of_netdev(const std::string &name, const TcpFilter &tcp, Keep keep);
	// By the driver's sniffer.
	static CaptureSource of_rdma_device(const std::string &name, Keep keep);

	[[nodiscard]] const std::string &name() const { return name_; }
	[[nodiscard]] LinkType link_type() const { return link_type_; }
	// To wait for; -1 if there is no such thing.
	[[nodiscard]] int fd() const;
	// Calls @visit for a number of packets that has a bound; returns how many there were.
	// Throws NetlinkError if no more will come, for one because the device has gone.
	unsigned read(const Visit &visit);
	[[nodiscard]] Counts counts() const;

private:
	struct Close {
		void operator()(pcap *handle) const;
	};

	CaptureSource(const std::string &name, Keep keep);
	void set_filter(const std::string &filter);
	[[nodiscard]] bool has_packets() const;
	[[nodiscard]] std::string why() const;

	std::string name_;
	std::unique_ptr<pcap, Close> handle_;
	LinkType link_type_ = LinkType::kEthernet;
	bool nanoseconds_ = false;
	bool waits_ = false; // a read without packets
	bool has_more_ = false;
};

} // namespace smc_ctl
