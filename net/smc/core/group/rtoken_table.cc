// SPDX-License-Identifier: GPL-2.0-only
#include "core/group/rtoken_table.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace smc::group {

static_assert(RtokenTable::kCapacity <= 256, "RtokenIndex and RtokenSet have 8 bits");

std::optional<RtokenIndex> RtokenTable::acquire(LinkIndex link, const wire::RemoteToken &rtoken)
{
	const auto index = find_or_add(link, rtoken);

	if (index)
		entries_[*index].users++;
	return index;
}

std::optional<RtokenIndex> RtokenTable::acquire_known(LinkIndex link,
						      const wire::RemoteToken &rtoken)
{
	return find(link, rtoken) ? acquire(link, rtoken) : std::nullopt;
}

void RtokenTable::release(RtokenIndex index)
{
	Entry &entry = entries_[index];

	expects(entry.users > 0);
	if (entry.users == 0)
		return;
	entry.users--;
	if (entry.is_free())
		entry = {};
}

std::optional<RtokenIndex> RtokenTable::confirm(LinkIndex link, const wire::RemoteToken &rtoken)
{
	const auto index = find_or_add(link, rtoken);

	if (index)
		entries_[*index].confirmed = ++confirmations_;
	return index;
}

void RtokenTable::set(RtokenIndex index, LinkIndex link, const wire::RemoteToken &rtoken)
{
	entries_[index].links[link] = rtoken;
}

void RtokenTable::pair(LinkIndex known, wire::Rkey rkey, LinkIndex link,
		       const wire::RemoteToken &rtoken)
{
	for (Entry &entry : entries_) {
		if (entry.present && entry.links[known] && entry.links[known]->rkey == rkey) {
			entry.links[link] = rtoken;
			return;
		}
	}
}

RtokenTable::Removed RtokenTable::remove(LinkIndex link, std::span<const wire::Rkey> rkeys)
{
	Removed removed;

	for (std::size_t i = 0; i < entries_.size(); i++) {
		Entry &entry = entries_[i];

		if (!entry.present || !entry.links[link])
			continue;
		const wire::Rkey rkey = entry.links[link]->rkey;
		const auto place = std::lower_bound(rkeys.begin(), rkeys.end(), rkey);
		if (place == rkeys.end() || *place != rkey)
			continue;
		removed.places.insert(static_cast<RtokenIndex>(place - rkeys.begin()));
		withdraw(entry);
		if (!entry.is_free())
			removed.in_use.insert(static_cast<RtokenIndex>(i));
	}
	return removed;
}

void RtokenTable::lose_link(LinkIndex link)
{
	lost_[link] = true;
	for (Entry &entry : entries_) {
		bool reachable = false;

		for (std::size_t i = 0; i < entry.links.size(); i++)
			reachable = reachable || (entry.links[i] && !lost_[i]);
		if (entry.present && !reachable)
			withdraw(entry);
	}
}

void RtokenTable::replace_link(LinkIndex link)
{
	lost_[link] = false;
	for (Entry &entry : entries_)
		entry.links[link].reset();
}

std::optional<wire::RemoteToken> RtokenTable::at(RtokenIndex index, LinkIndex link) const
{
	return lost_[link] ? std::nullopt : entries_[index].links[link];
}

std::size_t RtokenTable::size() const
{
	std::size_t taken = 0;

	for (const Entry &entry : entries_)
		taken += entry.is_free() ? 0 : 1;
	return taken;
}

std::optional<RtokenIndex> RtokenTable::find(LinkIndex link, const wire::RemoteToken &rtoken) const
{
	for (std::size_t i = 0; i < entries_.size(); i++) {
		if (entries_[i].present && entries_[i].links[link] == rtoken)
			return static_cast<RtokenIndex>(i);
	}
	return std::nullopt;
}

// A free entry, or else an unused one, so that no RMB is refused while one is unused: Linux, as we
// do, sends CONFIRM_RKEY again before it reuses an RMB. It is the one that was confirmed longest
// ago: for the newest ones an Accept or Confirm is under way.
std::optional<RtokenIndex> RtokenTable::find_room() const
{
	std::optional<RtokenIndex> unused;

	for (std::size_t i = 0; i < entries_.size(); i++) {
		if (entries_[i].is_free())
			return static_cast<RtokenIndex>(i);
		if (entries_[i].users == 0 &&
		    (!unused || entries_[i].confirmed < entries_[*unused].confirmed))
			unused = static_cast<RtokenIndex>(i);
	}
	return unused;
}

std::optional<RtokenIndex> RtokenTable::find_or_add(LinkIndex link, const wire::RemoteToken &rtoken)
{
	const auto known = find(link, rtoken);

	if (known)
		return known;
	const auto room = find_room();

	if (room) {
		entries_[*room] = {};
		entries_[*room].present = true;
		entries_[*room].links[link] = rtoken;
	}
	return room;
}

void RtokenTable::withdraw(Entry &entry)
{
	const std::uint16_t users = entry.users;

	entry = {};
	entry.users = users;
}

} // namespace smc::group
