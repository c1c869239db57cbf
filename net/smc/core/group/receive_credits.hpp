// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>

#include "core/wire/credit.hpp"

namespace smc::group {

// Sees to it that each message finds a receive at the peer, where a queue pair breaks if it does
// not (iWARP has no RNR). Each side announces now and then how many messages it has taken in
// (wire::Credit), and has no more under way than the other one has receives.
//
// An announcement needs a receive as well, and may always be sent: it follows kAnnounceEvery
// messages of the peer, which has at most kControlMax and its own announcements under way, or it
// answers a question, of which one at a time is under way. Let n be all that one side can have
// under way: n <= kControlMax + 1 + (n + kAnnounceEvery - 1) / kAnnounceEvery, so n <= 53. No side
// waits for ever: when all has been taken in, fewer than kAnnounceEvery and those whose receives
// were kept are not announced.
//
// It also knows what has arrived, which a completion does not say over iWARP: there it means that
// the message has left, for TCP. Who has to know, asks.
//
// Counts are modulo 2^32. No locking of its own.
class ReceiveCredits {
public:
	static constexpr std::uint32_t kDataMax = 40;    // under way, for one more CDC message
	static constexpr std::uint32_t kControlMax = 48; // for one more LLC message, or a question
	static constexpr std::uint32_t kAnnounceEvery = 16;
	static constexpr std::uint32_t kUnderWayMax = 53;

	[[nodiscard]] bool may_send_data() const { return under_way() < kDataMax; }
	[[nodiscard]] bool may_send_control() const { return under_way() < kControlMax; }
	// One was posted, of whatever kind, as post number @seq.
	void sent(std::uint64_t seq) { seqs_[++sent_ % kSeqs] = seq; }
	// The peer's announcement. False: it cannot be.
	[[nodiscard]] bool heard(const wire::Credit &credit)
	{
		const std::uint32_t taken = credit.taken - peer_took_;
		const std::uint32_t arrived = credit.arrived - peer_got_;

		if (taken > under_way() || arrived > sent_ - peer_got_ ||
		    sent_ - credit.taken < sent_ - credit.arrived)
			return false;
		if (arrived != 0)
			arrived_seq_ = seqs_[credit.arrived % kSeqs];
		peer_took_ = credit.taken;
		peer_got_ = credit.arrived;
		answer_due_ = answer_due_ || credit.question;
		return true;
	}

	// A message of the peer has given its receive back; or it has come, and keeps it until
	// gave_back().
	void took() { took_++; }
	void kept() { kept_++; }
	void gave_back()
	{
		kept_--;
		took_++;
	}
	[[nodiscard]] bool announcement_due() const
	{
		return answer_due_ || took_ - announced_ >= kAnnounceEvery;
	}
	// The peer has not answered yet.
	[[nodiscard]] bool question_under_way() const { return peer_got_ - question_ >= kHalf; }
	// Somebody waits for an arrival, and no question is under way.
	[[nodiscard]] bool question_due() const
	{
		return awaited_seq_ > arrived_seq_ && !question_under_way() && may_send_control();
	}
	// The next announcement.
	[[nodiscard]] wire::Credit announcement() const
	{
		return {.taken = took_, .arrived = took_ + kept_, .question = question_due()};
	}
	// It was posted.
	void announced(const wire::Credit &credit, std::uint64_t seq)
	{
		sent(seq);
		if (credit.question)
			question_ = sent_;
		announced_ = took_;
		answer_due_ = false;
	}

	// Posts up to this one have certainly arrived.
	[[nodiscard]] std::uint64_t arrived_up_to() const { return arrived_seq_; }
	// Somebody has to know when that one has.
	void await(std::uint64_t seq) { awaited_seq_ = seq > awaited_seq_ ? seq : awaited_seq_; }

	[[nodiscard]] std::uint32_t under_way() const { return sent_ - peer_took_; }

private:
	static constexpr std::uint32_t kSeqs = 64; // of messages under way
	static constexpr std::uint32_t kHalf = 0x80000000;
	static_assert(kSeqs > kUnderWayMax);

	std::uint32_t sent_ = 0;
	std::uint32_t peer_took_ = 0;
	std::uint32_t peer_got_ = 0;
	std::uint32_t took_ = 0;
	std::uint32_t kept_ = 0;
	std::uint32_t announced_ = 0;
	std::uint32_t question_ = 0; // messages sent up to the last one
	bool answer_due_ = false;
	std::uint64_t arrived_seq_ = 0;
	std::uint64_t awaited_seq_ = 0;
	std::array<std::uint64_t, kSeqs> seqs_{};
};

} // namespace smc::group
