// SPDX-License-Identifier: GPL-2.0-only
//
// EarlyMessages: messages of the peer that came before the connection began, or began on another
// link, as far as they still mean something then. Messages are cumulative, so the newest one is
// enough, except for an urgent byte: only the message that brings it says that its last byte is
// urgent.
//
// No locking: the connection's lock covers it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "core/base/fixed_vector.hpp"
#include "core/connection/message.hpp"

namespace smc::connection {

class EarlyMessages {
public:
	void keep(const CursorMessage &message)
	{
		// Its cursors do not count, so its place among the others does not matter.
		if ((message.producer_flags & producer_flag::kFailoverValidation) != 0) {
			// The peer has moved twice. What the second one asks for has come, and
			// is heard only after the first one.
			if (validation_ && newest_ && is_at_least(*newest_, message))
				return;
			validation_ = message;
			return;
		}
		// Only the newest urgent mark counts, as everywhere.
		if (newest_ && (newest_->producer_flags & producer_flag::kUrgentPresent) != 0)
			marked_ = newest_;
		newest_ = message;
	}
	// What a compact message that comes now is relative to.
	[[nodiscard]] const std::optional<CursorMessage> &newest() const { return newest_; }
	// To be given to Connection::on_cdc() in this order.
	[[nodiscard]] FixedVector<CursorMessage, 3> all() const
	{
		return those_of({marked_, newest_, validation_});
	}

	// The same at the begin on another link: there the validation speaks of the messages that
	// came by the link before.
	[[nodiscard]] FixedVector<CursorMessage, 3> all_after_move() const
	{
		return those_of({validation_, marked_, newest_});
	}

private:
	[[nodiscard]] static bool is_at_least(const CursorMessage &one, const CursorMessage &other)
	{
		return static_cast<std::int16_t>(one.sequence - other.sequence) >= 0;
	}
	[[nodiscard]] static FixedVector<CursorMessage, 3>
	those_of(std::initializer_list<std::optional<CursorMessage>> kept)
	{
		FixedVector<CursorMessage, 3> messages;

		for (const auto &message : kept) {
			if (message)
				(void)messages.push_back(*message);
		}
		return messages;
	}

	std::optional<CursorMessage> marked_; // older than newest_
	std::optional<CursorMessage> newest_;
	std::optional<CursorMessage> validation_;
};

} // namespace smc::connection
