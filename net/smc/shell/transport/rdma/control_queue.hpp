// SPDX-License-Identifier: GPL-2.0-only
//
// ControlQueue: messages of link control (LLC) of one link, on their way out and in.
//
// Out: what finds no room in the send queue waits here, in order. Link control has places of its
// own there (abi/verbs.h), and the message that ends the group one that nothing else may take.
//
// In: a request of the peer keeps its receive until the answer has left. Whoever asks faster than
// it takes answers runs out of receives here, and its queue pair makes it wait, and nobody else.
// While kAnswersMax answers are under way, further requests wait in their receives; the group's
// work item takes them up. Two honest peers cannot block each other with that: each has a handful
// of requests on its way (GroupMachine), and there are SMC_IB_RECEIVES.
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
	// A message as it lies in its receive.
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
	[[nodiscard]] bool has_spoken() const { return last_seq_ != 0; }
	// Everything that was posted has left.
	[[nodiscard]] bool drained() { return link_.sent_up_to() >= last_seq_; }

	// ---- In ---------------------------------------------------------------------------------

	// A message whose turn comes after the requests before it: not a response, nor the peer's
	// DELETE_LINK for the whole group, after which nothing is answered.
	[[nodiscard]] static bool has_to_queue(const Received &message);
	// No request may be answered now.
	[[nodiscard]] bool is_busy() const { return answering() >= kAnswersMax; }
	[[nodiscard]] bool any_waits() const { return !waiting_.empty(); }
	void keep(const Received &request);
	// The oldest one that waits, if it may be answered now.
	[[nodiscard]] std::optional<Received> next();
	void begin(const Received &request) { request_ = request.receive; }
	// True: nothing was said to it, its receive is free.
	[[nodiscard]] bool end() { return std::exchange(request_, nullptr) != nullptr; }
	// Everything up to this post has left, or there may be room: gives back the receives of
	// what was answered, and posts what waits.
	void on_sent(u64 up_to_seq);
	// The link is gone, and all receives with it.
	void clear();

private:
	static constexpr std::size_t kAnswersMax = 4;
	// Answers, and of our own CONFIRM_LINK and its response, ADD_LINK, TEST_LINK, DELETE_LINK
	// of both kinds, and one flow, as the machine starts none while something waits here.
	static constexpr std::size_t kUnsentMax = kAnswersMax + 7;

	struct Unsent {
		group::SendLlc message;
		smc_ib_receive_slot *receive = nullptr; // of the request that it answers
	};
	struct Answer {
		u64 seq = 0;
		smc_ib_receive_slot *receive = nullptr;
	};

	[[nodiscard]] std::size_t answering() const { return answers_.size() + unsent_answers_; }
	// False: there is no room. (One that a dead link has lost counts as posted: the group will
	// hear of that.)
	[[nodiscard]] bool post(const group::SendLlc &message, smc_ib_receive_slot *receive);
	void flush();

	Link &link_;
	net *const netns_;
	FixedVector<Unsent, kUnsentMax> unsent_;
	std::size_t unsent_answers_ = 0;
	group::RingQueue<Answer, kAnswersMax> answers_; // posted, oldest first
	group::RingQueue<Received, SMC_IB_RECEIVES> waiting_;
	smc_ib_receive_slot *request_ = nullptr; // what is being answered
	u64 last_seq_ = 0;
};

} // namespace smc::transport::rdma
