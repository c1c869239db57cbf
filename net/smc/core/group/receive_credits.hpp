// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace smc::group {

// Sees to it that each message finds a receive at the peer, where a queue pair breaks if it does
// not (iWARP has no RNR). Each side says now and then how many messages it has taken in
// (wire::Credit), and has no more under way than the other one has receives.
//
// That message needs a receive as well, and may always be sent: it follows kAnnounceEvery messages
// of the peer, which has at most kControlMax and its own announcements under way. Let n be all that
// one side can have under way: n <= kControlMax + (n + kAnnounceEvery - 1) / kAnnounceEvery, so
// n <= 52. No side waits for ever: when all has been taken in, fewer than kAnnounceEvery and those
// whose receives were kept are not announced.
//
// Counts are modulo 2^32. No locking of its own.
class ReceiveCredits {
public:
	static constexpr std::uint32_t kDataMax = 40;    // under way, for one more CDC message
	static constexpr std::uint32_t kControlMax = 48; // for one more LLC message
	static constexpr std::uint32_t kAnnounceEvery = 16;
	static constexpr std::uint32_t kUnderWayMax = 52;

	[[nodiscard]] bool may_send_data() const { return under_way() < kDataMax; }
	[[nodiscard]] bool may_send_control() const { return under_way() < kControlMax; }
	// One was posted, of whatever kind.
	void sent() { sent_++; }
	// The peer's announcement. False: it has taken in what was never sent.
	[[nodiscard]] bool heard(std::uint32_t taken)
	{
		if (taken - peer_took_ > under_way())
			return false;
		peer_took_ = taken;
		return true;
	}

	// A message of the peer, of whatever kind, has given its receive back.
	void took() { took_++; }
	[[nodiscard]] bool announcement_due() const { return took_ - announced_ >= kAnnounceEvery; }
	// What an announcement says.
	[[nodiscard]] std::uint32_t taken() const { return took_; }
	// It was posted, and counts as sent.
	void announced()
	{
		announced_ = took_;
		sent_++;
	}

	[[nodiscard]] std::uint32_t under_way() const { return sent_ - peer_took_; }

private:
	std::uint32_t sent_ = 0;
	std::uint32_t peer_took_ = 0;
	std::uint32_t took_ = 0;
	std::uint32_t announced_ = 0;
};

} // namespace smc::group
