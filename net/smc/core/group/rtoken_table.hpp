// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/group/limits.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc.hpp"

namespace smc::group {

// A set of entries, one bit each.
class RtokenSet {
public:
	void insert(RtokenIndex index) { words_[index / 64] |= bit(index); }
	void insert(const RtokenSet &others)
	{
		for (std::size_t i = 0; i < words_.size(); i++)
			words_[i] |= others.words_[i];
	}
	[[nodiscard]] bool contains(RtokenIndex index) const
	{
		return (words_[index / 64] & bit(index)) != 0;
	}
	[[nodiscard]] bool empty() const
	{
		for (const std::uint64_t word : words_) {
			if (word != 0)
				return false;
		}
		return true;
	}

	friend bool operator==(const RtokenSet &, const RtokenSet &) = default;

private:
	static std::uint64_t bit(RtokenIndex index) { return std::uint64_t{1} << (index % 64); }

	std::array<std::uint64_t, 4> words_{};
};

// The peer's RMBs that a link group knows (RFC 7609, 4.4.2): one entry for each RMB, with an
// rkey and an address for each link.
//
// An entry stays while the peer's RMB exists, unless no connection uses it and its place is needed,
// and while a connection uses it: its index is never given to another RMB meanwhile, even if the
// peer deletes the RMB. at() yields nothing then, and the connection must stop writing.
//
// No locking of its own: the caller's lock of the link group guards it.
class RtokenTable {
public:
	static constexpr std::size_t kCapacity = kRtokensMax;

	// For a connection whose Accept or Confirm named this RMB: the entry of it, made if there
	// is none, with one more user. Nothing when the table is full.
	[[nodiscard]] std::optional<RtokenIndex> acquire(LinkIndex link,
							 const wire::RemoteToken &rtoken);
	// The same at a later contact, where the peer's CONFIRM_RKEY comes first: nothing if there
	// is no entry.
	[[nodiscard]] std::optional<RtokenIndex> acquire_known(LinkIndex link,
							       const wire::RemoteToken &rtoken);
	// The connection has ended.
	void release(RtokenIndex index);

	// CONFIRM_RKEY of the peer: the entry of this RMB, made if there is none. Nothing when the
	// table is full.
	[[nodiscard]] std::optional<RtokenIndex> confirm(LinkIndex link,
							 const wire::RemoteToken &rtoken);
	// The same RMB's key and address on one more link.
	void set(RtokenIndex index, LinkIndex link, const wire::RemoteToken &rtoken);
	// The same for the RMB with that key on a link that is known; nothing if there is none.
	void pair(LinkIndex known, wire::Rkey rkey, LinkIndex link,
		  const wire::RemoteToken &rtoken);
	struct Removed {
		RtokenSet places; // of the rkeys that had an entry
		RtokenSet in_use; // of these, the ones that connections still use
	};
	// DELETE_RKEY of the peer: forgets each RMB with one of these rkeys on this link, on all
	// links. The rkeys come in ascending order, so that one look at each entry is enough: a
	// peer may send 255 unknown rkeys as often as it likes, and that must not hold up softirqs.
	[[nodiscard]] Removed remove(LinkIndex link, std::span<const wire::Rkey> rkeys);
	// The link is gone, its rkeys with it. They name their RMBs still, for an Accept or Confirm
	// that is under way, until another link takes its place.
	void lose_link(LinkIndex link);
	void replace_link(LinkIndex link);

	// Nothing on a link that is lost.
	[[nodiscard]] std::optional<wire::RemoteToken> at(RtokenIndex index, LinkIndex link) const;
	// Entries taken.
	[[nodiscard]] std::size_t size() const;

private:
	struct Entry {
		std::array<std::optional<wire::RemoteToken>, kLinksMax> links;
		std::uint16_t users = 0;
		bool present = false;        // the peer has not deleted it
		std::uint64_t confirmed = 0; // the number of its last CONFIRM_RKEY; 0: none

		[[nodiscard]] bool is_free() const { return !present && users == 0; }
	};

	// The peer has deleted it: only its users are left.
	static void withdraw(Entry &entry);
	[[nodiscard]] std::optional<RtokenIndex> find(LinkIndex link,
						      const wire::RemoteToken &rtoken) const;
	[[nodiscard]] std::optional<RtokenIndex> find_room() const;
	[[nodiscard]] std::optional<RtokenIndex> find_or_add(LinkIndex link,
							     const wire::RemoteToken &rtoken);

	std::array<Entry, kCapacity> entries_{};
	std::array<bool, kLinksMax> lost_{};
	std::uint64_t confirmations_ = 0;
};

} // namespace smc::group
