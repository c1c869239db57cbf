// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/check.hpp"
#include "core/base/fixed_vector.hpp"
#include "core/base/result.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc_list.hpp"

// Link Layer Control: messages between the two ends of a link group, each an RDMA SEND of 44
// bytes, or longer for two of version 2 (RFC 7609 section 4.5 and appendix A.2; IBM, Shared Memory
// Communications Version 2).
namespace smc::wire {

inline constexpr std::size_t kLlcSize = 44;
// Longest version 2 message, and the receive buffer that one needs.
inline constexpr std::size_t kLlcSizeMax = 8192;
// Keys and GIDs that one message can list.
inline constexpr std::size_t kLlcListMax = 255;
// Longest version 2 ADD_LINK.
inline constexpr std::size_t kAddLinkSizeMax =
	kLlcSize + 28 + kLlcListMax * RkeyPairList::kItemSize;

enum class LlcVersion : std::uint8_t {
	kV1 = 1,
	kV2 = 2, // link groups of SMC-Rv2
};

enum class LlcError : std::uint8_t {
	kTruncated,
	kBadLength, // the length field says neither 44 nor anything that was received
	kBadCount,  // a list reaches past the end of the message
	kIgnored,   // no violation: a type that is not known here, to be dropped silently
};

[[nodiscard]] std::string_view name(LlcError error);

// --- Messages ------------------------------------------------------------------------------

struct ConfirmLink {
	Mac mac;
	Gid gid;
	Qpn qpn;
	LinkId link;
	LinkUid link_uid;
	std::uint8_t max_links = 0;
	std::uint8_t max_conns = 0; // version 2.1; else 0
	// The sender puts no eyecatchers into RMB elements. Without it there is no connection.
	bool no_eyecatchers = true;

	friend bool operator==(const ConfirmLink &, const ConfirmLink &) = default;
};

// What version 2 adds to ADD_LINK requests and to positive responses.
struct AddLinkExtension {
	bool v2_direct = false;
	Gid target_gid;
	RkeyPairList rkeys;

	friend bool operator==(const AddLinkExtension &, const AddLinkExtension &) = default;
};

enum class AddLinkReject : std::uint8_t {
	kNone = 0,
	kNoAlternatePath = 1,
};

struct AddLink {
	bool rejected = false;
	// Version 1 only: in version 2 the length field lies on top of it.
	AddLinkReject reject_reason = AddLinkReject::kNone;
	Mac mac;
	Gid gid;
	Qpn qpn;
	LinkId link;
	QpMtu mtu; // not known in a server's request
	Psn psn;
	std::optional<AddLinkExtension> extension; // version 2, unless rejected

	friend bool operator==(const AddLink &, const AddLink &) = default;
};

// Version 1: keys for a new link, two at a time, until both sides have none left.
struct AddLinkCont {
	LinkId link;
	std::uint8_t rkeys_left = 0;     // including those in this message
	std::array<RkeyPair, 2> rkeys{}; // min(2, rkeys_left) of them count

	friend bool operator==(const AddLinkCont &, const AddLinkCont &) = default;
};

// Others exist and are kept.
enum class DeleteLinkReason : std::uint32_t {
	kNone = 0, // as a response: done
	kLostPath = 0x00010000,
	kOperator = 0x00020000,
	kProgram = 0x00030000, // also: idle
	kProtocolViolation = 0x00040000,
	kNoAsymmetricNeeded = 0x00050000,
	// In responses:
	kUnknownLink = 0x00100000,
	kUnknownGroup = 0x00200000,
};

[[nodiscard]] std::string_view name(DeleteLinkReason reason);

struct DeleteLink {
	bool all = false; // the whole link group; link is 0 then
	bool orderly = false;
	LinkId link;
	DeleteLinkReason reason = DeleteLinkReason::kNone;

	friend bool operator==(const DeleteLink &, const DeleteLink &) = default;
};

// Version 2: a client asks its server for another link. The response says "cannot" and is empty.
struct ReqAddLink {
	GidList gids; // the one in use first

	friend bool operator==(const ReqAddLink &, const ReqAddLink &) = default;
};

// An RMB's key and address on one link.
struct RemoteToken {
	Rkey rkey;
	std::uint64_t address = 0;

	friend constexpr bool operator==(const RemoteToken &, const RemoteToken &) = default;
};

struct LinkToken {
	LinkId link;
	RemoteToken token;

	friend constexpr bool operator==(const LinkToken &, const LinkToken &) = default;
};

struct ConfirmRkey {
	// In responses, always both by Linux:
	bool negative = false;
	bool retry = false;
	// As in the message; more than 2 means that CONFIRM_RKEY_CONT messages follow. Linux
	// refuses more than 3. The encoder writes at least the number of `others`.
	std::uint8_t others_count = 0;
	RemoteToken token;                // on the link that carries the message
	FixedVector<LinkToken, 2> others; // the same RMB on other links

	friend bool operator==(const ConfirmRkey &, const ConfirmRkey &) = default;
};

struct ConfirmRkeyCont {
	bool negative = false;
	std::uint8_t tokens_left = 0; // including those in this message
	FixedVector<LinkToken, 3> tokens;

	friend bool operator==(const ConfirmRkeyCont &, const ConfirmRkeyCont &) = default;
};

struct TestLink {
	std::array<std::uint8_t, 16> user_data{}; // a response carries the request's

	friend bool operator==(const TestLink &, const TestLink &) = default;
};

struct DeleteRkey {
	static constexpr std::size_t kV1RkeysMax = 8;
	static constexpr std::size_t kV2RkeysMax = 9; // in 44 bytes, all that we send

	bool negative = false; // response: some key was unknown
	// Keys that the message is about. Encoding heeds it only in a version 2 response, which
	// repeats the count but not the keys; otherwise it goes by the list.
	std::uint8_t count = 0;
	// Response. Version 1: a bit for each unknown key, 0x80 the first. Version 2: their number.
	std::uint8_t errors = 0;
	RkeyList rkeys; // none in a version 2 response

	friend bool operator==(const DeleteRkey &, const DeleteRkey &) = default;
};

using LlcBody = std::variant<ConfirmLink, AddLink, AddLinkCont, DeleteLink, ReqAddLink, ConfirmRkey,
			     ConfirmRkeyCont, TestLink, DeleteRkey>;

struct LlcMessage {
	LlcVersion version = LlcVersion::kV1;
	bool response = false;
	LlcBody body;

	template <class Body>
	[[nodiscard]] const Body *get() const
	{
		return std::get_if<Body>(&body);
	}

	friend bool operator==(const LlcMessage &, const LlcMessage &) = default;
};

// Writes one message at the start of out and returns its length: 44, or more for a version 2
// ADD_LINK with extension or a REQ_ADD_LINK that needs it. No list of the value may point into out.
// Returns 0 if it does not fit, or if its version has no such message or no room for its content:
// a bug of the caller's.
[[nodiscard]] std::size_t encode(const LlcMessage &message, MutableByteSpan out);

// Takes all that was received. Lists in the value point into received. Bytes behind the message's
// own length do not matter; reserved bytes and unknown flags are ignored.
[[nodiscard]] Result<LlcMessage, LlcError> decode_llc(ByteSpan received);

} // namespace smc::wire
