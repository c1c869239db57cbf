// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/fixed_vector.hpp"
#include "core/base/result.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"

// Connection Layer Control: the handshake over the TCP connection (RFC 7609 section 3.5 and
// appendix A.1; IBM, Shared Memory Communications Version 2, third edition).
// Decoders take one whole message, as clc_frame() delimits it, and read nothing outside of it.
namespace smc::wire {

enum class ClcType : std::uint8_t {
	kProposal = 1,
	kAccept = 2,
	kConfirm = 3,
	kDecline = 4,
};

// What a Proposal offers in one protocol version.
enum class ClcMode : std::uint8_t {
	kR = 0,
	kD = 1,
	kNone = 2,
	kBoth = 3,
};

[[nodiscard]] constexpr bool offers_r(ClcMode mode)
{
	return mode == ClcMode::kR || mode == ClcMode::kBoth;
}
[[nodiscard]] constexpr bool offers_d(ClcMode mode)
{
	return mode == ClcMode::kD || mode == ClcMode::kBoth;
}
[[nodiscard]] constexpr ClcMode clc_mode(bool r, bool d)
{
	return r ? (d ? ClcMode::kBoth : ClcMode::kR) : (d ? ClcMode::kD : ClcMode::kNone);
}

// Operating system of the sender; other values exist and are kept.
enum class ClcOs : std::uint8_t {
	kUnknown = 0,
	kZos = 1,
	kLinux = 2,
	kAix = 3,
};

enum class ClcError : std::uint8_t {
	kTruncated, // fewer bytes than the header, or than its length, says
	kBadEyecatcher,
	kBadVersion,
	kBadType,
	kBadLength, // length does not go with the type, the version or the content
	kBadTrailer,
	kBadMode,   // typev1/typev2 that the message cannot have
	kBadOffset, // an area outside of the message, or on top of another one
	kBadCount,  // a list longer than the protocol has it
	kBadField,  // a value that cannot be: an MTU, an RMBE index of zero, …
};

[[nodiscard]] std::string_view name(ClcError error);

inline constexpr std::size_t kClcHeaderSize = 8;
inline constexpr std::size_t kClcTrailerSize = 4;
// The longest message that we send, a Proposal with everything in it, and the longest that we read:
// a later release may send longer ones, but beyond this it is not CLC.
inline constexpr std::size_t kClcEncodedSizeMax = 652;
inline constexpr std::size_t kClcMessageSizeMax = 1024;
// The longest ones of their kinds that we send.
inline constexpr std::size_t kClcAcceptSizeMax = 160;
inline constexpr std::size_t kClcDeclineSizeMax = 44;

inline constexpr std::size_t kClcIpv6PrefixesMax = 8;
inline constexpr std::size_t kClcEidsMax = 8;
inline constexpr std::size_t kClcIsmDevicesMax = 8;
inline constexpr std::size_t kClcGidsMax = 8;

// Feature mask bits of version 2.1.
inline constexpr std::uint16_t kFeatureEmulatedIsm = 0x0001;

// --- Framing -------------------------------------------------------------------------------

struct ClcFrame {
	enum class State : std::uint8_t {
		kNeedMore, // may become a message: ask again with length_bytes of the stream
		kNotClc,   // can never become one: the bytes are somebody else's
		kComplete, // the first length_bytes bytes are one message
	};

	State state = State::kNeedMore;
	ClcType type = ClcType::kProposal; // if kComplete
	std::uint8_t version = 0;          // if kComplete
	std::size_t length_bytes = 0;
};

// Looks at the start of a TCP stream, typically peeked at. Returns kNotClc at the first byte that
// rules a CLC message out. kComplete does not check the content: decode it.
[[nodiscard]] ClcFrame clc_frame(ByteSpan peeked);

// --- Proposal ------------------------------------------------------------------------------

struct Ipv4Prefix {
	std::array<std::uint8_t, 4> network{}; // network byte order, host bits zero
	std::uint8_t length = 0;               // bits

