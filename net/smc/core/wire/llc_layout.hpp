// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/base/endian.hpp"
#include "core/wire/llc.hpp"

// How LLC messages lie on the wire, for the codec alone (RFC 7609 appendix A.2; IBM, Shared Memory
// Communications Version 2). Every struct is bytes with alignment 1.
namespace smc::wire::layout {

enum class LlcType : std::uint8_t {
	kConfirmLink = 1,
	kAddLink = 2,
	kAddLinkCont = 3, // version 1
	kDeleteLink = 4,
	kReqAddLink = 5, // version 2
	kConfirmRkey = 6,
	kTestLink = 7,
	kConfirmRkeyCont = 8, // version 1
	kDeleteRkey = 9,
};

// High half of the type byte.
inline constexpr std::uint8_t kTypeV1 = 0x00;
inline constexpr std::uint8_t kTypeV2 = 0x20;

inline constexpr std::uint8_t kFlagResponse = 0x80;
inline constexpr std::uint8_t kFlagNoEyecatchers = 0x03;
inline constexpr std::uint8_t kFlagRejected = 0x40;
inline constexpr std::uint8_t kFlagAll = 0x40;
inline constexpr std::uint8_t kFlagOrderly = 0x20;
inline constexpr std::uint8_t kFlagNegative = 0x20;
inline constexpr std::uint8_t kFlagRetry = 0x10;

struct LlcHeader {
	std::uint8_t type = 0;
	// Version 1: the length, then an ADD_LINK reject reason in the low half of the second byte.
	// Version 2: the length, in the byte order of the sender's machine.
	std::array<std::uint8_t, 2> length{};
	std::uint8_t flags = 0;
};
static_assert(sizeof(LlcHeader) == 4);

struct ConfirmLink {
	LlcHeader header{};
	Mac mac{};
	Gid gid{};
	Be24 qpn{};
	std::uint8_t link = 0;
	Be32 link_uid{};
	std::uint8_t max_links = 0;
	std::uint8_t max_conns = 0;
	std::array<std::uint8_t, 8> reserved{};
};
static_assert(sizeof(ConfirmLink) == kLlcSize && alignof(ConfirmLink) == 1);
static_assert(offsetof(ConfirmLink, gid) == 10 && offsetof(ConfirmLink, qpn) == 26);
static_assert(offsetof(ConfirmLink, link_uid) == 30 && offsetof(ConfirmLink, max_conns) == 35);

struct AddLink {
	LlcHeader header{};
	Mac mac{};
	std::array<std::uint8_t, 2> reserved1{};
	Gid gid{};
	Be24 qpn{};
	std::uint8_t link = 0;
	std::uint8_t mtu = 0; // 3-0
	Be24 psn{};
	std::array<std::uint8_t, 8> reserved2{};
};
static_assert(sizeof(AddLink) == kLlcSize && alignof(AddLink) == 1);
static_assert(offsetof(AddLink, gid) == 12 && offsetof(AddLink, link) == 31);
static_assert(offsetof(AddLink, psn) == 33);

struct AddLinkExtension {
	std::uint8_t flags = 0; // 7 direct
	std::uint8_t reserved1 = 0;
	Gid target_gid{};
	std::array<std::uint8_t, 8> reserved2{};
	// Byte order of the sender's machine. RkeyPairs follow.
	std::array<std::uint8_t, 2> rkey_count{};
};
static_assert(sizeof(AddLinkExtension) == 28 && offsetof(AddLinkExtension, rkey_count) == 26);

struct AddLinkCont {
	LlcHeader header{};
	std::uint8_t link = 0;
	std::uint8_t rkeys_left = 0;
	std::array<std::uint8_t, 2> reserved1{};
	std::array<RkeyPairEntry, 2> rkeys{};
	std::array<std::uint8_t, 4> reserved2{};
};
static_assert(sizeof(AddLinkCont) == kLlcSize && offsetof(AddLinkCont, rkeys) == 8);

struct DeleteLink {
	LlcHeader header{};
	std::uint8_t link = 0;
	Be32 reason{};
	std::array<std::uint8_t, 35> reserved{};
};
static_assert(sizeof(DeleteLink) == kLlcSize && offsetof(DeleteLink, reason) == 5);

struct ReqAddLink {
	LlcHeader header{};
	std::array<std::uint8_t, 20> reserved1{};
	std::uint8_t gid_count = 0;
	std::array<std::uint8_t, 3> reserved2{};
	// GIDs follow
};
static_assert(sizeof(ReqAddLink) == 28 && offsetof(ReqAddLink, gid_count) == 24);

struct TokenEntry {
	std::uint8_t count_or_link = 0;
	Be32 rkey{};
	Be64 address{};
};
static_assert(sizeof(TokenEntry) == 13);

struct ConfirmRkey {
	LlcHeader header{};
	std::array<TokenEntry, 3> tokens{}; // the first has the count of further ones
	std::uint8_t reserved = 0;
};
static_assert(sizeof(ConfirmRkey) == kLlcSize && offsetof(ConfirmRkey, tokens) == 4);

struct ConfirmRkeyCont {
	LlcHeader header{};
	std::uint8_t tokens_left = 0;
	std::array<TokenEntry, 3> tokens{};
};
static_assert(sizeof(ConfirmRkeyCont) == kLlcSize && offsetof(ConfirmRkeyCont, tokens) == 5);

struct TestLink {
	LlcHeader header{};
	std::array<std::uint8_t, 16> user_data{};
	std::array<std::uint8_t, 24> reserved{};
};
static_assert(sizeof(TestLink) == kLlcSize);

struct DeleteRkey {
	LlcHeader header{};
	std::uint8_t count = 0;
	std::uint8_t errors = 0;
	std::array<std::uint8_t, 2> reserved{};
	// rkeys follow
};
static_assert(sizeof(DeleteRkey) == 8);
static_assert(sizeof(DeleteRkey) + wire::DeleteRkey::kV2RkeysMax * RkeyCodec::kSize == kLlcSize);

} // namespace smc::wire::layout
