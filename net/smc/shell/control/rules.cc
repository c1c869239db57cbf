// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/rules.hpp"

#include <cerrno>

namespace smc::control {

Rules::~Rules()
{
	shell::Owned<PeerRules>(rules_.load(std::memory_order_relaxed)).reset();
}

int Rules::add(const PeerRule &rule)
{
	PeerRules *rules = shell::get_or_make(rules_);

	if (rules == nullptr)
		return -ENOMEM;
	shell::Guard guard(lock_);
	switch (rules->add(rule)) {
	case PeerRules::Added::kYes: return 0;
	case PeerRules::Added::kInvalid: return -EINVAL;
	case PeerRules::Added::kFull: return -ENOSPC;
	case PeerRules::Added::kExists: return -EEXIST;
	}
	return -EINVAL;
}

bool Rules::remove(const PeerRule &rule)
{
	PeerRules *rules = rules_.load(std::memory_order_acquire);

	if (rules == nullptr)
		return false;
	shell::Guard guard(lock_);
	return rules->remove(rule);
}

void Rules::remove_all()
{
	PeerRules *rules = rules_.load(std::memory_order_acquire);

	if (rules == nullptr)
		return;
	shell::Guard guard(lock_);
	rules->clear();
}

std::optional<PeerRule> Rules::rule(u64 index)
{
	const PeerRules *rules = rules_.load(std::memory_order_acquire);

	if (rules == nullptr)
		return std::nullopt;
	shell::Guard guard(lock_);
	return index < rules->size() ? std::optional(rules->rule(index)) : std::nullopt;
}

bool Rules::allow(const PeerQuestion &question)
{
	const PeerRules *rules = rules_.load(std::memory_order_acquire);

	if (rules == nullptr)
		return true;
	shell::Guard guard(lock_);
	return rules->allow(question);
}

} // namespace smc::control
