// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/fixed_vector.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/vendor.hpp"

// What the shell is to do for a handshake, in this order. Nothing follows a Finished.
//
// Effects are small: a handshake has room for kEffectsMax of the largest. What they point to lies
// in the machine. It stays as it is until an effect that asks for an answer has got it, or what was
// acquired is given back; the Agreement of UseSmc as long as the machine.
namespace smc::handshake {

// What the two sides have agreed on. In version 1 only the first two and peer_id have a meaning.
// The values that describe a link group (release, limits, mask, capabilities, peer's name) are
// exchanged on first contact only; at a later one they are the group's, and not set here by a
// client.
struct Agreement {
	std::uint8_t version = 0; // 1 or 2
	bool smcd = false;        // else SMC-R
	bool first_contact = false;
	wire::PeerId peer_id;
	wire::Eid eid;
	std::uint8_t release = 0;
	std::uint8_t max_conns = 0;
	std::uint8_t max_links = 0;
	std::uint16_t feature_mask = 0;
	wire::Capabilities capabilities = 0; // of SMC-R
	wire::ClcOs peer_os = wire::ClcOs::kUnknown;
	std::array<std::uint8_t, 32> peer_host_name{}; // ASCII, blank padded

	// Known at first contact.
	[[nodiscard]] bool iwarp() const { return (capabilities & wire::capability::kIwarp) != 0; }

	friend bool operator==(const Agreement &, const Agreement &) = default;
};

// Send these bytes over TCP, all of them. They lie in the machine and stay until its next step.
struct SendClc {
	ByteSpan bytes;
};

// Take so many bytes out of the TCP receive queue.
struct ConsumeTcp {
	std::size_t bytes = 0;
};

// Look into the TCP receive queue now, and deliver TcpBytes if it holds bytes or a FIN.
struct WantBytes {};

// Deliver Timer at this time; replaces the time set before.
struct SetTimer {
	std::uint64_t deadline_ms = 0;
};
struct StopTimer {};

// Server: find a link group with this peer that can take one more connection, or make one, and
// buffers for the connection. A group matches by the fields here and by the agreement's version and
// EID. In version 2 Linux leaves peer_id and mac zero; then the GID alone identifies the peer.
struct AcquireServerLink {
	wire::PeerId peer_id;
	wire::Gid peer_gid;
	wire::Mac peer_mac;
	const Agreement *agreement = nullptr; // of a new group; the limits are those to put into it
};

// Client: on first contact make a link group for this peer; otherwise find the group with the
// link that leads to peer's (peer_id, gid, qpn; in version 1 also mac), or answer with kSyncErr. A
// new group's link is on the port that the Proposal named, or there is none.
struct AcquireClientLink {
	const wire::SmcrEndpoint *peer = nullptr;
	wire::Gid own_gid;
	bool v2_direct = true; // as the server sees it (first contact)
	const Agreement *agreement = nullptr;
};

// Server: make a buffer (DMB) for this connection on the loopback device, which waits for the
// client under its token.
struct AcquireServerDmb {};

// Client: find the buffer that waits under peer's token, make one's own, and join both. From then
// on bytes can move. kSyncErr if nothing waits there.
struct AcquireClientDmb {
	wire::SmcdEndpoint peer;
};

// Server: check that the peer's buffer is the one that was joined to ours.
struct ConnectDmb {
	wire::SmcdEndpoint peer;
};

// Register the peer's RMB with the group (kErrRtok if there is no room), and on first contact
// bring up the queue pair towards peer: client as far as ready to receive, so that CONFIRM_LINK
// can arrive (iWARP: connected); server ready to send, with its RMB registered.
struct ConnectLink {
	bool first_contact = false;
	const wire::SmcrEndpoint *peer = nullptr;
	wire::QpMtu mtu; // the smaller one of both
};

// Later contact: register the RMB and tell the peer with CONFIRM_RKEY; answer when it agreed.
struct AnnounceRkey {};

// First contact: server, send CONFIRM_LINK; client, await it. Comes before the client's Confirm is
// sent, since CONFIRM_LINK may overtake the answer.
struct ConfirmLink {};

// Give back what was acquired, or is being acquired: buffers, token, and at first contact the
// group, too (with DELETE_LINK if its link is up), unless the group has been confirmed.
// @peer_may_use: the peer may take the connection for established by now, and write into its RMB.
// So CDC has to tell it that nothing came of the connection. If the peer's end of the connection is
// not known, that is not possible, and the RMB must stay where it is.
struct ReleaseLink {
	bool peer_may_use = false;
};

// As ReleaseLink, but the other end of this TCP connection says that it does not know the group:
// the whole group ends, unless it was made with another host.
struct TerminateGroup {};

// The connection's bytes go by SMC.
struct UseSmc {
	const Agreement *agreement = nullptr;
};

// The connection goes on as plain TCP; what lies in the receive queue belongs to the user.
struct FallBack {
	wire::DeclineReason reason = wire::DeclineReason::kNone;
	wire::DeclineReason peer_diagnosis = wire::DeclineReason::kNone; // if the peer declined
};

// Whether the user may get another TCP connection, without SMC, in place of one that failed.
enum class Again : std::uint8_t {
	kNo,
	kStranger,    // yes; what the peer has done, or not done, is not what an SMC server does
	kMaybeServer, // yes; it has answered by CLC, or could not
};

// The stream is neither SMC nor usable for the user: reset the TCP connection. Positive errno.
struct Fail {
	int error = 0;
	Again again = Again::kNo;
};

struct Finished {
	std::variant<UseSmc, FallBack, Fail> outcome;
};

using Effect =
	std::variant<SendClc, ConsumeTcp, WantBytes, SetTimer, StopTimer, AcquireServerLink,
		     AcquireClientLink, AcquireServerDmb, AcquireClientDmb, ConnectDmb, ConnectLink,
		     AnnounceRkey, ConfirmLink, ReleaseLink, TerminateGroup, Finished>;

inline constexpr std::size_t kEffectsMax = 6;
// A type of its own: as an alias it would spell every effect in the name of each function that
// takes it, and those names would be longer than the kernel's symbol tables bear.
struct Effects : FixedVector<Effect, kEffectsMax> {};

// Errors of Fail, as Linux numbers them.
inline constexpr int kConnectionAborted = 103;
inline constexpr int kConnectionReset = 104;
inline constexpr int kTimedOut = 110;

} // namespace smc::handshake
