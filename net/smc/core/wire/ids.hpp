// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

// Identities that travel in SMC messages, each a type of its own: a QP number cannot be passed
// where a packet sequence number is meant, nor a peer's rkey for a token.
namespace smc::wire {

template <class Tag, std::size_t Size>
struct ByteId {
	static constexpr std::size_t kSize = Size;

	[[nodiscard]] constexpr bool is_zero() const
	{
		for (const std::uint8_t byte : bytes) {
			if (byte != 0)
				return false;
		}
		return true;
	}

	// Not std::array's own, which calls memcmp(): this is a few instructions.
	friend constexpr bool operator==(const ByteId &a, const ByteId &b)
	{
		return __builtin_memcmp(a.bytes.data(), b.bytes.data(), Size) == 0;
	}
	friend constexpr auto operator<=>(const ByteId &, const ByteId &) = default;

	std::array<std::uint8_t, Size> bytes{};
};

// Identity of a host: 2 bytes of instance, then the MAC of a RoCE port. All zero if it has none.
using PeerId = ByteId<struct PeerIdTag, 8>;
// Address of an RDMA port: RoCE v1 link-local, or an IP address (IPv4 mapped) for RoCE v2.
using Gid = ByteId<struct GidTag, 16>;
using Mac = ByteId<struct MacTag, 6>;
// Enterprise ID: printable ASCII, blank padded; all zero means none.
using Eid = ByteId<struct EidTag, 32>;

template <class Tag, class Int, unsigned Bits = 8 * sizeof(Int)>
class NumberId {
	static constexpr Int kMask = static_cast<Int>(~std::uint64_t{0} >> (64 - Bits));

public:
	using Value = Int;

	constexpr NumberId() = default;
	// Bits above the width of the field on the wire are dropped.
	constexpr explicit NumberId(Int value) : value_(static_cast<Int>(value & kMask)) {}

	[[nodiscard]] constexpr Int value() const { return value_; }
	[[nodiscard]] constexpr bool is_zero() const { return value_ == 0; }

	friend constexpr bool operator==(const NumberId &, const NumberId &) = default;
	friend constexpr auto operator<=>(const NumberId &, const NumberId &) = default;

private:
	Int value_ = 0;
};

// Queue pair number, 24 bit.
using Qpn = NumberId<struct QpnTag, std::uint32_t, 24>;
// Initial packet sequence number of a queue pair, 24 bit.
using Psn = NumberId<struct PsnTag, std::uint32_t, 24>;
// Remote key of a memory region.
using Rkey = NumberId<struct RkeyTag, std::uint32_t>;
// RMBE alert token: names a connection inside a link group; chosen by the receiver of CDCs.
using Token = NumberId<struct TokenTag, std::uint32_t>;
// Number of a link in its group, chosen by the server from 1 on; 0 is none.
using LinkId = NumberId<struct LinkIdTag, std::uint8_t>;
// A host's own name for a link, for its operator's eyes.
using LinkUid = NumberId<struct LinkUidTag, std::uint32_t>;
// ISM (SMC-D) device identity, fabric identity, and buffer token.
using IsmGid = NumberId<struct IsmGidTag, std::uint64_t>;
using Chid = NumberId<struct ChidTag, std::uint16_t>;
using DmbToken = NumberId<struct DmbTokenTag, std::uint64_t>;

// CHIDs from here on are emulated ISM (0xFFFF loopback, below it virtio): such a device takes
// two consecutive entries of a CHID list, the second with the upper half of its 128-bit GID.
inline constexpr std::uint16_t kEmulatedChidFirst = 0xff00;
inline constexpr Chid kLoopbackChid{0xffff};

[[nodiscard]] constexpr bool is_emulated(Chid chid)
{
	return chid.value() >= kEmulatedChidFirst;
}

// Size of an RMB element as the four bits on the wire: 16 KiB << code, 512 MiB at most.
class BufferSize {
public:
	static constexpr std::uint8_t kCodeMax = 15;
	static constexpr std::uint32_t kSmallestBytes = 16384;

	constexpr BufferSize() = default;
	constexpr explicit BufferSize(std::uint8_t code) : code_(code & kCodeMax) {}

	// The smallest size that holds so many bytes; the largest there is if none does.
	[[nodiscard]] static constexpr BufferSize covering(std::uint64_t size_bytes)
	{
		std::uint8_t code = 0;
		while (code < kCodeMax && (std::uint64_t{kSmallestBytes} << code) < size_bytes)
			code++;
		return BufferSize{code};
	}

	[[nodiscard]] constexpr std::uint8_t code() const { return code_; }
	[[nodiscard]] constexpr std::uint32_t bytes() const { return kSmallestBytes << code_; }

	friend constexpr bool operator==(const BufferSize &, const BufferSize &) = default;
	friend constexpr auto operator<=>(const BufferSize &, const BufferSize &) = default;

private:
	std::uint8_t code_ = 0;
};

// MTU of a queue pair as the four bits on the wire, InfiniBand's own code: 1 = 256 … 5 = 4096
// bytes. Compares by size. 0 means "not said", as in a server's ADD_LINK request.
class QpMtu {
public:
	static constexpr std::uint8_t kCodeMax = 15;

	constexpr QpMtu() = default;
	constexpr explicit QpMtu(std::uint8_t code) : code_(code & kCodeMax) {}

	[[nodiscard]] constexpr std::uint8_t code() const { return code_; }
	[[nodiscard]] constexpr bool is_known() const { return code_ >= 1 && code_ <= 5; }
	// 0 unless the code is a known one.
	[[nodiscard]] constexpr std::uint32_t bytes() const
	{
		return is_known() ? 128U << code_ : 0;
	}

	friend constexpr bool operator==(const QpMtu &, const QpMtu &) = default;
	friend constexpr auto operator<=>(const QpMtu &, const QpMtu &) = default;

private:
	std::uint8_t code_ = 0;
};

// IPv4-mapped GID of RoCE v2 (::ffff:a.b.c.d); the address is in network byte order.
[[nodiscard]] constexpr Gid gid_from_ipv4(std::array<std::uint8_t, 4> address)
{
	Gid gid;
	gid.bytes[10] = 0xff;
	gid.bytes[11] = 0xff;
	for (std::size_t i = 0; i < address.size(); i++)
		gid.bytes[12 + i] = address[i];
	return gid;
}

// An IPv6 address that says nothing without its network device.
[[nodiscard]] constexpr bool is_link_local(const Gid &gid)
{
	return gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80;
}

// The address of an IPv4-mapped GID; nothing for any other GID.
[[nodiscard]] constexpr std::optional<std::array<std::uint8_t, 4>> ipv4_from_gid(const Gid &gid)
{
	std::array<std::uint8_t, 4> address{};
	for (std::size_t i = 0; i < address.size(); i++)
		address[i] = gid.bytes[12 + i];
	if (gid != gid_from_ipv4(address))
		return std::nullopt;
	return address;
}

} // namespace smc::wire
