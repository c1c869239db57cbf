// SPDX-License-Identifier: GPL-2.0-only
//
// AcceptQueue: what a listener has taken out of TCP's accept queue: children in their handshake,
// those that are through with it and wait for accept(), those that have failed, and those without
// SMC that were put aside. accept() gets them in the order in which TCP had them.
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
	// One without SMC.
	struct Plain : ListNode<PlainTag> {
		struct sock *sk = nullptr;
		u64 turn = 0;
	};
	// What accept() gets: one of these, or neither.
	struct First {
		Ref<Handshake> done;
		Owned<Plain> plain;
	};

	AcceptQueue() = default;
	AcceptQueue(const AcceptQueue &) = delete;
	AcceptQueue &operator=(const AcceptQueue &) = delete;

	[[nodiscard]] u32 under_way() const { return under_way_.size(); }
	// Under way, or failed and not yet taken out.
	[[nodiscard]] u32 unsettled() const { return under_way_.size() + failed_.size(); }
	// For accept().
	[[nodiscard]] u32 waiting() const { return done_.size() + plain_.size(); }

	void put_aside(Owned<Plain> plain);
	// Its handshake begins.
	void begin(const Ref<Handshake> &child);
	// Its handshake is over, and has an outcome. False if it has failed, which is nothing for
	// accept().
	bool end(Handshake &child);

	// What accept() gets next.
	[[nodiscard]] First take_first();
	[[nodiscard]] Ref<Handshake> take_done() { return done_.pop_front(); }
	[[nodiscard]] Ref<Handshake> take_failed() { return failed_.pop_front(); }
	[[nodiscard]] Owned<Plain> take_plain() { return Owned<Plain>(plain_.pop_front()); }
	// The first one whose handshake is under way. It stays.
	[[nodiscard]] Ref<Handshake> first_under_way() const
	{
		return Ref<Handshake>::share(under_way_.front());
	}
	// Takes it out of the list that it is in; none if that is none.
	[[nodiscard]] Ref<Handshake> remove(Handshake &child);

private:
	using Children = RefList<Handshake, ChildrenTag>;

	Children under_way_;
	Children done_;               // for the user
	Children failed_;             // no event for the user
	List<Plain, PlainTag> plain_; // for the user
	u64 turns_ = 0;               // so many were taken out of TCP's queue
};

} // namespace smc::shell
