// SPDX-License-Identifier: GPL-2.0-only
//
// The end of an Endpoint: the user releases it, it sends what is left, waits for the peer within
// its limits, and is retired.
#include <algorithm>

#include "core/base/elapsed.hpp"
#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_clc.h"
#include "shell/transport/endpoint.hpp"
#include "shell/transport/endpoint_change.hpp"

namespace smc::transport {

namespace event = connection::event;

void Endpoint::detach()
{
	u32 departed_bytes;

	{
		shell::Guard guard(lock_);
		detached_ = true;
		departed_bytes = std::exchange(departed_bytes_, 0);
	}
	if (departed_bytes != 0) {
		departed().let_go(departed_bytes);
		departed().forget(*this);
	}
	// Nothing is left to do, and a queued run could outlive the module.
	work_.cancel();
}

bool Endpoint::retire_due()
{
	if (!released_ || retiring_ || !conn_.finished())
		return false;
	if (!conn_.releasable()) {
		conn_.request_completion();
		transmit_locked();
		if (!conn_.releasable())
			return false;
	}
	retiring_ = true;
	return true;
}

// If TCP's connection ended visibly before ours, ours would end with it: once TCP has forgotten a
// closed connection, it answers the peer's keepalive by a reset.
void Endpoint::end_tcp(struct socket *sock)
{
	// TCP's connection has ended already: nothing is kept. The peer need not have ended it:
	// this side may have reset it, over data for a peer that had closed, and still owes the
	// peer its closing flag.
	if (smc_sk_state(sk_) == SMC_TCP_CLOSE)
		return;
	const auto look = [this](const connection::Connection &conn) {
		return std::pair{conn.owes() ||
					 (ends_by_reset() && awaits_peer() && !conn.finished()),
				 resets_tcp(conn)};
	};
	const auto [keeps, by_reset] = with_lock(look);
	if (keeps) {
		smc_tcp_keep(sock);
		shell::Guard guard(lock_);
		keeps_tcp_ = true;
	} else if (by_reset) {
		smc_sk_lock(sk_);
		smc_tcp_reset(sk_, 0);
		smc_sk_unlock(sk_);
	}
}

// Under the lock, so that nobody reports to the sock afterwards.
void Endpoint::leave_sock()
{
	shell::Guard guard(lock_);
	note_left_locked();
}

void Endpoint::release_from_user()
{
	bool departs = false;
	Ending ending;

	change([&]() -> u16 {
		lock_.assert_held();
		note_left_locked();
		released_ = true;
		released_ms_ = smc_now_ms();
		departs = released_locked();
		if (!conn_.releasable()) {
			if (departs)
				depart_locked();
			arm_locked();
		}
		ending = ending_locked(retire_due());
		return 0;
	});
	// Not by a run of its own: the user's thread is as good.
	end(ending);
	if (departs && !ending.retires) {
		make_room();
		settle(event::kReleasable);
	}
}

Endpoint::Ending Endpoint::ending_locked(bool retires)
{
	if (!retires && (conn_.owes() || tcp_waits_ms_locked() != 0))
		return {};
	return {.retires = retires,
		.tcp = std::exchange(keeps_tcp_, false),
		.by_reset = resets_tcp(conn_)};
}

void Endpoint::end(const Ending &ending)
{
	if (ending.tcp)
		smc_tcp_let_go(sk_, ending.by_reset);
	if (ending.retires)
		retire();
}

void Endpoint::depart_locked()
{
	departed_bytes_ =
		conn_.rmb_size_bytes() + (sndbuf_ != nullptr ? conn_.sndbuf_size_bytes() : 0);
	departed().hold(departed_bytes_);
	note_resting_locked();
}

void Endpoint::drop_send_buffer_locked()
{
	sndbuf_ = nullptr;
	if (departed_bytes_ == 0)
		return;
	departed_bytes_ -= conn_.sndbuf_size_bytes();
	departed().let_go(conn_.sndbuf_size_bytes());
}

void Endpoint::note_resting_locked()
{
	if (departed_bytes_ != 0 && conn_.waits_for_peer())
		departed().note_resting(*this);
}

// As TCP does with too many orphans, the newest one that has data left is reset, after those
// without data have left.
void Endpoint::make_room()
{
	departed().make_room();
	shell::Guard guard(lock_);
	if (conn_.unsent_bytes() == 0 || !departed().hold_too_much())
		return;
	smc_stat_inc(net_, SMC_STAT_ORPHAN_LIMITED);
	smc_stat_inc(net_, SMC_STAT_CONN_ABORT);
	conn_.give_up();
	transmit_locked();
}

void Endpoint::leave()
{
	change([&]() -> u16 {
		lock_.assert_held();
		// The peer may have sent a message since it was taken out of the list, and a run
		// may have put it back.
		departed().let_go(std::exchange(departed_bytes_, 0));
		departed().forget(*this);
		if (retiring_ || !conn_.waits_for_peer())
			return event::kReleasable;
		smc_stat_inc(net_, SMC_STAT_ORPHAN_LIMITED);
		part_locked();
		return event::kReleasable;
	});
}

u64 Endpoint::patience_ms_locked() const
{
	return conn_.send_status() == connection::SendStatus::kAborted ? kAbortLimit_ms
								       : kOrphanLimit_ms;
}

bool Endpoint::overdue_locked() const
{
	const u64 now_ms = smc_now_ms();

	return elapsed_ms(progress_ms_, now_ms) >= patience_ms_locked() ||
	       elapsed_ms(released_ms_, now_ms) >= kOrphanTotal_ms;
}

// The peer's time is up. It loses the data that was not sent; if there is none, it is told nothing.
void Endpoint::part_locked()
{
	if (conn_.all_said())
		conn_.leave();
	else
		conn_.give_up();
}

u64 Endpoint::tcp_waits_ms_locked() const
{
	if (!keeps_tcp_ || conn_.finished() || !ends_by_reset())
		return 0;
	const u64 waited_ms = elapsed_ms(released_ms_, smc_now_ms());

	return waited_ms < kTcpWaits_ms ? kTcpWaits_ms - waited_ms : 0;
}

// An endpoint that only waits for the peer is looked at when its time is over, any other one often.
u64 Endpoint::look_in_ms_locked() const
{
	if (!released_ || conn_.eof_withheld() || conn_.owes() || !conn_.waits_for_peer())
		return kLook_ms;
	if (const u64 wait_ms = tcp_waits_ms_locked(); wait_ms != 0)
		return wait_ms;
	const u64 now_ms = smc_now_ms();
	const u64 due_ms =
		std::min(progress_ms_ + patience_ms_locked(), released_ms_ + kOrphanTotal_ms);

	return due_ms > now_ms ? due_ms - now_ms : 1;
}

// Queues a later run for a closed connection, or for a withheld end of file.
void Endpoint::arm_locked()
{
	if (retiring_ || detached_)
		return;
	note_progress_locked();
	const u64 delay_ms = look_in_ms_locked();
	const u64 at_ms = smc_now_ms() + delay_ms;

	// A peer that sends messages all the time must not put off the run for ever. After the long
	// wait the run may come earlier.
	const bool waits = work_.queue_if_idle(delay_ms);
	if (!waits || at_ms < look_ms_) {
		look_ms_ = at_ms;
		if (waits)
			work_.queue_delayed(delay_ms);
	}
}

void Endpoint::note_withheld_locked()
{
	arm_locked();
	if (!detached_)
		end_is_doubtful_locked();
}

// Bytes that moved in either direction since the last look.
void Endpoint::note_progress_locked()
{
	const auto state = conn_.diagnostics();
	const u64 position = state.sent_bytes + state.received_bytes + conn_.peer_window_bytes() +
			     state.rx_consumer.count + state.tx_consumer.count;

	if (position != progress_position_ || progress_ms_ == 0) {
		progress_position_ = position;
		progress_ms_ = smc_now_ms();
	}
}

void Endpoint::run()
{
	Ending ending;

	look_after();
	change([&]() -> u16 {
		lock_.assert_held();
		u16 events = abort_broken_locked();

		if (push_ms_ != 0) {
			push_ms_ = 0;
			conn_.push();
		}
		if (conn_.send_buffer_lacks()) {
			conn_.try_send_buffer_again();
			events |= event::kWritable;
		}
		look_ms_ = 0;
		note_progress_locked();
		if (conn_.eof_withheld() &&
		    elapsed_ms(progress_ms_, smc_now_ms()) >= kWithheldLimit_ms) {
			conn_.give_up_withheld_data();
			smc_stat_inc(net_, SMC_STAT_END_TIMEOUT);
			events |= event::kReadable | event::kEndSeen;
		}
		if (released_ && !conn_.finished() && overdue_locked())
			part_locked();
		// TCP was reset: the peer's program is gone, or an operator ended the connection.
		if (keeps_tcp_ && conn_.owes() && smc_sk_state(sk_) == SMC_TCP_CLOSE) {
			smc_stat_inc(net_, SMC_STAT_TCP_DIED);
			conn_.give_up();
		}
		transmit_locked();
		const bool retires = std::exchange(retires_in_run_, false) || retire_due();
		if (!retires && (released_ || conn_.eof_withheld())) {
			note_resting_locked();
			arm_locked();
		}
		ending = ending_locked(retires);
		return events;
	});
	end(ending);
}

} // namespace smc::transport
