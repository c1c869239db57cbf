// SPDX-License-Identifier: GPL-2.0-only
//
// LinkControl: link control (LLC) of a group: the core's GroupMachine with the outgoing and
// incoming messages of each link, its timer, and the statistics of the peer's violations. The other
// effects of the machine go to its Owner, the group.
//
// Locking: the group's lock is held around every call.
#pragma once

#include <array>

#include "core/group/machine.hpp"
#include "kernel/abi/verbs.h"
#include "shell/transport/rdma/control_queue.hpp"
#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

class LinkControl {
public:
	using Received = ControlQueue::Received;

	// Gets the effects that are not messages.
	class Owner {
	public:
		// From within a call of one of the functions below. SetTimer: next_ms() has
		// changed.
		virtual void on_effect(const group::Effect &effect) = 0;

	protected:
		~Owner() = default;
	};

	using Links = std::array<Link, group::kLinksMax>;

	LinkControl(Owner &owner, Links &links, net *netns, const group::Config &config)
		: owner_(owner), links_(links), netns_(netns),
		  machine_(config), queues_{ControlQueue{links[0], netns},
					    ControlQueue{links[1], netns},
					    ControlQueue{links[2], netns}}
	{
	}

	// For the machine's direct functions.
	[[nodiscard]] group::GroupMachine &machine() { return machine_; }
	[[nodiscard]] const group::GroupMachine &machine() const { return machine_; }

	// Does nothing after close().
	void step(const group::Event &event);
	// A message on this link. False: it is kept until Link::give_back().
	[[nodiscard]] bool receive(group::LinkIndex link, const Received &message);
	// On this link everything up to this post has left, or there may be room: waiting messages
	// may go, and requests that were held back for them. 0: no post is known to have left.
	void on_sent(group::LinkIndex link, u64 up_to_seq);
	// Requests of the peer wait that can be answered now.
	[[nodiscard]] bool answers_due() const;
	// Answers them, and handles the timer. Process.
	void run();
	// When the timer wants run(); 0: never.
	[[nodiscard]] u64 next_ms() const { return timer_ms_; }
	// Something has been sent on this link, and the peer has got all of it. If that is not
	// known it is found out.
	[[nodiscard]] bool is_heard(group::LinkIndex link) { return queues_[link].is_heard(); }
	// All that was posted has left, on every link.
	[[nodiscard]] bool drained();
	// The link is gone: its messages are dropped.
	void drop(group::LinkIndex link) { queues_[link].clear(); }
	// All links are gone.
	void close();

private:
	void perform(const group::Effect &effect);
	void count_violations();
	void take_in(group::LinkIndex link, const Received &message);
	// True: its receive is free.
	[[nodiscard]] bool answer(group::LinkIndex link, const Received &request);
	[[nodiscard]] bool any_unsent() const;

	Owner &owner_;
	Links &links_;
	net *const netns_;
	group::GroupMachine machine_;
	std::array<ControlQueue, group::kLinksMax> queues_;
	group::Counters counted_; // violations already in the statistics
	u64 timer_ms_ = 0;        // machine's; 0: none
	bool closed_ = false;
	std::array<std::byte, SMC_IB_MESSAGE_MAX_BYTES> long_message_;
};

} // namespace smc::transport::rdma
