// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/peer_rules.hpp"

#include <algorithm>

namespace smc::control {
namespace {

constexpr unsigned kBitsPerByte = 8;

using Address = std::array<std::uint8_t, 16>;

constexpr unsigned kAddressBits = kBitsPerByte * std::tuple_size_v<Address>;

[[nodiscard]] Address masked(const Address &address, unsigned prefix_bits)
{
	Address result{};
	const unsigned whole = prefix_bits / kBitsPerByte;
	const unsigned rest = prefix_bits % kBitsPerByte;

	std::copy_n(address.begin(), whole, result.begin());
	if (rest != 0)
		result[whole] =
			static_cast<std::uint8_t>(address[whole] & (0xff00U >> rest & 0xffU));
	return result;
}

[[nodiscard]] bool is_valid(const PeerRule &rule)
{
	return (rule.out || rule.in) && rule.prefix_bits <= kAddressBits &&
	       rule.port_first <= rule.port_last &&
	       masked(rule.address, rule.prefix_bits) == rule.address;
}

[[nodiscard]] bool matches(const PeerRule &rule, const PeerQuestion &question)
{
	return (question.out ? rule.out : rule.in) && question.port >= rule.port_first &&
	       question.port <= rule.port_last &&
	       masked(question.address, rule.prefix_bits) == rule.address;
}

} // namespace

PeerRules::Added PeerRules::add(const PeerRule &rule)
{
	if (!is_valid(rule))
		return Added::kInvalid;
	if (std::find(rules_.begin(), rules_.end(), rule) != rules_.end())
		return Added::kExists;
	return rules_.push_back(rule) ? Added::kYes : Added::kFull;
}

bool PeerRules::remove(const PeerRule &rule)
{
	for (std::size_t i = 0; i < rules_.size(); i++) {
		if (rules_[i] == rule) {
			rules_.erase(i);
			return true;
		}
	}
	return false;
}

bool PeerRules::allow(const PeerQuestion &question) const
{
	for (const PeerRule &rule : rules_) {
		if (matches(rule, question))
			return rule.allow;
	}
	return true;
}

} // namespace smc::control
