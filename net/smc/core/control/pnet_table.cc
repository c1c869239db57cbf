// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/pnet_table.hpp"

namespace smc::control {

std::optional<PnetTarget> PnetTarget::eth(std::string_view name)
{
	if (name.size() > kEthNameMax)
		return std::nullopt;
	const auto stored = DeviceName<kIbNameMax>::from(name);
	if (!stored)
		return std::nullopt;
	return PnetTarget(*stored, 0);
}

std::optional<PnetTarget> PnetTarget::ib(std::string_view name, std::uint8_t port)
{
	const auto stored = DeviceName<kIbNameMax>::from(name);
	if (!stored || port < 1 || port > kIbPortMax)
		return std::nullopt;
	return PnetTarget(*stored, port);
}

PnetTable::Added PnetTable::add(PnetEntry &entry)
{
	if (contains(entry.target()))
		return Added::kExists;
	if (room() == 0)
		return Added::kFull;

	entry.serial_ = ++last_serial_;
	entry.next_ = nullptr;
	*tail_ = &entry;
	tail_ = &entry.next_;
	size_++;
	return Added::kYes;
}

bool PnetTable::contains(const PnetTarget &target) const
{
	for (const PnetEntry *entry = head_; entry; entry = entry->next_) {
		if (entry->target_ == target)
			return true;
	}
	return false;
}

PnetEntry *PnetTable::take(const PnetId *id)
{
	for (PnetEntry **link = &head_; *link; link = &(*link)->next_) {
		PnetEntry *entry = *link;
		if (id && entry->id_ != *id)
			continue;
		*link = entry->next_;
		if (tail_ == &entry->next_)
			tail_ = link;
		entry->next_ = nullptr;
		size_--;
		return entry;
	}
	return nullptr;
}

const PnetEntry *PnetTable::next(std::uint64_t after, const PnetId *id) const
{
	for (const PnetEntry *entry = head_; entry; entry = entry->next_) {
		if (entry->serial_ > after && (!id || entry->id_ == *id))
			return entry;
	}
	return nullptr;
}

const PnetId *PnetTable::of_eth(std::string_view name) const
{
	for (const PnetEntry *entry = head_; entry; entry = entry->next_) {
		if (!entry->target_.is_ib() && entry->target_.name() == name)
			return &entry->id_;
	}
	return nullptr;
}

const PnetId *PnetTable::of_ib(std::string_view name, std::string_view parent,
			       std::uint8_t port) const
{
	if (port == 0)
		return nullptr;
	for (const PnetEntry *entry = head_; entry; entry = entry->next_) {
		const PnetTarget &target = entry->target_;
		// A target's name is never empty, so an empty parent matches nothing.
		if (target.port() == port && (target.name() == name || target.name() == parent))
			return &entry->id_;
	}
	return nullptr;
}

} // namespace smc::control
