// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>

namespace smc::wire {

// Diagnosis words of a CLC Decline, also the reasons why a socket fell back. A peer may send
// others: the type holds any 32-bit value.
enum class DeclineReason : std::uint32_t {
	kNone = 0,
	kMem = 0x01010000,        // out of memory
	kTimeoutCl = 0x02010000,  // CONFIRM_LINK did not arrive
	kTimeoutAl = 0x02020000,  // ADD_LINK did not arrive
	kCnfErr = 0x03000000,     // configuration
	kPeerNoSmc = 0x03010000,  // the peer's SYN or SYN-ACK had no SMC option
	kIpsec = 0x03020000,      // the socket has an IPsec policy
	kNoSmcDev = 0x03030000,   // no usable device of any kind
	kNoSmcdDev = 0x03030001,  // no ISM device
	kNoSmcrDev = 0x03030002,  // no RoCE device
	kNoIsm2Supp = 0x03030003, // no SMC-Dv2 here
	kNoV2Ext = 0x03030004,    // Proposal without its v2 extension
	kNoV2dExt = 0x03030005,   // Proposal without its SMC-Dv2 extension
	kNoSeid = 0x03030006,     // Proposal without a system EID
	kNoSmcd2Dev = 0x03030007, // no ISM device with a matching CHID
	kNoUeid = 0x03030008,     // no EID in common
	kReleaseErr = 0x03030009, // release negotiation
	kMaxConnErr = 0x0303000a, // connections per group negotiation
	kMaxLinkErr = 0x0303000b, // links per group negotiation
	kModeUnsupp = 0x03040000, // Accept of a kind that was not proposed
	kRmbeEc = 0x03050000,     // the peer wants RMBE eyecatchers
	kOptUnsupp = 0x03060000,  // a socket option, a flag or a use that SMC does not have
	kDiffPrefix = 0x03070000, // peers are in different subnets
	kGetVlanErr = 0x03080000, // VLAN lookup
	kIsmVlanErr = 0x03090000, // VLAN registration at an ISM device
	kNoActLink = 0x030a0000,  // the group has no active link
	kNoSrvLink = 0x030b0000,  // the link that the Accept names is not known
	kVersMismat = 0x030c0000, // version mismatch
	kMaxDmb = 0x030d0000,     // ISM device is out of buffers
	kNoRoute = 0x030e0000,    // no route to the peer's GID
	kNoIndirect = 0x030f0000, // route to the peer's GID has no gateway
	kSyncErr = 0x04000000,    // the peer thinks there is a group, and there is none
	kPeerDecl = 0x05000000,   // the peer declined (local reason only)
	kIntErr = 0x09990000,     // internal error
	kErrRtok = 0x09990001,    // rkey table is full
	kErrRdyLnk = 0x09990002,  // queue pair would not change state
	kErrRegBuf = 0x09990003,  // memory registration or CONFIRM_RKEY
};

// The name as protocol documents and tools print it ("NOSMCDEV"); "UNKNOWN" for any other value.
[[nodiscard]] std::string_view name(DeclineReason reason);

} // namespace smc::wire
