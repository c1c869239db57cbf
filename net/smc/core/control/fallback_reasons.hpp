// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace smc::control {

// Gives each fallback reason a small number, the index of its counter, in order of first use.
// Reasons never leave. Safe from any number of threads without a lock.
//
// The set is bounded because a reason may come out of the peer's hands; once it is full, reasons
// not seen before share kOther, so that the counters' sum stays right.
class FallbackReasons {
public:
	static constexpr std::size_t kCapacity = 64;
	static constexpr std::size_t kOther = kCapacity;

	// 0 .. kCapacity - 1, or kOther. Reason 0, which means none, is "other" too.
	[[nodiscard]] std::size_t slot_of(std::uint32_t reason)
	{
		if (reason == kFree)
			return kOther;
		for (std::size_t slot = 0; slot < kCapacity; slot++) {
			std::uint32_t seen = codes_[slot].load(std::memory_order_relaxed);
			if (seen == kFree && codes_[slot].compare_exchange_strong(
						     seen, reason, std::memory_order_relaxed))
				return slot;
			// A lost race left the winner's code in seen; it may be ours.
			if (seen == reason)
				return slot;
		}
		return kOther;
	}

	// nullopt: no reason has this slot yet, nor any behind it.
	[[nodiscard]] std::optional<std::uint32_t> reason_at(std::size_t slot) const
	{
		if (slot >= kCapacity)
			return std::nullopt;
		const std::uint32_t code = codes_[slot].load(std::memory_order_relaxed);
		if (code == kFree)
			return std::nullopt;
		return code;
	}

private:
	static constexpr std::uint32_t kFree = 0;

	std::array<std::atomic<std::uint32_t>, kCapacity> codes_{};
};

} // namespace smc::control
