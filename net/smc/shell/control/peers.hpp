// SPDX-License-Identifier: GPL-2.0-only
//
// What one network namespace remembers of the peers that it has connected to.
#pragma once

#include <atomic>
#include <optional>

#include "core/control/peer_memory.hpp"
#include "shell/base/alloc.hpp"
#include "shell/base/lock.hpp"

namespace smc::control {

class Peers {
public:
	Peers() = default;
	~Peers();
	Peers(const Peers &) = delete;
	Peers &operator=(const Peers &) = delete;

	// What is remembered since less than @lasts_ms. Takes no lock while there is nothing at
	// all. Any context.
	[[nodiscard]] PeerMemory::Kind kind(const Peer &peer, u64 lasts_ms);
	// Notes @kind; without memory for the table nothing is remembered. Process.
	void note(const Peer &peer, PeerMemory::Kind kind, u64 lasts_ms);
	// Any context.
	void forget_all();
	// The next row from @cursor on, which starts at 0 and is moved behind it.
	[[nodiscard]] std::optional<PeerMemory::Row> next(u64 &cursor);

private:
	shell::SpinLock lock_{SMC_LOCK_CONTROL}; // guards the rows
	std::atomic<PeerMemory *> memory_{nullptr};
};

} // namespace smc::control