	friend bool operator==(const Ipv4Prefix &, const Ipv4Prefix &) = default;
};

struct Ipv6Prefix {
	std::array<std::uint8_t, 16> network{};
	std::uint8_t length = 0; // bits

	friend bool operator==(const Ipv6Prefix &, const Ipv6Prefix &) = default;
};

struct IsmDevice {
	IsmGid gid;
	Chid chid;

	friend bool operator==(const IsmDevice &, const IsmDevice &) = default;
};

// The sender's SMC-D version 1 device, and where vendors may put things. Zero if not used.
struct SmcdV1Area {
	IsmDevice device;
	std::array<std::uint8_t, 3> vendor_oui{};
	std::array<std::uint8_t, 5> vendor_options{};

	friend bool operator==(const SmcdV1Area &, const SmcdV1Area &) = default;
};

struct PrefixArea {
	Ipv4Prefix ipv4;
	FixedVector<Ipv6Prefix, kClcIpv6PrefixesMax> ipv6;

	friend bool operator==(const PrefixArea &, const PrefixArea &) = default;
};

struct V2Area {
	std::uint8_t release = 0;  // 0: version 2.0, 1: version 2.1
	bool seid_present = false; // the system EID in smcd below may be used
	FixedVector<Eid, kClcEidsMax> eids;
	Gid roce_gid;                   // RoCE v2 GID; zero if SMC-Rv2 is not offered
	std::uint8_t max_conns = 0;     // per link group; 2.1 only
	std::uint8_t max_links = 0;     // per link group; 2.1 only
	std::uint16_t feature_mask = 0; // 2.1 only

	friend bool operator==(const V2Area &, const V2Area &) = default;
};

struct SmcdV2Area {
	Eid system_eid;
	FixedVector<IsmDevice, kClcIsmDevicesMax> devices;

	friend bool operator==(const SmcdV2Area &, const SmcdV2Area &) = default;
};

struct Proposal {
	// 1, or 2 and above for the format of version 2.
	std::uint8_t version = 2;
	ClcMode mode_v1 = ClcMode::kNone;
	ClcMode mode_v2 = ClcMode::kNone; // kNone in version 1
	// Zero unless SMC-Rv1 is offered (Linux sends them only then).
	PeerId peer_id;
	Gid gid; // RoCE v1
	Mac mac;
	SmcdV1Area smcd_v1;
	PrefixArea prefixes; // there if mode_v1 offers anything
	V2Area v2;           // there if mode_v2 offers anything
	SmcdV2Area smcd_v2;  // there if mode_v2 offers SMC-D

	friend bool operator==(const Proposal &, const Proposal &) = default;
};

// --- Accept and Confirm --------------------------------------------------------------------

// First-contact extension of version 2.
struct FirstContactExtension {
	bool v2_direct = false; // no gateway between the two: use the peer's MAC
	ClcOs os = ClcOs::kLinux;
	std::uint8_t release = 0;
	std::array<std::uint8_t, 32> host_name{}; // ASCII, blank padded
	std::uint8_t max_conns = 0;               // SMC-R 2.1 only
	std::uint8_t max_links = 0;               // SMC-R 2.1 only
	std::uint16_t feature_mask = 0;           // 2.1 only
	std::uint32_t vendor_options = 0;         // 2.1 only

	friend bool operator==(const FirstContactExtension &,
			       const FirstContactExtension &) = default;
};

// SMC-R: one RMB element and the link (queue pair) that reaches it.
struct SmcrEndpoint {
	PeerId peer_id;
	Gid gid;
	Mac mac;
	Qpn qpn;
	Rkey rmb_rkey;
	std::uint8_t rmbe_index = 1; // from 1; the element lies at rmb_address + size * (index - 1)
	Token token;                 // for CDCs to the sender
	BufferSize rmbe_size;
	QpMtu mtu;
	std::uint64_t rmb_address = 0;
	Psn psn;

