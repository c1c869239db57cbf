// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/listener.hpp"

#include <algorithm>

#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/socket/orphans.hpp"

namespace smc::shell {

bool limits_handshakes(smc_hs_limit limit, net *net)
{
	return limit == SMC_HS_LIMIT_NET ? smc_sysctl_limit_smc_hs(net) : limit == SMC_HS_LIMIT_ON;
}

Listener::Listener(struct socket *sock, smc_hs_limit limit)
	: sk_(smc_sock_sk(sock)), limit_(limit), hook_(sock, *this)
{
}

Listener::~Listener() = default;

void Listener::open()
{
	smc_tcp_watch_children(sk_);
	{
		Guard guard(lock_);
		smc_tcp_limit_handshakes(sk_, false, limit_);
	}
	hook_.add();
}

bool Listener::on_wake()
{
	// Peers without SMC are none of our business, as long as there are no others.
	switch (smc_tcp_accept_hint(sk_)) {
	case SMC_ACCEPT_EMPTY: break;
	case SMC_ACCEPT_SMC: work_.queue(); break;
	// Of two that come at once, with one wakeup after the other, the first one is not seen.
	case SMC_ACCEPT_PLAIN: work_.queue_if_idle(kLookAgain_ms); break;
	}
	return false;
}

// Those that were offered SMC are served though the backlog is full: they would wait in vain. That
// they are not too many is seen to by limit_offers_locked(), of those put aside by this.
bool Listener::may_start()
{
	Guard guard(lock_);
	return may_start_locked();
}

bool Listener::may_start_locked()
{
	limit_offers_locked();
	held_up_ = under_way_.size() + failed_.size() >= kHandshakesMax ||
		   waiting_locked() > smc_sk_max_backlog(sk_) + kHandshakesMax;
	return !closed_ && !held_up_;
}

// The user's backlog bounds them, as TCP's queue; a small one not to the letter, unless that was
// asked for: a program that is a moment late would have some of its connections without SMC.
void Listener::limit_offers_locked()
{
	if (tcps_own_)
		return;
	const u32 backlog = smc_sk_max_backlog(sk_);
	const bool limited = limits_handshakes(limit_, smc_sk_net(sk_));
	const u32 counted = waiting_locked() + (limited ? under_way_.size() : 0);
	const u32 room = limited ? backlog : std::max(backlog, kBurst);
	const bool full = under_way_.size() >= kOffersMax || counted > room;

	smc_tcp_limit_handshakes(sk_, full, limit_);
}

void Listener::backlog_changed()
{
	Guard guard(lock_);
	limit_offers_locked();
}

void Listener::stop_limiting()
{
	Guard guard(lock_);
	tcps_own_ = true;
}

void Listener::set_limit(smc_hs_limit limit)
{
	Guard guard(lock_);
	limit_ = limit;
	limit_offers_locked();
}

void Listener::run()
{
	drop(&Listener::failed_);
	// One without SMC may stand at the head now. Not if there was nothing to do: the user's
	// wakeup is one for us, and could lead to the next run for ever.
	if (take_out() && smc_tcp_accept_head(sk_) == SMC_ACCEPT_PLAIN)
		smc_sk_wake(sk_, SMC_POLL_IN);
	if (smc_sk_state(sk_) != SMC_TCP_LISTEN)
		drop_done();
}

// All with SMC out of TCP's queue, and those that stand before them. True if it did something.
bool Listener::take_out()
{
	bool any = false;

	if (!may_start())
		return false;
	for (u32 left = smc_tcp_accept_up_to_smc(sk_); left != 0 && may_start(); left--) {
		// poll() has promised one without SMC: once it is out, nothing may be missing.
		if (!spare_)
			spare_ = make<Plain>();
		if (!spare_) {
			smc_stat_inc(smc_sk_net(sk_), SMC_STAT_NO_MEMORY);
			work_.queue_if_idle(kLookAgain_ms);
			break;
		}
		set_taking(true);
		struct sock *child = smc_tcp_take_out(sk_);
		if (child != nullptr && smc_tcp_agreed(child))
			start(child);
		else if (child != nullptr)
			put_aside(child);
		set_taking(false);
		if (child == nullptr)
			break;
		any = true;
	}
	return any;
}

void Listener::set_taking(bool taking)
{
	Guard guard(lock_);
	taking_ = taking;
}

void Listener::put_aside(struct sock *child)
{
	Plain *plain = spare_.release();
	plain->sk = child;
	{
		Guard guard(lock_);
		plain->turn = turns_++;
		plain_.push_back(*plain);
		limit_offers_locked();
	}
	// Whom TCP woke for it may have looked while it was in neither queue.
	smc_sk_wake(sk_, SMC_POLL_IN);
}

// Takes over @child, whatever it is: another thread may have been faster than the look at it.
void Listener::start(struct sock *child)
{
	struct socket *sock = smc_tcp_wrap(child);
	if (sock == nullptr) {
		smc_stat_inc(smc_sk_net(sk_), SMC_STAT_NO_MEMORY);
		smc_tcp_close(child);
		return;
	}
	auto handshake = make_counted<Handshake>(Handshake::Role::kServer, sock, *this);
	if (!handshake) {
		smc_stat_inc(smc_sk_net(sk_), SMC_STAT_NO_MEMORY);
		smc_tcp_unwrap(sock);
		return;
	}
	bool begins;
	{
		Guard guard(lock_);
		// In the middle of an accept() the socket has become one of TCP's for good: nobody
		// would end what begins now.
		begins = !closed_;
		if (begins) {
			// Under the lock as well: once it is in the list, its socket is close()'s,
			// and it may run to its end and be accepted at any moment.
			handshake->watch();
			handshake->set_turn(turns_++);
			under_way_.push_back(handshake);
			limit_offers_locked();
		}
	}
	if (begins) {
		handshake->start();
		return;
	}
	handshake.reset();
	smc_tcp_unwrap(sock);
}

// In which it is now.
Listener::Children &Listener::list_of_locked(const Handshake &handshake)
{
	if (handshake.outcome() == nullptr)
		return under_way_;
	return handshake.failed() ? failed_ : done_;
}

bool Listener::on_handshake_done(Handshake &handshake)
{
	// All of it under the lock: once the handshake is out of our lists, accepted by somebody,
	// close() does not know of it, and nothing of this function may be left to run then.
	Guard guard(lock_);
	Ref<Handshake> moves = under_way_.remove(handshake);
	if (handshake.failed()) {
		failed_.push_back(std::move(moves));
		limit_offers_locked();
		work_.queue();
		return true;
	}
	// In TCP's order: a client is through before its server is, and may have made its next
	// connection when this one is told.
	Handshake *before = done_.back();
	while (before != nullptr && before->turn() > handshake.turn())
		before = done_.previous(*before);
	done_.insert_behind(before, std::move(moves));
	limit_offers_locked();
	smc_sk_wake(sk_, SMC_POLL_IN);
	// There is room for one more, perhaps; or nobody wants this one any more.
	if (held_up_ || smc_sk_state(sk_) != SMC_TCP_LISTEN)
		work_.queue();
	return true;
}

// The one that TCP had first.
smc_accept_head Listener::take_waiting(Ref<Handshake> *done, struct sock **plain)
{
	Owned<Plain> taken_aside; // freed without the lock
	Guard guard(lock_);
	// close() may be in the middle of one of them.
	if (closed_)
		return SMC_ACCEPT_EMPTY;
	Handshake *handshake = done_.front();
	Plain *aside = plain_.front();
	smc_accept_head taken;

	if (handshake != nullptr && (aside == nullptr || handshake->turn() < aside->turn)) {
		*done = done_.remove(*handshake);
		taken = SMC_ACCEPT_SMC;
	} else if (aside != nullptr) {
		plain_.remove(*aside);
		taken_aside.reset(aside);
		*plain = aside->sk;
		taken = SMC_ACCEPT_PLAIN;
	} else {
		return SMC_ACCEPT_EMPTY;
	}
	// There is room for one more, perhaps.
	limit_offers_locked();
	if (held_up_)
		work_.queue();
	return taken;
}

// After a look into TCP's queue that found nobody: has somebody come past it?
bool Listener::came_meanwhile()
{
	for (;;) {
		{
			Guard guard(lock_);
			if (!taking_)
				return !closed_ && waiting_locked() != 0;
		}
		work_.wait();
	}
}

smc_accept_head Listener::take(bool kern, Ref<Handshake> *done, struct sock **plain, int *err)
{
	for (;;) {
		const smc_accept_head waiting = take_waiting(done, plain);
		if (waiting != SMC_ACCEPT_EMPTY)
			return waiting;
		*err = -11;
		struct sock *child = nullptr;
		if (smc_tcp_accept_head(sk_) != SMC_ACCEPT_SMC || may_start())
			child = smc_tcp_accept(sk_, kern, err);
		if (child == nullptr) {
			if (came_meanwhile())
				continue;
			return SMC_ACCEPT_EMPTY;
		}
		if (!smc_tcp_agreed(child)) {
			*plain = child;
			return SMC_ACCEPT_PLAIN;
		}
		start(child);
	}
}

bool Listener::ready()
{
	{
		Guard guard(lock_);
		if (waiting_locked() != 0)
			return true;
	}
	switch (smc_tcp_accept_head(sk_)) {
	case SMC_ACCEPT_EMPTY: return false;
	case SMC_ACCEPT_PLAIN: return true;
	case SMC_ACCEPT_SMC: break;
	}
	Guard guard(lock_);
	// Nothing is queued behind close().
	if (may_start_locked())
		work_.queue();
	return false;
}

void Listener::drop_done()
{
	drop(&Listener::done_);
	drop_plain();
}

void Listener::drop_plain()
{
	for (;;) {
		Owned<Plain> plain;
		{
			Guard guard(lock_);
			plain.reset(plain_.pop_front());
		}
		if (!plain)
			break;
		smc_tcp_close(plain->sk);
	}
}

void Listener::drop(Children Listener::*list)
{
	for (;;) {
		Ref<Handshake> handshake;
		{
			Guard guard(lock_);
			// close() ends them itself, and must find those that it knows of.
			if (closed_)
				return;
			handshake = (this->*list).pop_front();
		}
		if (!handshake)
			break;
		handshake->cancel();
		smc_tcp_unwrap(handshake->sock());
	}
}

void Listener::close()
{
	{
		Guard guard(lock_);
		// A socket may be released twice; its hook can be taken away once only.
		if (closed_)
			return;
		closed_ = true;
	}
	hook_.remove();
	work_.cancel_sync();
	drop_plain();
	for (;;) {
		Ref<Handshake> handshake;
		{
			Guard guard(lock_);
			handshake = done_.pop_front();
			if (!handshake)
				handshake = failed_.pop_front();
			// Stays in its list until it is certain that it does not run.
			if (!handshake)
				handshake = Ref<Handshake>::share(under_way_.front());
		}
		if (!handshake)
			break;
		if (handshake->stop_for_heir()) {
			{
				Guard guard(lock_);
				handshake = under_way_.remove(*handshake);
			}
			orphans().adopt(std::move(handshake));
			continue;
		}
		handshake->cancel();
		{
			Guard guard(lock_);
			if (done_.linked(*handshake))
				handshake = list_of_locked(*handshake).remove(*handshake);
		}
		smc_tcp_unwrap(handshake->sock());
	}
	work_.cancel_sync();
}

} // namespace smc::shell
