// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace smc_ctl {

// A packet of the network, as far as SMC is concerned.
struct SmcPacket {
	enum class Kind {
		kClc,   // TCP with a message of the handshake
		kTcp,   // other TCP
		kLlc,   // RoCE: a message of a link
		kCdc,   // RoCE: a message of a connection
		kRoce,  // other RoCE: the bytes of connections, acknowledgements
		kOther, // not understood
	};
	static constexpr std::size_t kKinds = 6;

	Kind kind = Kind::kOther;
	// Headers, and SMC's own messages: behind these are the bytes of applications.
	std::size_t without_payload_bytes = 0;
	// Of an LLC message.
	std::uint8_t llc_type = 0;
	bool llc_response = false;
};

// How a packet begins, by the numbers of pcapng.
enum class LinkType : std::uint16_t {
	kEthernet = 1,
	kIp = 101,
	kCooked = 113, // Linux's, for devices of other kinds
};

// @packet may be cut off anywhere.
[[nodiscard]] SmcPacket look_at(std::span<const std::uint8_t> packet, LinkType link_type);
// The name of an LLC message; empty for other packets. Wireshark does not know those of version 2
// where the sender is a little-endian machine: they have the length in its byte order.
[[nodiscard]] std::string name_of_message(const SmcPacket &packet);

} // namespace smc_ctl
