// SPDX-License-Identifier: GPL-2.0-only
//
// The rules of one network namespace about the peers with whom it does SMC.
#pragma once

#include <atomic>
#include <optional>

#include "core/control/peer_rules.hpp"
#include "shell/base/alloc.hpp"
#include "shell/base/lock.hpp"

namespace smc::control {

class Rules {
public:
	Rules() = default;
	~Rules();
	Rules(const Rules &) = delete;
	Rules &operator=(const Rules &) = delete;

	// 0 or -errno, see smc_ctl_rule_add(). Process.
	[[nodiscard]] int add(const PeerRule &rule);
	// These in any context.
	[[nodiscard]] bool remove(const PeerRule &rule);
	void remove_all();
	[[nodiscard]] std::optional<PeerRule> rule(u64 index);
	// Takes no lock as long as there has been no rule.
	[[nodiscard]] bool allow(const PeerQuestion &question);

private:
	shell::SpinLock lock_{SMC_LOCK_CONTROL}; // guards the rules
	std::atomic<PeerRules *> rules_{nullptr};
};

} // namespace smc::control
