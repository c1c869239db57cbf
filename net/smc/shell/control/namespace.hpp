// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <utility>

#include "core/control/eid_table.hpp"
#include "core/control/elsewhere.hpp"
#include "core/control/fallback_reasons.hpp"
#include "core/control/peer_memory.hpp"
#include "core/control/peer_rules.hpp"
#include "core/control/pnet_table.hpp"
#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"
#include "shell/base/lock.hpp"
#include "shell/control/device_epoch.hpp"
#include "shell/control/lazy.hpp"

namespace smc::control {

static_assert(FallbackReasons::kCapacity == SMC_FALLBACK_REASONS);

// The control plane's data of one network namespace.
class Namespace {
public:
	// Its share in the loopback device's link group (SMC-D).
	struct SmcdShare {
		u32 ends = 0;      // of connections: two if both are in this namespace
		u64 dmb_bytes = 0; // that they receive in
	};

	struct Tables {
		PnetTable pnet;
		EidTable eids;
	};

	explicit Namespace(net *net) : number_(next_number++), counters_(smc_counters(net)) {}
	~Namespace() { drop_pnet(nullptr); }
	Namespace(const Namespace &) = delete;
	Namespace &operator=(const Namespace &) = delete;

	// That of a live namespace.
	[[nodiscard]] static Namespace &of(net *net);

	// Another one for each of 65536 namespaces in a row.
	[[nodiscard]] u16 number() const { return number_; }

	// Runs @fn on the tables. It must not sleep.
	template <typename Fn>
	decltype(auto) with_tables(Fn &&fn)
	{
		shell::Guard guard(lock_);
		return fn(std::as_const(tables_));
	}
	// The same, and it may change them.
	template <typename Fn>
	auto change_tables(Fn &&fn)
	{
		shell::Guard guard(lock_);
		const auto result = fn(tables_);
		has_pnet_.store(tables_.pnet.size() != 0, std::memory_order_relaxed);
		has_eids_.store(tables_.eids.size() != 0, std::memory_order_relaxed);
		return result;
	}
	// Without the lock: on most hosts there are none, and each handshake asks several times.
	[[nodiscard]] bool has_pnet() const { return has_pnet_.load(std::memory_order_relaxed); }
	[[nodiscard]] bool has_eids() const { return has_eids_.load(std::memory_order_relaxed); }

	// The namespace's: whoever has come here need not look for them again.
	[[nodiscard]] struct smc_counters *counters() const { return counters_; }

	[[nodiscard]] FallbackReasons &reasons(bool server)
	{
		return server ? server_reasons_ : client_reasons_;
	}

	[[nodiscard]] Lazy<PeerMemory> &peers() { return peers_; }
	[[nodiscard]] Lazy<Elsewhere> &elsewhere() { return elsewhere_; }
	// Hosts that were not in the other namespace of this kernel that has their address.
	[[nodiscard]] Lazy<Elsewhere> &not_near() { return not_near_; }
	[[nodiscard]] Lazy<PeerRules> &rules() { return rules_; }
	// DeviceEpoch::current() for its connections: it has begun another one for itself whenever
	// one of its own settings has changed. Who may change only these does not have others look
	// for devices again. Any context.
	[[nodiscard]] u64 epoch() const
	{
		return DeviceEpoch::current() + epochs_.load(std::memory_order_acquire);
	}
	void begin_epoch() { epochs_.fetch_add(1, std::memory_order_release); }
	// False: there are no rules, and no peer was ever remembered, as on most hosts. Any
	// context.
	[[nodiscard]] bool knows_of_peers() const
	{
		return peers_.there() || elsewhere_.there() || rules_.there();
	}

	// An end was added (@ends 1) or removed (-1), or has got another DMB (0); @dmb_bytes more
	// or less to receive in. Any context.
	void count_smcd(s32 ends, s64 dmb_bytes);
	[[nodiscard]] SmcdShare smcd_share();

	// Takes every PNET entry with @id (nullptr: all) out and frees it. False if there was none.
	bool drop_pnet(const PnetId *id);

private:
	static inline std::atomic<u16> next_number{0};

	const u16 number_;
	struct smc_counters *const counters_;
	shell::SpinLock lock_{SMC_LOCK_CONTROL};
	Tables tables_ SMC_GUARDED_BY(lock_);
	std::atomic<bool> has_pnet_{false};
	std::atomic<bool> has_eids_{false};
	std::atomic<u64> epochs_{0};
	SmcdShare smcd_share_ SMC_GUARDED_BY(lock_);
	Lazy<PeerMemory> peers_;
	Lazy<Elsewhere> elsewhere_;
	Lazy<Elsewhere> not_near_;
	Lazy<PeerRules> rules_;
	FallbackReasons client_reasons_;
	FallbackReasons server_reasons_;
};

} // namespace smc::control
