// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/base/endian.hpp"
#include "core/base/result.hpp"
#include "core/wire/clc.hpp"

// How CLC messages lie on the wire, for the codec alone (RFC 7609 appendix A.1; IBM, Shared Memory
// Communications Version 2, third edition). Every struct is bytes with alignment 1.
namespace smc::wire::layout {

using Eyecatcher = std::array<std::uint8_t, 4>;

// "SMCR" and "SMCD" in EBCDIC. Receivers take either one, at both ends of any message.
inline constexpr Eyecatcher kEyecatcherR = {0xe2, 0xd4, 0xc3, 0xd9};
inline constexpr Eyecatcher kEyecatcherD = {0xe2, 0xd4, 0xc3, 0xc4};

struct ClcHeader {
	Eyecatcher eyecatcher{};
	std::uint8_t type = 0;
	Be16 length{};
	std::uint8_t version_and_types = 0; // 7-4 version, 3-2 typev2, 1-0 typev1

	[[nodiscard]] constexpr std::uint8_t version() const { return version_and_types >> 4; }
	[[nodiscard]] constexpr std::uint8_t type_v1() const { return version_and_types & 3; }
	[[nodiscard]] constexpr std::uint8_t type_v2() const { return version_and_types >> 2 & 3; }
	// Accept, Confirm: first contact. Decline: out of sync.
	[[nodiscard]] constexpr bool flag() const { return (version_and_types & 0x08) != 0; }
};
static_assert(sizeof(ClcHeader) == kClcHeaderSize && alignof(ClcHeader) == 1);
static_assert(offsetof(ClcHeader, version_and_types) == 7);

struct ProposalFixed {
	ClcHeader header{};
	PeerId peer_id{};
	Gid gid{};
	Mac mac{};
	Be16 prefix_offset{}; // from the end of this struct to the prefix area
};
static_assert(sizeof(ProposalFixed) == 40 && alignof(ProposalFixed) == 1);
static_assert(offsetof(ProposalFixed, peer_id) == 8 && offsetof(ProposalFixed, gid) == 16);
static_assert(offsetof(ProposalFixed, mac) == 32 && offsetof(ProposalFixed, prefix_offset) == 38);

struct IsmEntry {
	Be64 gid{};
	Be16 chid{};
};
static_assert(sizeof(IsmEntry) == 10);

struct SmcdV1 {
	IsmEntry device{};
	Be16 v2_offset{}; // from the end of this field to the v2 area
	std::array<std::uint8_t, 3> vendor_oui{};
	std::array<std::uint8_t, 5> vendor_options{};
	std::array<std::uint8_t, 20> reserved{};
};
static_assert(sizeof(SmcdV1) == 40 && offsetof(SmcdV1, vendor_oui) == 12);

struct Prefix {
	std::array<std::uint8_t, 4> ipv4{};
	std::uint8_t ipv4_length = 0;
	std::array<std::uint8_t, 2> reserved{};
	std::uint8_t ipv6_count = 0;
};
static_assert(sizeof(Prefix) == 8 && offsetof(Prefix, ipv6_count) == 7);

struct Ipv6Entry {
	std::array<std::uint8_t, 16> prefix{};
	std::uint8_t length = 0;
};
static_assert(sizeof(Ipv6Entry) == 17);

struct V2 {
	std::uint8_t eid_count = 0;
	std::uint8_t ism_count = 0;
	std::uint8_t reserved1 = 0;
	std::uint8_t flags = 0; // 7-4 release, 0 system EID present
	std::array<std::uint8_t, 2> reserved2{};
	Be16 smcd_v2_offset{}; // from the end of this field to the SMC-D v2 area
	Gid roce_gid{};
	std::uint8_t max_conns = 0;
	std::uint8_t max_links = 0;
	Be16 feature_mask{};
	std::array<std::uint8_t, 12> reserved3{};
	// user EIDs follow
};
static_assert(sizeof(V2) == 40 && offsetof(V2, roce_gid) == 8 && offsetof(V2, max_conns) == 24);
static_assert(offsetof(V2, smcd_v2_offset) == 6 && offsetof(V2, feature_mask) == 26);

struct SmcdV2 {
	Eid system_eid{};
	std::array<std::uint8_t, 16> reserved{};
	// ISM entries follow
};
static_assert(sizeof(SmcdV2) == 48);

struct AcceptR {
	ClcHeader header{};
	PeerId peer_id{};
	Gid gid{};
	Mac mac{};
	Be24 qpn{};
	Be32 rmb_rkey{};
	std::uint8_t rmbe_index = 0;
	Be32 token{};
	std::uint8_t size_and_mtu = 0; // 7-4 RMBE size, 3-0 QP MTU
	std::uint8_t reserved1 = 0;
	Be64 rmb_address{};
	std::uint8_t reserved2 = 0;
	Be24 psn{};
};
static_assert(sizeof(AcceptR) == 64 && alignof(AcceptR) == 1);
static_assert(offsetof(AcceptR, qpn) == 38 && offsetof(AcceptR, rmb_rkey) == 41);
static_assert(offsetof(AcceptR, rmbe_index) == 45 && offsetof(AcceptR, token) == 46);
static_assert(offsetof(AcceptR, size_and_mtu) == 50 && offsetof(AcceptR, rmb_address) == 52);
static_assert(offsetof(AcceptR, psn) == 61);

struct AcceptRV2 {
	Eid eid{};
	std::array<std::uint8_t, 8> reserved{};
};
static_assert(sizeof(AcceptR) + sizeof(AcceptRV2) == 104);

struct AcceptD {
	ClcHeader header{};
	Be64 gid{};
	Be64 dmb_token{};
	std::uint8_t dmbe_index = 0;
	std::uint8_t size = 0; // 7-4 DMBE size
	std::array<std::uint8_t, 2> reserved{};
	Be32 link_id{};
};
static_assert(sizeof(AcceptD) == 32 && alignof(AcceptD) == 1);
static_assert(offsetof(AcceptD, dmbe_index) == 24 && offsetof(AcceptD, link_id) == 28);

inline constexpr std::size_t kAcceptDV1ReservedSize = 12;

struct AcceptDV2 {
	Be16 chid{};
	Eid eid{};
	Be64 gid_extension{};
};
static_assert(sizeof(AcceptD) + sizeof(AcceptDV2) == 74);

struct FirstContact {
	std::uint8_t flags = 0;          // 7 direct
	std::uint8_t os_and_release = 0; // 7-4 OS, 3-0 release
	std::array<std::uint8_t, 2> reserved{};
	std::array<std::uint8_t, 32> host_name{};
};
static_assert(sizeof(FirstContact) == 36);

// Follows for SMC-R always, in release 0 as reserved bytes; for SMC-D from release 1 on.
struct FirstContactV21 {
	std::uint8_t max_conns = 0;
	std::uint8_t max_links = 0;
	Be16 feature_mask{};
	Be32 vendor_options{};
	std::array<std::uint8_t, 8> reserved{};
};
static_assert(sizeof(FirstContact) + sizeof(FirstContactV21) == 52);

struct GidListHeader {
	std::uint8_t count = 0;
	std::array<std::uint8_t, 3> reserved{};
};
static_assert(sizeof(GidListHeader) == 4);

struct DeclineFixed {
	ClcHeader header{};
	PeerId peer_id{};
	Be32 reason{};
	std::uint8_t os = 0; // 7-4
	std::array<std::uint8_t, 3> reserved{};
};
static_assert(sizeof(DeclineFixed) == 24 && offsetof(DeclineFixed, reason) == 16);

// --- Shared by the codecs ------------------------------------------------------------------

[[nodiscard]] constexpr bool is_eyecatcher(const Eyecatcher &bytes)
{
	return bytes == kEyecatcherR || bytes == kEyecatcherD;
}

// Checks header and size of one whole message of the given type.
[[nodiscard]] Result<ClcHeader, ClcError> open_message(ByteSpan message, ClcType type);
[[nodiscard]] bool has_trailer(ByteSpan message);

[[nodiscard]] ClcHeader make_header(const Eyecatcher &eyecatcher, ClcType type, std::size_t length,
				    std::uint8_t version, std::uint8_t types);

// Lays one struct after the other into a message of known size.
class Writer {
public:
	constexpr explicit Writer(MutableByteSpan out) : out_(out) {}

	template <WireStruct T>
	void put(const T &value)
	{
		failed_ = failed_ || !store(out_, at_, value);
		at_ += sizeof(T);
	}

	// Length of the message, or 0 if it did not fit.
	[[nodiscard]] std::size_t finish() const { return failed_ ? 0 : at_; }

private:
	MutableByteSpan out_;
	std::size_t at_ = 0;
	bool failed_ = false;
};

} // namespace smc::wire::layout
