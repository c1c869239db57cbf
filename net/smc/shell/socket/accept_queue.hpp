// SPDX-License-Identifier: GPL-2.0-only
//
// AcceptQueue: the children that a listener has taken out of TCP's accept queue: those in their
// handshake, those that have completed it and wait for accept(), those that have failed, and those
// without SMC that were put aside. accept() gets them in TCP's order.
//
// Locking: the listener's lock is held around every call.
#pragma once

#include "shell/base/alloc.hpp"
#include "shell/base/list.hpp"
#include "shell/base/ref.hpp"
#include "shell/socket/handshake.hpp"

namespace smc::shell {

class AcceptQueue {
	struct PlainTag;

public:
	// A child without SMC.
	struct Plain : ListNode<PlainTag> {
		struct sock *sk = nullptr;
		u64 turn = 0;
	};
	// The next child for accept(): one of these, or neither.
	struct First {
		Ref<Handshake> done;
		Owned<Plain> plain;
	};

	AcceptQueue() = default;
	AcceptQueue(const AcceptQueue &) = delete;
	AcceptQueue &operator=(const AcceptQueue &) = delete;

	[[nodiscard]] u32 under_way() const { return under_way_.size(); }
	// Handshakes under way, and failed ones that are still here.
	[[nodiscard]] u32 unsettled() const { return under_way_.size() + failed_.size(); }
	// Those that wait for accept().
	[[nodiscard]] u32 waiting() const { return done_.size() + plain_.size(); }

	void put_aside(Owned<Plain> plain);
	// The child's handshake begins.
	void begin(const Ref<Handshake> &child);
	// The child's handshake has ended. False if it failed: accept() does not get it.
	bool end(Handshake &child);

	// The next child for accept(); it is removed.
	[[nodiscard]] First take_first();
	[[nodiscard]] Ref<Handshake> take_done() { return done_.pop_front(); }
	[[nodiscard]] Ref<Handshake> take_failed() { return failed_.pop_front(); }
	[[nodiscard]] Owned<Plain> take_plain() { return Owned<Plain>(plain_.pop_front()); }
	// The first child whose handshake is under way. It stays.
	[[nodiscard]] Ref<Handshake> first_under_way() const
	{
		return Ref<Handshake>::share(under_way_.front());
	}
	// Removes it from its list; none if it is in no list.
	[[nodiscard]] Ref<Handshake> remove(Handshake &child);

private:
	using Children = RefList<Handshake, ChildrenTag>;

	Children under_way_;
	Children done_;               // for accept()
	Children failed_;             // no event for the user
	List<Plain, PlainTag> plain_; // for accept()
	u64 turns_ = 0;               // number of children taken out of TCP's queue
};

} // namespace smc::shell
