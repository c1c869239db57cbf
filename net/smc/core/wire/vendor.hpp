// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>

#include "core/wire/clc.hpp"

// What two hosts with this module can do beyond the protocol, in the CLC fields that it leaves to
// vendors; other implementations neither set nor read them.
//   Proposal, area of SMC-D version 1: OUI 02 53 4d (locally administered); of the five bytes of
//     options the first is 1, the next two are the capabilities offered, the others 0.
//   Accept, first-contact extension, from release 2.1 on, vendor options: bit 31 and, in the low 16
//     bits, those capabilities that the server has, too; 0 if there is none. The Confirm repeats
//     it.
namespace smc::wire {

// A set of bits.
using Capabilities = std::uint16_t;
namespace capability {
inline constexpr Capabilities kCompactMessages = 0x0001; // wire/compact.hpp
inline constexpr Capabilities kGrowingRings = 0x0002;    // wire/cdc.hpp, RingOffer
inline constexpr Capabilities kIwarp = 0x0004;           // wire/iwarp.hpp
// Who closes a connection last ends TCP's with a RST.
inline constexpr Capabilities kEndByReset = 0x0008;
} // namespace capability

inline constexpr std::array<std::uint8_t, 3> kVendorOui{0x02, 0x53, 0x4d};
inline constexpr std::uint8_t kVendorOptionsVersion = 1;
inline constexpr std::uint32_t kVendorAnswerValid = 1U << 31;

// Leaves the area as it is if nothing is offered.
constexpr void offer(Capabilities capabilities, SmcdV1Area &area)
{
	if (capabilities == 0)
		return;
	area.vendor_oui = kVendorOui;
	area.vendor_options = {kVendorOptionsVersion, static_cast<std::uint8_t>(capabilities >> 8),
			       static_cast<std::uint8_t>(capabilities), 0, 0};
}

// Those offered in a Proposal; none by other vendors.
[[nodiscard]] constexpr Capabilities offered(const SmcdV1Area &area)
{
	if (area.vendor_oui != kVendorOui || area.vendor_options[0] != kVendorOptionsVersion)
		return 0;
	return static_cast<Capabilities>(area.vendor_options[1] << 8 | area.vendor_options[2]);
}

[[nodiscard]] constexpr std::uint32_t vendor_answer(Capabilities capabilities)
{
	return capabilities == 0 ? 0 : kVendorAnswerValid | capabilities;
}

// Those in an answer, all of which should have been offered.
[[nodiscard]] constexpr Capabilities answered(std::uint32_t vendor_options)
{
	if ((vendor_options & kVendorAnswerValid) == 0)
		return 0;
	return static_cast<Capabilities>(vendor_options);
}

} // namespace smc::wire