	friend bool operator==(const SmcrEndpoint &, const SmcrEndpoint &) = default;
};

// SMC-D: one DMB element.
struct SmcdEndpoint {
	IsmGid gid;
	DmbToken dmb_token;
	std::uint8_t dmbe_index = 0; // from 0
	BufferSize dmbe_size;        // includes the CDC area at its start
	std::uint32_t link_id = 0;   // sender's name for its link group
	// Version 2 only:
	Chid chid;
	IsmGid gid_extension; // upper half of an emulated device's GID; zero otherwise

	friend bool operator==(const SmcdEndpoint &, const SmcdEndpoint &) = default;
};

// Accept and Confirm have one layout; the types keep them apart.
struct AcceptConfirmBody {
	std::uint8_t version = 2; // 1, or 2 and above for the format of version 2
	bool first_contact = false;
	std::variant<SmcrEndpoint, SmcdEndpoint> endpoint;
	// Version 2 only:
	Eid eid;                                       // the one agreed upon
	FirstContactExtension first_contact_extension; // there if first_contact

	friend bool operator==(const AcceptConfirmBody &, const AcceptConfirmBody &) = default;

	[[nodiscard]] const SmcrEndpoint *smcr() const
	{
		return std::get_if<SmcrEndpoint>(&endpoint);
	}
	[[nodiscard]] const SmcdEndpoint *smcd() const
	{
		return std::get_if<SmcdEndpoint>(&endpoint);
	}
};

struct Accept : AcceptConfirmBody {
	friend bool operator==(const Accept &, const Accept &) = default;
};

struct Confirm : AcceptConfirmBody {
	// SMC-Rv2 on first contact: the sender's RoCE GIDs, the one in use first. Otherwise empty.
	FixedVector<Gid, kClcGidsMax> gids;

	friend bool operator==(const Confirm &, const Confirm &) = default;
};

// --- Decline -------------------------------------------------------------------------------

struct Decline {
	std::uint8_t version = 2;
	bool out_of_sync = false; // the sender has no such link group: end it
	PeerId peer_id;           // zero if the sender has no RoCE device
	DeclineReason reason = DeclineReason::kNone;
	ClcOs os = ClcOs::kLinux;                    // version 2 only
	std::array<std::uint32_t, 4> more_reasons{}; // version 2 only

	friend bool operator==(const Decline &, const Decline &) = default;
};

// Version of a Decline that the sender of this message, malformed or not, can read. The longer one
// of version 2 came with SMC-Rv2: Linux 5.10 to 5.15 propose version 2 as well, for SMC-D or for
// nothing (typev2 N), and take 28 bytes only. In version 1 everybody does.
[[nodiscard]] std::uint8_t decline_version(ByteSpan message);

// --- Codec ---------------------------------------------------------------------------------

// Each writes one message at the start of out and returns its length. Returns 0 if it does not
// fit, or if the value is one that no message can carry (version 0, version 1 with mode_v2, a
// GID list where there is none, …): a bug of the caller's.
[[nodiscard]] std::size_t encode(const Proposal &proposal, MutableByteSpan out);
[[nodiscard]] std::size_t encode(const Accept &accept, MutableByteSpan out);
[[nodiscard]] std::size_t encode(const Confirm &confirm, MutableByteSpan out);
[[nodiscard]] std::size_t encode(const Decline &decline, MutableByteSpan out);

// The type that a message's header names, or why it is no header.
[[nodiscard]] Result<ClcType, ClcError> clc_type(ByteSpan message);

// Each takes exactly one message, of its own type.
[[nodiscard]] Result<Proposal, ClcError> decode_proposal(ByteSpan message);
[[nodiscard]] Result<Accept, ClcError> decode_accept(ByteSpan message);
[[nodiscard]] Result<Confirm, ClcError> decode_confirm(ByteSpan message);
[[nodiscard]] Result<Decline, ClcError> decode_decline(ByteSpan message);

} // namespace smc::wire
