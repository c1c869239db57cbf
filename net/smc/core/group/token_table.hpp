// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/wire/ids.hpp"

namespace smc::group {

// Connections of one link group by alert token (RFC 7609, 4.3: the number that
// a CDC message carries to say whose it is).
//
// A token is chosen by its owner, sent to the peer in Accept or Confirm, and
// comes back in every CDC message, so it is peer-controlled input. Its low 8
// bits are a slot (1..255), which makes lookup one array access; the 24 bits
// above are random, so that a token cannot be guessed and one of a closed
// connection does not reach the slot's next owner. Zero is never a token.
// Compact messages (core/wire/compact.hpp) name the slot alone. So a slot in which one may still
// arrive for the connection before stays taken: it is retired.
//
// Whether a CDC message came in on the link of its connection is for the caller
// to check; the table does not know links.
//
// Holds pointers, owns nothing. No locking of its own: the caller's lock of the
// link group guards it.
template <typename T>
class TokenTable {
public:
	static constexpr std::size_t kCapacity = 255;

	// A slot for @entry, which must not be null. The low 24 bits of @random24
	// become the upper part of the token. Nothing when the table is full.
	[[nodiscard]] std::optional<wire::Token> insert(T *entry, std::uint32_t random24)
	{
		for (std::size_t word = 0; word < used_.size(); word++) {
			std::uint64_t free_slots = ~used_[word];

			if (word == 0)
				free_slots &= ~std::uint64_t{1};
			if (free_slots == 0)
				continue;
			std::size_t slot =
				word * 64 + static_cast<std::size_t>(std::countr_zero(free_slots));
			wire::Token token{(random24 << 8) | static_cast<std::uint32_t>(slot)};

			used_[word] |= std::uint64_t{1} << (slot % 64);
			slots_[slot] = {entry, token, slots_[slot].token};
			size_++;
			return token;
		}
		return std::nullopt;
	}

	// The connection with exactly this token, or null.
	[[nodiscard]] T *find(wire::Token token) const
	{
		const Slot &slot = slots_[token.value() & 0xff];

		return slot.token == token ? slot.entry : nullptr;
	}

	// The last connection that has left this slot had exactly this token: a message for it may
	// be late, and is no mistake of the peer's.
	[[nodiscard]] bool is_past(wire::Token token) const
	{
		const Slot &slot = slots_[token.value() & 0xff];

		return !token.is_zero() &&
		       token == (slot.entry != nullptr ? slot.before : slot.token);
	}
	[[nodiscard]] bool is_retired(std::size_t slot) const
	{
		return (used_[slot / 64] >> (slot % 64) & 1) != 0 && slots_[slot].entry == nullptr;
	}

	// Frees the slot; the connection that had it, or null if there was none.
	T *erase(wire::Token token)
	{
		T *entry = retire(token);

		if (entry != nullptr)
			free_retired(token.value() & 0xff);
		return entry;
	}
	// The same, but the slot stays taken until free_retired().
	T *retire(wire::Token token)
	{
		T *entry = find(token);

		if (entry == nullptr)
			return nullptr;
		slots_[token.value() & 0xff].entry = nullptr;
		size_--;
		retired_++;
		return entry;
	}
	void free_retired(std::size_t slot)
	{
		used_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
		retired_--;
	}

	// Calls @visit(T &, token) for every entry, in slot order. @visit may erase
	// the entry that it is called with.
	template <typename Visit>
	void for_each(Visit &&visit) const
	{
		for (std::size_t slot = 1; slot < slots_.size(); slot++) {
			if (slots_[slot].entry != nullptr)
				visit(*slots_[slot].entry, slots_[slot].token);
		}
	}

	[[nodiscard]] std::size_t size() const { return size_; }
	[[nodiscard]] bool empty() const { return size_ == 0; }
	// Slots that are taken without a connection.
	[[nodiscard]] std::size_t retired() const { return retired_; }
	[[nodiscard]] bool full() const { return size_ + retired_ == kCapacity; }

private:
	struct Slot {
		T *entry = nullptr;
		wire::Token token;  // it is kept when the entry goes
		wire::Token before; // of the last owner but this one
	};

	std::array<Slot, kCapacity + 1> slots_{};
	std::array<std::uint64_t, 4> used_{};
	std::size_t size_ = 0;
	std::size_t retired_ = 0;
};

} // namespace smc::group
