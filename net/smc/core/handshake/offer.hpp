// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/fixed_vector.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/vendor.hpp"

namespace smc::handshake {

inline constexpr std::size_t kIpv4PrefixesMax = 8;

// Bounds and defaults of what version 2.1 negotiates for a link group.
inline constexpr std::uint8_t kMaxConnsLeast = 16;
inline constexpr std::uint8_t kMaxConnsDefault = 255;
inline constexpr std::uint8_t kMaxLinksLeast = 1;
inline constexpr std::uint8_t kMaxLinksDefault = 2;
// Highest release of version 2 that these machines speak: 2.1.
inline constexpr std::uint8_t kReleaseMax = 1;

// What this host can do for one connection. A client's offer names the device it would use; a
// server's only says what it may agree to, since its device is chosen once the Proposal is known.
struct LocalOffer {
	bool smcr_v1 = false; // SMC-R over RoCE v1
	bool smcr_v2 = false; // SMC-R over RoCE v2; needs an EID
	// SMC-R over iWARP, between two hosts with this module; needs an EID and release 2.1. A
	// client offers it only where it has neither of the two above, in the second one's fields.
	bool iwarp = false;
	// SMC-D over the loopback device, with a peer in this very kernel; needs no EID.
	bool smcd = false;
	// Why none of them is possible.
	wire::DeclineReason unavailable = wire::DeclineReason::kNoSmcDev;
	wire::PeerId peer_id;

	// Version 1. The prefixes are those of the netdev that carries the TCP connection. A
	// client sends the first IPv4 one and all IPv6 ones; a server compares with any of them.
	wire::Gid v1_gid; // client only
	wire::Mac v1_mac; // client only
	FixedVector<wire::Ipv4Prefix, kIpv4PrefixesMax> ipv4_prefixes;
	FixedVector<wire::Ipv6Prefix, wire::kClcIpv6PrefixesMax> ipv6_prefixes;

	// Version 2.
	wire::Gid v2_gid; // client only
	wire::Mac v2_mac; // client only
	FixedVector<wire::Eid, wire::kClcEidsMax> eids;
	std::array<std::uint8_t, 32> host_name{}; // ASCII, blank padded
	std::uint8_t release = kReleaseMax;
	std::uint8_t max_conns = kMaxConnsDefault;
	std::uint8_t max_links = kMaxLinksLeast;
	std::uint16_t feature_mask = 0;
	wire::Capabilities capabilities = 0; // beyond the protocol; needs release 2.1

	// SMC-D: the loopback device, by 128 bits that are unique to this kernel.
	wire::IsmGid smcd_gid;
	wire::IsmGid smcd_gid_extension;

	[[nodiscard]] bool any_smcr() const { return smcr_v1 || smcr_v2 || iwarp; }
	[[nodiscard]] bool any() const { return any_smcr() || smcd; }
};

// How long each wait lasts. The defaults are those of Linux, where it has such a wait.
struct Timeouts {
	std::uint32_t clc_ms = 6000; // for a Proposal, an Accept, a Confirm
	// Client: for an Accept, while it is not known whether there is an SMC server at all.
	std::uint32_t accept_ms = 6000;
	// Client whose peer is one, too: for the first message of a peer that does not know it.
	// That message follows the last segment of its TCP handshake at once.
	std::uint32_t crossed_ms = 500;
	// For everything on this side between two CLC messages, so that the peer still waits when
	// the reply comes.
	std::uint32_t local_ms = 5000;
	// Server, for ConnectLink: the client already waits for CONFIRM_LINK, 4 s if it is Linux.
	std::uint32_t connect_link_ms = 2500;
	// For CONFIRM_LINK. The group has shorter timers of its own; this one is the last resort.
	std::uint32_t confirm_link_ms = 6500;
	// Server: for a Decline, once CONFIRM_LINK was not answered. Linux' clients may be
	// declining then, and of two crossing Declines each would be read as data.
	std::uint32_t decline_ms = 1000;
	// Client: for a Decline, from the Confirm on. Linux' servers take up to 8 s to send it: 5
	// for the registration of their RMB, 2 for the response to CONFIRM_LINK, 1 for a Decline of
	// the client's.
	std::uint32_t await_decline_ms = 9000;
};

} // namespace smc::handshake
