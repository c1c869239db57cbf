// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/listener.hpp"

#include <algorithm>
#include <cerrno>

#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_path.h"
#include "shell/socket/orphans.hpp"

namespace smc::shell {

bool limits_handshakes(smc_hs_limit limit, net *net)
{
	return limit == SMC_HS_LIMIT_NET ? smc_sysctl_limit_smc_hs(net) : limit == SMC_HS_LIMIT_ON;
}

Listener::Listener(struct socket *sock, smc_hs_limit limit)
	: sk_(smc_sock_sk(sock)), limit_(limit), hook_(sock, *this)
{
	smc_tcp_hold_answers();
}

Listener::~Listener()
{
	smc_tcp_drop_answers();
}

void Listener::open()
{
	smc_tcp_watch_children(sk_);
	if (!listed_) {
		listed_ = true;
		smc_net_listens(smc_sk_net(sk_));
	}
	{
		Guard guard(lock_);
		smc_tcp_limit_handshakes(sk_, false, limit_);
	}
	hook_.add();
}

bool Listener::on_wake()
{
	// As long as only peers without SMC connect there is nothing to do.
	switch (smc_tcp_accept_hint(sk_)) {
	case SMC_ACCEPT_EMPTY: break;
	case SMC_ACCEPT_SMC: work_.queue(); break;
	// If two come at once, the second wakeup may see the first one only.
	case SMC_ACCEPT_PLAIN: work_.queue_if_idle(kLookAgain_ms); break;
	}
	return false;
}

// A full backlog does not stop peers that were offered SMC: they would wait in vain.
// limit_offers_locked() bounds their number; may_start() bounds those put aside.
bool Listener::may_start()
{
	Guard guard(lock_);
	return may_start_locked();
}

bool Listener::may_start_locked()
{
	limit_offers_locked();
	held_up_ = queue_.unsettled() >= kHandshakesMax ||
		   queue_.waiting() > smc_sk_max_backlog(sk_) + kHandshakesMax;
	return !closed_ && !held_up_;
}

// The user's backlog bounds them, as TCP's queue. A small backlog is exceeded up to kBurst, unless
// the limit was asked for: a program that accepts a moment late would lose SMC for some
// connections.
void Listener::limit_offers_locked()
{
	if (tcps_own_)
		return;
	const u32 backlog = smc_sk_max_backlog(sk_);
	const bool limited = limits_handshakes(limit_, smc_sk_net(sk_));
	const u32 counted = queue_.waiting() + (limited ? queue_.under_way() : 0);
	const u32 room = limited ? backlog : std::max(backlog, kBurst);
	const bool full = queue_.under_way() >= kOffersMax || counted > room;

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
	drop(&AcceptQueue::take_failed);
	// A child without SMC may be at the head now. Only if something was done: the user's wakeup
	// also wakes this hook, and would lead to another run for ever.
	if (take_out() && smc_tcp_accept_head(sk_) == SMC_ACCEPT_PLAIN)
		smc_sk_wake(sk_, SMC_POLL_IN);
	if (smc_sk_state(sk_) != SMC_TCP_LISTEN)
		drop_done();
}

// Takes all children with SMC out of TCP's queue, and those before them. True if it took any.
bool Listener::take_out()
{
	bool any = false;

	if (!may_start())
		return false;
	for (u32 left = smc_tcp_accept_up_to_smc(sk_); left != 0 && may_start(); left--) {
		// poll() has promised a child without SMC: once it is out, its place must exist.
		if (!spare_)
			spare_ = make<AcceptQueue::Plain>();
		if (!spare_) {
			smc_stat_inc(smc_sk_net(sk_), SMC_STAT_NO_MEMORY);
			work_.queue_if_idle(kLookAgain_ms);
			break;
		}
		set_taking(true);
		struct sock *child = smc_tcp_take_out(sk_);
		if (child != nullptr && smc_tcp_agreed(child))
			start(child, /*here=*/true);
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
	spare_->sk = child;
	{
		Guard guard(lock_);
		queue_.put_aside(std::move(spare_));
		note_waiting_locked();
		limit_offers_locked();
	}
	// A user whom TCP woke for it may have looked while it was in neither queue.
	smc_sk_wake(sk_, SMC_POLL_IN);
}

// Takes over @child, with SMC or without: another thread may have taken the one looked at.
void Listener::start(struct sock *child, bool here)
{
	struct socket *sock =
		smc_tcp_wrap(child, spare_socket_.exchange(nullptr, std::memory_order_acq_rel));
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
		// An accept() may run while the socket becomes TCP's for good: nobody would end a
		// handshake that begins now.
		begins = !closed_;
		if (begins) {
			// Under the lock as well: once it is in the list, close() may end it, and
			// it may complete and be accepted at any moment.
			handshake->watch();
			queue_.begin(handshake);
			limit_offers_locked();
		}
	}
	if (begins) {
		here ? handshake->start_here() : handshake->start();
		return;
	}
	handshake.reset();
	smc_tcp_unwrap(sock);
}

// Nobody waits on the child's socket any more: its handshake has removed its hook.
struct sock *Listener::unwrap(const Handshake &done)
{
	struct socket *socket = done.sock();
	struct sock *child = smc_tcp_empty(socket);

