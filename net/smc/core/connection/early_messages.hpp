// SPDX-License-Identifier: GPL-2.0-only
//
// EarlyMessages: what came from the peer before the connection had begun, as far as it still means
// something then. Messages are cumulative, so the newest one is enough, but for what only one of
// them says: that its last byte is urgent.
//
// No locking: the connection's lock covers it.
#pragma once

#include <optional>

#include "core/base/fixed_vector.hpp"
#include "core/connection/message.hpp"

namespace smc::connection {

class EarlyMessages {
public:
	void keep(const CursorMessage &message)
	{
		// Carries no cursors that count; behind all others it is as good as in its place.
		if ((message.producer_flags & producer_flag::kFailoverValidation) != 0) {
			validation_ = message;
			return;
		}
		// The newest mark counts, here as anywhere else.
		if (newest_ && (newest_->producer_flags & producer_flag::kUrgentPresent) != 0)
			marked_ = newest_;
		newest_ = message;
	}
	// For Connection::on_cdc(), in this order.
	[[nodiscard]] FixedVector<CursorMessage, 3> all() const
	{
		FixedVector<CursorMessage, 3> messages;

		for (const auto &message : {marked_, newest_, validation_}) {
			if (message)
				(void)messages.push_back(*message);
		}
		return messages;
	}

private:
	std::optional<CursorMessage> marked_; // older than newest_
	std::optional<CursorMessage> newest_;
	std::optional<CursorMessage> validation_;
};

} // namespace smc::connection
