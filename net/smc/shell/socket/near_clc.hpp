// SPDX-License-Identifier: GPL-2.0-only
//
// NearClc: the CLC messages of a handshake whose peer is in this kernel. They need no segment,
// acknowledgement or softirq: a message is written into the peer's inbox. TCP still brings FIN,
// reset and errors, and carries the user's data after a fallback.
//
// Locking: the lock of the Rendezvous bucket in which both have met. Each unlinks itself from the
// other under it, so no reference is needed. Received bytes stay in place until their owner
// consumes them, who may look for them and read them without the lock. Room that
// Rendezvous::room_for_tcp() has given to the owner is his.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "core/wire/clc.hpp"
#include "kernel/abi/types.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::shell {

class NearClcOwner {
public:
	// A message has come. Under the lock: only queue work.
	virtual void on_near_clc() = 0;

protected:
	~NearClcOwner() = default;
};

// Identifies a TCP connection to its two ends alone: the sequence numbers that it began with.
// Addresses and ports do not work across namespaces, where NAT may change them.
struct NearKey {
	u32 client_sequence = 0;
	u32 server_sequence = 0;
	const net *within = nullptr; // only with this one; nullptr: with all that have nullptr

	friend bool operator==(const NearKey &, const NearKey &) = default;
};

struct NearClcTag;

class NearClc final : public ListNode<NearClcTag> {
public:
	enum class Side : u8 { kClient, kServer };

	NearClc(Side side, NearClcOwner &owner) : side_(side), owner_(owner) {}

	// The sender is this module. Room for two: a Decline may follow a message that was not read
	// yet.
	static constexpr std::size_t kInboxSize =
		wire::kClcEncodedSizeMax + wire::kClcDeclineSizeMax;

	[[nodiscard]] Side side() const { return side_; }
	[[nodiscard]] const NearKey &key() const { return key_; }

private:
	friend class Rendezvous;

	const Side side_;
	bool entered_ = false; // once; set by the owner
	NearClcOwner &owner_;
	NearKey key_;
	u32 bucket_ = 0; // that of key_
	// All below is written under the lock of the Rendezvous. Without it the owner looks whether
	// something has come: first at met_, then at the length, which covers what is in place.
	std::atomic<bool> met_{false}; // once: its messages go this way
	std::atomic<std::size_t> length_bytes_{0};
	Guarded<NearClc *> peer_; // until either parts
	// Messages that have come in memory lie in its first kInboxSize bytes; before its peer has
	// come, those that are left for that.
	std::array<std::byte, wire::kClcMessageSizeMax> bytes_;
};

} // namespace smc::shell
