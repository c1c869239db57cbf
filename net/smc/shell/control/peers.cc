// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/peers.hpp"

#include "kernel/abi/mem.h"
#include "shell/base/random.hpp"

namespace smc::control {

Peers::~Peers()
{
	shell::Owned<PeerMemory>(memory_.load(std::memory_order_relaxed)).reset();
}

PeerMemory::Kind Peers::kind(const Peer &peer, u64 lasts_ms)
{
	const PeerMemory *memory = memory_.load(std::memory_order_acquire);

	if (memory == nullptr)
		return PeerMemory::Kind::kUnknown;
	shell::Guard guard(lock_);
	return memory->kind(peer, smc_now_ms(), lasts_ms);
}

void Peers::note(const Peer &peer, PeerMemory::Kind kind, u64 lasts_ms)
{
	PeerMemory *memory = shell::get_or_make(memory_, shell::random64());

	if (memory == nullptr)
		return;
	shell::Guard guard(lock_);
	if (kind == PeerMemory::Kind::kServer)
		memory->note_server(peer, smc_now_ms());
	else
		memory->note_stranger(peer, smc_now_ms(), lasts_ms);
}

void Peers::forget_all()
{
	PeerMemory *memory = memory_.load(std::memory_order_acquire);

	if (memory == nullptr)
		return;
	shell::Guard guard(lock_);
	memory->clear();
}

std::optional<PeerMemory::Row> Peers::next(u64 &cursor)
{
	const PeerMemory *memory = memory_.load(std::memory_order_acquire);

	if (memory == nullptr)
		return std::nullopt;
	shell::Guard guard(lock_);
	while (cursor < PeerMemory::kRows) {
		const PeerMemory::Row &row = memory->row(cursor++);

		if (row.kind != PeerMemory::Kind::kUnknown)
			return row;
	}
	return std::nullopt;
}

} // namespace smc::control
