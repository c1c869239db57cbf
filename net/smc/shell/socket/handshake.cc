// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/handshake.hpp"

#include <algorithm>
#include <cerrno>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/tcp_peer.h"
#include "shell/base/alloc.hpp"
#include "shell/control/namespace.hpp"
#include "shell/socket/rendezvous.hpp"
#include "shell/transport/transports.hpp"

namespace smc::shell {

using transport::SetupResult;

namespace {

constexpr u64 kTurnGrace_ms = 1000;

} // namespace

Handshake::Handshake(Role role, struct socket *sock, HandshakeOwner &owner, bool crossed)
	: role_(role), crossed_(crossed), sock_(sock), sk_(smc_sock_sk(sock)),
	  net_(smc_sk_net(sk_)), owner_(&owner), setup_(sk_, role == Role::kServer, *this),
	  near_clc_(role == Role::kClient ? NearClc::Side::kClient : NearClc::Side::kServer, *this),
	  turn_at_sock_(sk_)
{
	smc_sk_hold(sk_);
}

Handshake::~Handshake()
{
	smc_sk_put(sk_);
}

void Handshake::last_ref_gone()
{
	// Called by the owner in process context, after cancel() or on_handshake_done().
	Deleter()(this);
}

void Handshake::start()
{
	starting_.store(false, std::memory_order_seq_cst);
	wake();
}

void Handshake::start_here()
{
	begin();
	// A message that was left for it is answered here, too: what a peer in this kernel asks for
	// is soon done.
	if (may_step() && started() && !alone_)
		(void)look_into_inbox();
	// What came before the hook was there, or was left for it, wakes nobody.
	const bool unread = !rendezvous().received(near_clc_).empty() || !smc_tcp_quiet(sk_);
	const bool more = finished_ || (!stalled() && !alone_ && unread);
	const auto delay_ms = more ? std::optional<u64>(0) : next_run_in_ms();

	// From here on all belongs to the runs. One that came too early has left woken_.
	starting_.store(false, std::memory_order_seq_cst);
	if (more || woken_.load(std::memory_order_seq_cst))
		wake();
	else if (delay_ms)
		queue_in(*delay_ms);
}

void Handshake::wake()
{
	// Before queueing: see come_again().
	woken_.store(true, std::memory_order_seq_cst);
	work_.queue();
}

bool Handshake::on_wake()
{
	wake();
	return false;
}

void Handshake::watch()
{
	hook_.add();
}

void Handshake::on_setup_result(SetupResult result, wire::DeclineReason reason)
{
	{
		Guard guard(lock_);
		if (!results_.push_back({result, reason}))
			smc_warn_bug("too many answers for one handshake");
	}
	wake();
}

bool Handshake::end(bool may_wait)
{
	cancelled_.store(true, std::memory_order_release);
	// From here on run() does nothing.
	work_.cancel();
	work_.wait();
	// Nothing wakes it any more, and a run that does come has its own reference.
	if (told_) {
		setup_.drop();
		return true;
	}
	hook_.remove();
	may_wait_ = may_wait;
	proceed();
	if (may_step()) {
		if (started())
			step(handshake::Abort{});
		if (!stalled())
			setup_.give_back(false);
	}
	if (stalled())
		return false;
	setup_.drop();
	// A run that the last one armed, or a wakeup in between.
	work_.cancel();
	work_.wait();
	// An outcome that the owner was not told of does not count.
	if (!told_)
		finished_.reset();
	return true;
}

bool Handshake::stop_for_heir()
{
	cancelled_.store(true, std::memory_order_release);
	work_.cancel();
	work_.wait();
	const auto *server = std::get_if<handshake::ServerHandshake>(&machine_);

	return !finished_ && server != nullptr && server->peer_may_confirm();
}

void Handshake::go_on(HandshakeOwner &heir)
{
	owner_ = &heir;
	cancelled_.store(false, std::memory_order_release);
	// Also for the timer, and for events in the meantime.
	wake();
}

// ---- The work item ------------------------------------------------------------------------------

void Handshake::run()
{
	if (starting_.load(std::memory_order_seq_cst))
		return;
	woken_.store(false, std::memory_order_seq_cst);
	if (!cancelled_.load(std::memory_order_acquire) && !told_) {
		proceed();
		timed_out_ = timed_out_ && !may_step();
		if (may_step() && !started())
			begin();
		else if (may_step() && alone_)
			look_for_server();
		if (started() && !alone_)
			exchange();
		if (finished_) {
			hook_.remove();
			// Before the call: in it another owner may take the handshake over.
			told_ = true;
			if (!owner_->on_handshake_done(*this)) {
				told_ = false;
				come_again();
			}
		} else {
			come_again();
		}
	}
}

// Queues the next run: for the timer, or when the sock's lock may be free.
void Handshake::come_again()
{
	if (const auto delay_ms = next_run_in_ms())
		queue_in(*delay_ms);
}

std::optional<u64> Handshake::next_run_in_ms()
{
	const u64 delay_ms = turn_at_sock_.wait_ms();

	if (finished_)
		return std::max<u64>(delay_ms, 1);
	if (delay_ms != 0)
		return delay_ms;
	const u64 due_ms = alone_ ? alone_until_ms_ : deadline_ms_;
	if (due_ms == 0)
		return std::nullopt;
	const u64 now_ms = smc_now_ms();

	return due_ms > now_ms ? due_ms - now_ms : 1;
}

void Handshake::queue_in(u64 delay_ms)
{
	// A wakeup since this run began must not wait for the timer.
	work_.queue_if_idle(delay_ms);
	// queue_if_idle() may have put off the run of that wakeup.
	if (woken_.load(std::memory_order_seq_cst))
		wake();
}

bool Handshake::lock_sock()
{
	if (may_wait_) {
		turn_at_sock_.wait();
		return true;
	}
	return turn_at_sock_.take_briefly();
}

void Handshake::begin()
{
	if (!lock_sock())
		return;
	smc_tcp_clc_begin(sk_, &saved_);
	owner_->clc_begins(saved_.rcvlowat);
	turn_at_sock_.give();
	const u64 epoch = control::Namespace::of(net_).epoch();
	const handshake::LocalOffer offer = make_offer();
	if (role_ == Role::kClient && !offer.any() &&
	    offer.unavailable == wire::DeclineReason::kNoSmcDev)
		owner_->on_no_device(epoch);
	if (role_ == Role::kClient)
		machine_.emplace<handshake::ClientHandshake>(offer, timeouts());
	else
		machine_.emplace<handshake::ServerHandshake>(offer, handshake::Timeouts());
	// Two clients have no server to meet.
	if (offer.smcd && !crossed_) {
		const bool meets_all =
			transport::reach_in_kernel(net_) == transport::Reach::kKernel;
		const net *within = meets_all ? nullptr : net_;
		const NearKey key = role_ == Role::kClient
					    ? NearKey{saved_.sent, saved_.received, within}
					    : NearKey{saved_.received, saved_.sent, within};

		alone_ = !rendezvous().enter(near_clc_, key) && role_ == Role::kClient;
		alone_until_ms_ = smc_now_ms() + kAlone_ms;
	}
	step(handshake::Start{.crossed = crossed_});
}

handshake::LocalOffer Handshake::make_offer()
{
	// Who offers nothing is silent until the peer proposes.
	if (crossed_ && !smc_tcp_sees_crossed_option()) {
		handshake::LocalOffer nothing;

		nothing.unavailable = wire::DeclineReason::kOptUnsupp;
		return nothing;
	}
	return setup_.offer();
}

handshake::Timeouts Handshake::timeouts()
{
	handshake::Timeouts timeouts;

	hurried_ = !owner_->server_may_be_slow();
	if (hurried_) {
		const u32 way_ms = kStrangerRoundTrips * smc_tcp_round_trip_ms(sk_);

		timeouts.accept_ms = std::min(kStranger_ms + way_ms, timeouts.clc_ms);
	}
	return timeouts;
}

// When the time for the Accept is over: the server may have answered others meanwhile.
bool Handshake::has_more_time()
{
	if (!hurried_ || !owner_->server_may_be_slow())
		return false;
	hurried_ = false;
	step(handshake::ServerKnown{});
	return true;
}

// The way of the Proposal, in memory or by TCP, is the way of all later messages.
void Handshake::look_for_server()
{
	const bool patient =
		smc_now_ms() < alone_until_ms_ && smc_sk_state(sk_) == SMC_TCP_ESTABLISHED;

	if (patient && !rendezvous().met(near_clc_))
		return;
	const ByteSpan left = rendezvous().stop_waiting(near_clc_);
	if (!left.empty() && !send_as_segment(left))
		return;
	rendezvous().consume(near_clc_, left.size());
	alone_ = false;
	proceed();
}

void Handshake::exchange()
{
	take_results();
	// First: a message that came in time is not late because nobody has looked.
	look_as_long_as_wanted();
	if (!may_step() || deadline_ms_ == 0)
		return;
	// Nor is it late while a user's call holds the sock's lock. A user may hold it for ever,
	// though, and others may wait for this handshake, so only for a limited time.
	const u64 grace_ms = turn_at_sock_.wait_ms() != 0 ? kTurnGrace_ms : 0;
	if (smc_now_ms() < deadline_ms_ + grace_ms || has_more_time())
		return;
	deadline_ms_ = 0;
	timed_out_ = true;
	step(handshake::Timer{});
	timed_out_ = !may_step();
	look_as_long_as_wanted();
}

void Handshake::look_as_long_as_wanted()
{
	look_due_ = true;
	while (may_step() && std::exchange(look_due_, false))
		look_into_stream();
}

void Handshake::take_results()
{
	while (may_step()) {
		Result next;
		{
			Guard guard(lock_);
			if (results_.empty())
				return;
			next = results_[0];
			results_.erase(0);
		}
		switch (next.result) {
		case SetupResult::kLinkConnected: step(handshake::LinkConnected{}); break;
		case SetupResult::kLinkConnectFailed:
			step(handshake::LinkConnectFailed{next.reason});
			break;
		case SetupResult::kRkeyAnnounced: step(handshake::RkeyAnnounced{}); break;
		case SetupResult::kRkeyAnnounceFailed:
			step(handshake::RkeyAnnounceFailed{next.reason});
			break;
		case SetupResult::kLinkConfirmed: step(handshake::LinkConfirmed{}); break;
		case SetupResult::kLinkConfirmFailed:
			step(handshake::LinkConfirmFailed{next.reason});
			break;
		case SetupResult::kGroupSettled:
			take_answer(setup_.ask_again());
			proceed();
			break;
		}
	}
}

void Handshake::look_into_stream()
{
	if (look_into_inbox() || smc_tcp_quiet(sk_))
		return;
	from_near_ = false;
	bool eof = false;
	const MutableByteSpan room = rendezvous().room_for_tcp(near_clc_);
	if (!lock_sock())
		return;
	const int n = smc_tcp_peek(sk_, room.data(), room.size(), &eof);
	turn_at_sock_.give();

	// TCP's bytes, or its end, must not overtake the peer's last message, which led to them.
	if ((n != 0 || eof) && look_into_inbox()) {
		// smc_tcp_peek() has cleared the error: keep it for the next call, or the user.
		if (n < 0)
			smc_sk_report_error(sk_, -n);
		return;
	}
	if (n < 0) {
		tcp_error_ = -n;
		step(handshake::TcpError{-n});
	} else if (n > 0 || eof) {
		// Unlike a FIN, a reset does not say that nothing was to follow.
		const bool torn = role_ == Role::kServer && n > 0 && eof &&
				  smc_sk_state(sk_) == SMC_TCP_CLOSE;

		given_ = room.first(static_cast<std::size_t>(n));
		step(handshake::TcpBytes{given_, eof && !torn});
		// These bytes were no whole message.
		if (torn && may_step() && !look_due_)
			step(handshake::TcpError{handshake::kConnectionReset});
	}
}

bool Handshake::look_into_inbox()
{
	const ByteSpan bytes = rendezvous().received(near_clc_);

	if (bytes.empty())
		return false;
	from_near_ = true;
	given_ = bytes;
	step(handshake::TcpBytes{bytes, /*eof=*/false});
	return true;
}

} // namespace smc::shell
