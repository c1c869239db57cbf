// SPDX-License-Identifier: GPL-2.0-only
//
// Dmb: the buffer that one end of a loopback connection receives in, and that the other end copies
// into. DmbPool keeps a few between connections: a new one has to be zeroed as a whole, one that
// was used only as far as it was written. They stay in their network namespace, and in the memory
// cgroup that they are charged to, that of the socket that they were made for. The peer, in another
// namespace perhaps, may hold one for longer than its own namespace lives: it is nobody's then.
// Those that nobody asks for, of cgroups that have gone as well, give way to those that come back,
// and none is kept while memory for rings is scarce.
//
// Locking: the pool's own (class POOL).
#pragma once

#include <array>

#include "core/wire/ids.hpp"
#include "kernel/abi/ring_memory.h"
#include "kernel/abi/sock.h"
#include "shell/base/alloc.hpp"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::transport::loopback {

struct DmbTag;

class Dmb : public shell::ListNode<DmbTag> {
public:
	Dmb(net *net, u64 group, std::byte *data, wire::BufferSize size)
		: net_(net), group_(group), data_(data), size_(size)
	{
	}
	~Dmb() { smc_ring_free(data_, size_.bytes()); }
	Dmb(const Dmb &) = delete;
	Dmb &operator=(const Dmb &) = delete;

	[[nodiscard]] std::byte *data() const { return data_; }
	[[nodiscard]] wire::BufferSize size() const { return size_; }
	// Nullptr: it has gone. With the pool's lock.
	[[nodiscard]] net *netns(const shell::SpinLock &pool) const SMC_REQUIRES(pool)
	{
		return net_.under(pool);
	}
	void disown(const shell::SpinLock &pool) SMC_REQUIRES(pool) { net_.under(pool) = nullptr; }
	// smc_ring_group() of the sock that it was made for.
	[[nodiscard]] u64 group() const { return group_; }

private:
	shell::Guarded<net *> net_;
	const u64 group_;
	std::byte *const data_;
	const wire::BufferSize size_;
};

class DmbPool {
public:
	// Unused ones that are kept, of each size, and the largest size that is.
	static constexpr u32 kKeepMax = 16;
	static constexpr u32 kKeptCodeMax = 4; // 256 KiB
	// The largest that a connection's ring grows to by itself.
	static constexpr u8 kGrownCodeMax = 5; // 512 KiB
	// Nobody gets a larger one, whatever SO_RCVBUF or net.smc.rmem say.
	static constexpr u8 kCodeMax = 10; // 16 MiB

	DmbPool() = default;
	~DmbPool() { drop(nullptr); }

	// One of the size asked for, or smaller if there is no memory for that; nullptr if there is
	// none at all. All of it is zero. For @sk, which receives in it. Process.
	[[nodiscard]] Dmb *take(struct sock *sk, wire::BufferSize asked);
	// One of @size, which @sk can do without, and no other; nullptr unless it is easily had.
	// Process.
	[[nodiscard]] Dmb *take_spare(struct sock *sk, wire::BufferSize size);
	// Takes it back. @used_bytes of it, from its start, may hold somebody's data. Process.
	void give_back(Dmb *dmb, u32 used_bytes);
	// Frees those of @net (nullptr: all) that are not in use, and forgets whose the others are.
	// Process.
	void drop(const net *net);

private:
	using Dmbs = shell::List<Dmb, DmbTag>;

	[[nodiscard]] Dmb *take_kept(struct sock *sk, wire::BufferSize size);
	[[nodiscard]] Dmb *create(struct sock *sk, wire::BufferSize size, bool spare);
	[[nodiscard]] Dmb *take_one(struct sock *sk, wire::BufferSize size, bool spare);
	// Frees those of @net (nullptr: all) that are not in use. False if there was none.
	bool free_kept(const net *net);
	// Takes such a one out of those that are kept, or none.
	[[nodiscard]] Dmb *take_unused_locked(Dmbs &kept, const net *net) SMC_REQUIRES(lock_);
	// It is no longer counted among those of its namespace.
	void disown_locked(Dmb &dmb) SMC_REQUIRES(lock_);

	shell::SpinLock lock_{SMC_LOCK_POOL};
	std::array<Dmbs, kKeptCodeMax + 1> kept_ SMC_GUARDED_BY(lock_);
	Dmbs lent_ SMC_GUARDED_BY(lock_); // in use
};

} // namespace smc::transport::loopback