	if (struct socket *other = spare_socket_.exchange(socket, std::memory_order_acq_rel))
		smc_tcp_unwrap(other);
	// Either close() finds it, or it is seen here that close() has been.
	bool closed;
	{
		Guard guard(lock_);
		closed = closed_;
	}
	if (closed)
		drop_spare_socket();
	return child;
}

void Listener::drop_spare_socket()
{
	if (struct socket *spare = spare_socket_.exchange(nullptr, std::memory_order_acq_rel))
		smc_tcp_unwrap(spare);
}

bool Listener::on_handshake_done(Handshake &handshake)
{
	// All of it under the lock: once the handshake is out of the lists and accepted, close()
	// does not know of it, and nothing of this function may still run.
	Guard guard(lock_);
	const bool for_user = queue_.end(handshake);
	note_waiting_locked();
	limit_offers_locked();
	if (!for_user) {
		work_.queue();
		return true;
	}
	smc_sk_wake(sk_, SMC_POLL_IN);
	// There may be room for one more now; or the listener has ended, and drops this one.
	if (held_up_ || smc_sk_state(sk_) != SMC_TCP_LISTEN)
		work_.queue();
	return true;
}

// The first one in TCP's order.
std::optional<Listener::Accepted> Listener::take_waiting()
{
	AcceptQueue::First first; // freed without the lock
	{
		Guard guard(lock_);
		// close() may be in the middle of one of them.
		if (closed_ || queue_.waiting() == 0)
			return std::nullopt;
		first = queue_.take_first();
		note_waiting_locked();
		// There may be room for one more now.
		limit_offers_locked();
		if (held_up_)
			work_.queue();
	}
	return Accepted{std::move(first.done), first.plain ? first.plain->sk : nullptr};
}

// After TCP's queue was found empty: true if a child has been put into ours meanwhile.
bool Listener::came_meanwhile()
{
	for (;;) {
		{
			Guard guard(lock_);
			if (!taking_)
				return !closed_ && queue_.waiting() != 0;
		}
		work_.wait();
	}
}

Result<Listener::Accepted, Errno> Listener::take(bool kern)
{
	for (;;) {
		// Without the lock: one that comes just now is found by came_meanwhile(), or by the
		// next call, as one that comes a moment later.
		if (has_waiting_.load(std::memory_order_acquire)) {
			if (auto waiting = take_waiting())
				return std::move(*waiting);
		}
		int err = -EAGAIN;
		struct sock *child = nullptr;
		const smc_accept_head head = smc_tcp_accept_head(sk_);
		if (head == SMC_ACCEPT_PLAIN || (head == SMC_ACCEPT_SMC && may_start()))
			child = smc_tcp_accept(sk_, kern, &err);
		if (child == nullptr) {
			if (came_meanwhile())
				continue;
			return fail(Errno{err});
		}
		if (!smc_tcp_agreed(child))
			return Accepted{.done = {}, .plain = child};
		start(child, /*here=*/false);
	}
}

bool Listener::may_have_some() const
{
	return has_waiting_.load(std::memory_order_acquire) ||
	       smc_tcp_accept_hint(sk_) != SMC_ACCEPT_SMC || smc_sk_state(sk_) != SMC_TCP_LISTEN;
}

bool Listener::ready()
{
	{
		Guard guard(lock_);
		if (queue_.waiting() != 0)
			return true;
	}
	switch (smc_tcp_accept_head(sk_)) {
	case SMC_ACCEPT_EMPTY: return false;
	case SMC_ACCEPT_PLAIN: return true;
	case SMC_ACCEPT_SMC: break;
	}
	Guard guard(lock_);
	// No work is queued after close().
	if (may_start_locked())
		work_.queue();
	return false;
}

void Listener::drop_done()
{
	drop(&AcceptQueue::take_done);
	drop_plain();
}

void Listener::drop_plain()
{
	for (;;) {
		Owned<AcceptQueue::Plain> plain;
		{
			Guard guard(lock_);
			plain = queue_.take_plain();
		}
		if (!plain)
			break;
		smc_tcp_close(plain->sk);
	}
}

void Listener::drop(Ref<Handshake> (AcceptQueue::*take)())
{
	for (;;) {
		Ref<Handshake> handshake;
		{
			Guard guard(lock_);
			// close() ends these itself, and needs them in the lists.
			if (closed_)
				return;
			handshake = (queue_.*take)();
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
		// A socket may be released twice; the hook can be removed only once.
		if (closed_)
			return;
		closed_ = true;
		note_waiting_locked();
	}
	if (listed_)
		smc_net_stops_listening(smc_sk_net(sk_));
	hook_.remove();
	work_.cancel_sync();
	drop_plain();
	for (;;) {
		Ref<Handshake> handshake;
		{
			Guard guard(lock_);
			handshake = queue_.take_done();
			if (!handshake)
				handshake = queue_.take_failed();
			// It stays in its list until it certainly does not run.
			if (!handshake)
				handshake = queue_.first_under_way();
		}
		if (!handshake)
			break;
		if (handshake->stop_for_heir()) {
			{
				Guard guard(lock_);
				handshake = queue_.remove(*handshake);
			}
			orphans().adopt(std::move(handshake));
			continue;
		}
		handshake->cancel();
		{
			Guard guard(lock_);
			if (auto removed = queue_.remove(*handshake))
				handshake = std::move(removed);
		}
		smc_tcp_unwrap(handshake->sock());
	}
	work_.cancel_sync();
	drop_spare_socket();
}

} // namespace smc::shell
