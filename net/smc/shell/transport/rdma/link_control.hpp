// SPDX-License-Identifier: GPL-2.0-only
//
// LinkControl: link control (LLC) of a group: the core's GroupMachine with its outgoing and
// incoming messages, its timer, and the statistics of the peer's violations. The other effects of
// the machine go to its Owner, the group.
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

	LinkControl(Owner &owner, Link &link, net *netns, const group::Config &config)
		: owner_(owner), link_(link), netns_(netns), machine_(config), queue_(link, netns)
	{
	}

	// For the machine's direct functions.
	[[nodiscard]] group::GroupMachine &machine() { return machine_; }
	[[nodiscard]] const group::GroupMachine &machine() const { return machine_; }

	// Does nothing after close().
	void step(const group::Event &event);
	// False: the message is kept until Link::give_back().
	[[nodiscard]] bool receive(const Received &message);
	// Everything up to this post has left, or there may be room: waiting messages may go, and
	// requests that were held back for them. 0: no post is known to have left.
	void on_sent(u64 up_to_seq);
	// Requests of the peer wait that can be answered now.
	[[nodiscard]] bool answers_due() const { return queue_.any_waits() && !queue_.is_busy(); }
	// Answers them, and handles the timer. Process.
	void run();
	// When the timer wants run(); 0: never.
	[[nodiscard]] u64 next_ms() const { return timer_ms_; }
	// Something has been sent, and all of it has left.
	[[nodiscard]] bool has_spoken() const { return queue_.has_spoken(); }
	[[nodiscard]] bool drained() { return queue_.drained(); }
	// The link is gone.
	void close();

private:
	void perform(const group::Effect &effect);
	void count_violations();
	void take_in(const Received &message);
	// True: its receive is free.
	[[nodiscard]] bool answer(const Received &request);

	Owner &owner_;
	Link &link_;
	net *const netns_;
	group::GroupMachine machine_;
	ControlQueue queue_;
	group::Counters counted_; // violations already in the statistics
	u64 timer_ms_ = 0;        // machine's; 0: none
	bool closed_ = false;
	std::array<std::byte, SMC_IB_MESSAGE_MAX_BYTES> long_message_;
};

} // namespace smc::transport::rdma
