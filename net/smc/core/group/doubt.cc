// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/doubt.hpp"

#include "core/base/check.hpp"

namespace smc::group {

Doubt::Doubt(const TcpAddress &founder)
{
	const bool fits = entries_.push_back({.address = founder});

	expects(fits);
}

const Doubt::Entry *Doubt::find(const TcpAddress &address) const
{
	for (const Entry &entry : entries_.span()) {
		if (entry.address == address)
			return &entry;
	}
	return nullptr;
}

Doubt::Entry *Doubt::find(const TcpAddress &address)
{
	for (Entry &entry : entries_.span()) {
		if (entry.address == address)
			return &entry;
	}
	return nullptr;
}

// The oldest entry that may be replaced, since nothing of its handshakes is left; 0: none.
std::size_t Doubt::replaceable() const
{
	for (std::size_t i = 1; i < entries_.size(); i++) {
		if (entries_[i].in_doubt == 0 && entries_[i].under_way == 0)
			return i;
	}
	return 0;
}

bool Doubt::admits(const TcpAddress &from) const
{
	const Entry *entry = find(from);

	if (entry != nullptr && entry->own)
		return entry->in_doubt < kOwnMax;
	if (strangers_rmbs_ >= kStrangersMax)
		return false;
	if (entry != nullptr)
		return entry->in_doubt + entry->under_way < kStrangerMax;
	return entries_.size() < kAddressesMax || replaceable() != 0;
}

void Doubt::begin(const TcpAddress &from)
{
	Entry *entry = find(from);

	if (entry == nullptr) {
		if (entries_.size() == kAddressesMax)
			entries_.erase(replaceable());
		const bool fits = entries_.push_back({.address = from});
		expects(fits);
		entry = find(from);
	}
	entry->under_way++;
}

// Drops an entry that has nothing left to remember.
void Doubt::settle(Entry *entry)
{
	entry->under_way--;
	if (entry->own || entry->in_doubt != 0 || entry->under_way != 0)
		return;
	const auto index = static_cast<std::size_t>(entry - entries_.span().data());
	if (index != 0)
		entries_.erase(index);
}

void Doubt::completed(const TcpAddress &from)
{
	Entry *entry = find(from);

	if (!entry->own) {
		entry->own = true;
		strangers_rmbs_ -= entry->in_doubt;
	}
	settle(entry);
}

void Doubt::given_up(const TcpAddress &from)
{
	settle(find(from));
}

void Doubt::left_in_doubt(const TcpAddress &from)
{
	Entry *entry = find(from);

	entry->in_doubt++;
	rmbs_++;
	strangers_rmbs_ += entry->own ? 0 : 1;
	settle(entry);
}

} // namespace smc::group
