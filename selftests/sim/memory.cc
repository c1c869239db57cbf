// SPDX-License-Identifier: GPL-2.0-only
#include "memory.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "doubles/hash.hpp"
#include "kernel/abi/mem.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/trace.h"
#include "scheduler.hpp"
#include "trace.hpp"
#include "work_queue.hpp"
#include "world.hpp"

namespace sim {

Memory &memory()
{
	static Memory instance;
	return instance;
}

Effort &effort()
{
	static Effort instance;
	return instance;
}

void *Memory::allocate(std::size_t bytes)
{
	effort().allocations++;
	if (world().lacks(world().knobs.no_memory)) {
		note("no memory for %zu bytes", bytes);
		return nullptr;
	}
	void *block = std::malloc(bytes);
	// Nobody may rely on what is in it.
	std::memset(block, 0xa5, bytes);
	blocks_[block] = bytes;
	return block;
}

void Memory::release(void *block)
{
	if (block == nullptr)
		return;
	const auto found = blocks_.find(block);
	if (found == blocks_.end())
		fail("memory is freed that was not allocated");
	check_no_work_in(block, found->second);
	blocks_.erase(found);
	std::free(block);
}

std::size_t Memory::bytes() const
{
	std::size_t sum = 0;

	for (const auto &[block, bytes] : blocks_)
		sum += bytes;
	return sum;
}

std::string Memory::describe() const
{
	std::string text;

	for (const auto &[block, bytes] : blocks_)
		text += " " + std::to_string(bytes);
	return text;
}

namespace {

// Deferred frees. A grace period is a number; the one that began at g is over when no reader is
// left that began before it.
struct Deferred {
	smc_rcu_head *head;
	void (*fn)(smc_rcu_head *);
	u64 period;
};

struct Rcu {
	u64 period = 1;
	std::vector<Deferred> deferred;
	u64 under_way = 0; // taken out of the list, the call has not returned
	bool armed = false;
};

Rcu rcu;

constexpr u64 kGrace_us = 300;

void look();

void arm()
{
	if (rcu.armed)
		return;
	rcu.armed = true;
	scheduler().after(1 + scheduler().random().below(kGrace_us), look);
}

void look()
{
	const u64 oldest = scheduler().oldest_reader();
	std::vector<Deferred> ready;

	rcu.armed = false;
	std::erase_if(rcu.deferred, [&](const Deferred &deferred) {
		if (oldest <= deferred.period)
			return false;
		ready.push_back(deferred);
		return true;
	});
	if (!ready.empty()) {
		rcu.under_way++;
		scheduler().spawn(
			"rcu",
			[ready] {
				for (const Deferred &deferred : ready)
					deferred.fn(deferred.head);
				rcu.under_way--;
			},
			Context::kSoftirq);
	}
	if (!rcu.deferred.empty())
		arm();
}

} // namespace

void begin_reading()
{
	Fiber *fiber = scheduler().current();

	if (fiber->rcu_depth++ == 0)
		fiber->rcu_since = rcu.period;
}

void end_reading()
{
	if (--scheduler().current()->rcu_depth < 0)
		fail("RCU's read side is left twice");
}

} // namespace sim

using namespace sim;

void *smc_mem_alloc(size_t size_bytes)
{
	if (scheduler().current()->is_atomic())
		fail("an allocation that may sleep, in atomic context");
	scheduler().maybe_yield();
	return memory().allocate(size_bytes);
}

void smc_mem_free(void *mem)
{
	memory().release(mem);
}

void smc_rcu_defer(smc_rcu_head *head, void (*fn)(smc_rcu_head *head))
{
	// Readers that begin from here on cannot see it.
	rcu.deferred.push_back({head, fn, rcu.period++});
	arm();
}

void smc_rcu_read_lock()
{
	begin_reading();
}

void smc_rcu_read_unlock()
{
	end_reading();
	scheduler().maybe_yield();
}

void smc_rcu_barrier()
{
	while (!rcu.deferred.empty() || rcu.under_way != 0)
		scheduler().sleep_us(kGrace_us);
}

u64 smc_now_ms()
{
	// Not zero: no test may depend on that.
	const u64 now_ms = scheduler().now_us() / 1000 + 4'294'000;
	const u64 back_ms = world().knobs.clock_back_ms;

	return back_ms != 0 ? now_ms - scheduler().random().below(back_ms + 1) : now_ms;
}

u64 smc_random_u64()
{
	return scheduler().random().next();
}

void smc_random_bytes(void *out, size_t len_bytes)
{
	auto *bytes = static_cast<u8 *>(out);

	for (size_t i = 0; i < len_bytes; i++)
		bytes[i] = static_cast<u8>(scheduler().random().next());
}

u64 smc_hash(const smc_hash_key *key, u64 first, u64 second)
{
	return doubles::hash(key->words[0], first, second);
}

void smc_warn_bug(const char *what)
{
	if (sim::world().warnings_due == 0)
		fail("the module warns: %s", what);
	sim::world().warnings_due--;
	note("warning: %s", what);
}

void smc_log_notice(const char *what, const char *object, u32 value)
{
	note("log: %s %s %u", what, object, value);
}

// Tracing touches nothing that is not there.
void smc_trace_fallback(const struct sock *sk, u32 reason)
{
	note("trace: fallback of a socket of %p, %08x", static_cast<const void *>(smc_sk_net(sk)),
	     reason);
}

void smc_trace_link(const smc_traced_link *link, bool up)
{
	note("trace: link on %s is %s", link->device, up ? "up" : "down");
}

void smc_trace_clc(const struct sock *, bool sent, const void *message, size_t len)
{
	note("trace: CLC type %u, %zu bytes %s", static_cast<const u8 *>(message)[4], len,
	     sent ? "sent" : "received");
}

void smc_trace_stall(const struct sock *, bool peer_is_full)
{
	note("trace: no room, the peer's is %s", peer_is_full ? "full" : "not full");
}
