// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace smc {

// Lets so many ms pass for a machine with one timer. At its deadline the timer is cleared and due()
// is called, which may set another one.
template <class Due>
void pass_time(std::uint64_t ms, std::uint64_t &now_ms, std::optional<std::uint64_t> &deadline_ms,
	       Due &&due)
{
	const std::uint64_t until_ms = now_ms + ms;

	while (deadline_ms && *deadline_ms <= until_ms) {
		now_ms = std::max(now_ms, *deadline_ms);
		deadline_ms.reset();
		due();
	}
	now_ms = until_ms;
}

} // namespace smc
