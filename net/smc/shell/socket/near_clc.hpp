// SPDX-License-Identifier: GPL-2.0-only
//
// NearClc: the CLC messages of a handshake whose peer runs in this kernel, too. They need no
// segment, no acknowledgement and no softirq: what the one sends lies in the other's inbox. TCP
// stays what it was to both: it tells of FIN, reset and errors, and carries what the user sends
// after a fallback.
//
// Locking: that of the Rendezvous where both have met; inside it, so that each may unlink itself
// from the other, and no reference is needed. Bytes that have come stay where they are until their
// owner consumes them: it may read them without the lock.
#pragma once

#include <array>
#include <cstddef>

#include "core/wire/clc.hpp"
#include "kernel/abi/types.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::shell {

class NearClcOwner {
public:
	// A peer or a message has come. Under the lock: queue what there is to do.
	virtual void on_near_clc() = 0;

protected:
	~NearClcOwner() = default;
};

// What both ends of a TCP connection know of it, and nobody else: the sequence numbers that it
// began with. Addresses and ports say nothing across namespaces, where NAT may change them.
struct NearKey {
	u32 client_sequence = 0;
	u32 server_sequence = 0;
	const net *within = nullptr; // meets its own namespace alone; nullptr: whoever has it so

	friend bool operator==(const NearKey &, const NearKey &) = default;
};

struct NearClcTag;

class NearClc final : public ListNode<NearClcTag> {
public:
	enum class Side : u8 { kClient, kServer };

	NearClc(Side side, NearClcOwner &owner) : side_(side), owner_(owner) {}

	[[nodiscard]] Side side() const { return side_; }
	[[nodiscard]] const NearKey &key() const { return key_; }

private:
	friend class Rendezvous;

	const Side side_;
	bool entered_ = false; // once; the owner's
	NearClcOwner &owner_;
	NearKey key_;
	// What follows is guarded by the lock of the Rendezvous.
	Guarded<bool> met_;       // once: its messages go this way
	Guarded<NearClc *> peer_; // until either parts
	Guarded<std::size_t> length_bytes_;
	// Two may stand here: a Decline can follow any message before that was looked at.
	std::array<std::byte, wire::kClcMessageSizeMax> inbox_;
};

} // namespace smc::shell
