// SPDX-License-Identifier: GPL-2.0-only
//
// ControlQueue: messages of link control (LLC) of one link, outgoing and incoming.
//
// Out: messages that find no room in the send queue wait here, in order. Link control has its own
// places in that queue (abi/verbs.h), and one more for the message that ends the group.
//
// In: a request of the peer keeps its receive until the answer has left. A peer that sends requests
// faster than it takes answers runs out of receives here, and only its own queue pair is held up.
// While kAnswersMax answers are under way further requests wait in their receives; the group's work
// item handles them. Two honest peers cannot block each other by that: each has a handful of
// requests under way (GroupMachine), and there are SMC_IB_RECEIVES receives.
//
// Locking: the group's lock guards it.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/fixed_vector.hpp"
#include "core/group/effect.hpp"
#include "core/group/ring_queue.hpp"
#include "kernel/abi/verbs.h"
#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

class ControlQueue {
public:
	// A message in its receive buffer.
	struct Received {
		smc_ib_receive_slot *receive = nullptr;
		const std::byte *head = nullptr;
		const std::byte *tail = nullptr;
		u32 length_bytes = 0;

		[[nodiscard]] ByteSpan head_bytes() const
		{
			return {head,
				std::min<std::size_t>(length_bytes, SMC_IB_MESSAGE_HEAD_BYTES)};
		}
	};

	ControlQueue(Link &link, net *netns) : link_(link), netns_(netns) {}

	// ---- Out --------------------------------------------------------------------------------

	// Posts it, or keeps it until there is room. Between begin() and end() a response is the
	// answer to that request.
	void send(const group::SendLlc &message);
	[[nodiscard]] bool any_unsent() const { return !unsent_.empty(); }
	// Something was posted, and has arrived. See Link::has_arrived().
	[[nodiscard]] bool is_heard() { return last_seq_ != 0 && link_.has_arrived(last_seq_); }
	// True if everything posted has left.
	[[nodiscard]] bool drained() { return link_.sent_up_to() >= last_seq_; }

	// ---- In ---------------------------------------------------------------------------------

	// A message that has to wait for the requests before it: not a response, nor the peer's
	// DELETE_LINK for the whole group, after which nothing is answered.
	[[nodiscard]] static bool has_to_queue(const Received &message);
	// No request may be answered now.
	[[nodiscard]] bool is_busy() const { return answering() >= kAnswersMax; }
	[[nodiscard]] bool any_waits() const { return !waiting_.empty(); }
	void keep(const Received &request);
	// The oldest waiting request, if it may be answered now.
	[[nodiscard]] std::optional<Received> next();
	void begin(const Received &request) { request_ = request.receive; }
	// True: the request was not answered, and its receive is free.
	[[nodiscard]] bool end() { return std::exchange(request_, nullptr) != nullptr; }
	// Everything up to this post has left, or there may be room: gives back the receives of
	// answered requests, and posts waiting messages.
	void on_sent(u64 up_to_seq);
	// The link is gone, with all its receives.
	void clear();

private:
	static constexpr std::size_t kAnswersMax = 4;
	// Answers, plus our own CONFIRM_LINK and its response, ADD_LINK, TEST_LINK, both kinds of
	// DELETE_LINK, and one flow, since the machine starts none while something waits here.
	static constexpr std::size_t kUnsentMax = kAnswersMax + 7;

	struct Unsent {
		group::SendLlc message;
		smc_ib_receive_slot *receive = nullptr; // of the answered request
	};
	struct Answer {
		u64 seq = 0;
		smc_ib_receive_slot *receive = nullptr;
	};

	[[nodiscard]] std::size_t answering() const { return answers_.size() + unsent_answers_; }
	// False: there is no room. A message that a dead link has lost counts as posted: the group
	// learns of that loss.
	[[nodiscard]] bool post(const group::SendLlc &message, smc_ib_receive_slot *receive);
	void flush();

	Link &link_;
	net *const netns_;
	FixedVector<Unsent, kUnsentMax> unsent_;
	std::size_t unsent_answers_ = 0;
	group::RingQueue<Answer, kAnswersMax> answers_; // posted, oldest first
	group::RingQueue<Received, SMC_IB_RECEIVES> waiting_;
	smc_ib_receive_slot *request_ = nullptr; // the one being answered
	u64 last_seq_ = 0;
};

} // namespace smc::transport::rdma
