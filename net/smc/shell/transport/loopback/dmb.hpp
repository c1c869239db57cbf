// SPDX-License-Identifier: GPL-2.0-only
//
// Dmb: the buffer in which one end of a loopback connection receives, and into which the other end
// copies. DmbPool keeps a few between connections: a new one has to be zeroed as a whole, a used
// one only as far as it was written. A kept buffer stays in its network namespace, and in the
// memory cgroup that is charged for it, that of the socket that it was made for. The peer, in
// another namespace perhaps, may use one longer than its namespace lives: then it has no namespace.
// Kept buffers that nobody asks for, also those of removed cgroups, make way for buffers that come
// back, and none is kept while memory for rings is scarce.
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
	// Nullptr: that namespace has gone. With the pool's lock.
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
	// Unused buffers that are kept of each size, and the largest size that is kept.
	static constexpr u32 kKeepMax = 16;
	static constexpr u32 kKeptCodeMax = 4; // 256 KiB
	// The largest ring that a connection grows to by itself.
	static constexpr u8 kGrownCodeMax = 5; // 512 KiB
	// The largest ring of all, whatever SO_RCVBUF or net.smc.rmem say.
	static constexpr u8 kCodeMax = 10; // 16 MiB

	DmbPool() = default;
	~DmbPool() { drop(nullptr); }

	// A zeroed buffer of the size asked for, or of a smaller one if there is no memory for
	// that; nullptr if there is none at all. @sk receives in it. Process.
	[[nodiscard]] Dmb *take(struct sock *sk, wire::BufferSize asked);
	// One of exactly @size, which @sk can do without; nullptr unless memory is plentiful.
	// Process.
	[[nodiscard]] Dmb *take_spare(struct sock *sk, wire::BufferSize size);
	// Takes it back. The first @used_bytes may hold a user's data. Process.
	void give_back(Dmb *dmb, u32 used_bytes);
	// Frees the unused ones of @net (nullptr: of all); those in use have no namespace
	// afterwards. Process.
	void drop(const net *net);

private:
	using Dmbs = shell::List<Dmb, DmbTag>;

	[[nodiscard]] Dmb *take_kept(struct sock *sk, wire::BufferSize size);
	[[nodiscard]] Dmb *create(struct sock *sk, wire::BufferSize size, bool spare);
	[[nodiscard]] Dmb *take_one(struct sock *sk, wire::BufferSize size, bool spare);
	// Frees the unused ones of @net (nullptr: of all). False if there was none.
	bool free_kept(const net *net);
	// Removes such a one from those that are kept, or none.
	[[nodiscard]] Dmb *take_unused_locked(Dmbs &kept, const net *net) SMC_REQUIRES(lock_);
	// Removes it from the count of its namespace.
	void disown_locked(Dmb &dmb) SMC_REQUIRES(lock_);

	shell::SpinLock lock_{SMC_LOCK_POOL};
	std::array<Dmbs, kKeptCodeMax + 1> kept_ SMC_GUARDED_BY(lock_);
	Dmbs lent_ SMC_GUARDED_BY(lock_); // in use
};

} // namespace smc::transport::loopback
