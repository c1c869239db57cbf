// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/endpoint.hpp"

#include <cerrno>

#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "shell/transport/endpoint_change.hpp"

namespace smc::transport {

namespace event = connection::event;

Endpoint::Endpoint(smc_tech tech, struct sock *sk, shell::SpinLock *shared)
	: lock_(shared != nullptr ? *shared : own_lock_), sk_(sk), net_(smc_sk_net(sk)),
	  counters_(smc_counters(net_)), tech_(tech)
{
	smc_sk_hold(sk_);
	smc_count(counters_, SMC_STAT_CONN_NEW, 1);
}

Endpoint::~Endpoint()
{
	smc_count(counters_, SMC_STAT_CONN_FREE, 1);
	smc_sk_put(sk_);
}

void Endpoint::snapshot(smc_sock_info &info)
{
	connection::Diagnostics state;
	{
		shell::Guard guard(lock_);
		state = conn_.diagnostics();
		info.sends_behind_cork = sends_behind_cork_;
		info.messages_without_room = messages_without_room_;
	}
	const auto cursor = [](const ring::Cursor &from) -> smc_cursor_info {
		return {from.wrap, from.count};
	};

	info.state = static_cast<u8>(state.state);
	info.has_conn = true;
	info.token = state.token;
	info.sndbuf_bytes = state.sndbuf_size_bytes;
	info.rmbe_bytes = state.rmb_size_bytes;
	info.peer_rmbe_bytes = state.peer_rmb_size_bytes;
	info.rx_prod = cursor(state.rx_producer);
	info.rx_cons = cursor(state.rx_consumer);
	info.tx_prod = cursor(state.tx_producer);
	info.tx_cons = cursor(state.tx_consumer);
	info.tx_prep = cursor(state.tx_prepared);
	info.tx_sent = cursor(state.tx_sent);
	info.tx_fin = cursor(state.tx_finished);
	info.sent_bytes = state.sent_bytes;
	info.received_bytes = state.received_bytes;
	info.sent_messages = state.sent_messages;
	info.stale_messages = state.stale_messages;
	info.repeated_bytes = state.repeated_bytes;
	info.sends_without_room = sends_without_room_.load(std::memory_order_relaxed);
	info.sends_without_window = sends_without_window_.load(std::memory_order_relaxed);
	info.rx_prod_flags = state.rx_producer_flags;
	info.rx_conn_flags = state.rx_state_flags;
	info.tx_prod_flags = state.tx_producer_flags;
	info.tx_conn_flags = state.tx_state_flags;
	snapshot_transport(info);
}

void Endpoint::transmit_locked()
{
	if (!detached_)
		send_locked();
}

// Reads an urgent byte out of the ring before anything else can happen to it. Returns what that
// causes: with SO_OOBINLINE, which the message does not know, the byte can be read.
u16 Endpoint::handle_urgent_locked()
{
	const bool urgent_inline = smc_sk_urgent_inline(sk_);

	// The caller transmits afterwards.
	(void)conn_.set_urgent_inline(urgent_inline);
	conn_.store_urgent(std::to_integer<u8>(rmb_[conn_.urgent_offset_bytes()]));
	return urgent_inline ? event::kReadable : u16{0};
}

// The Connection refused a call of ours: its accounts cannot be trusted any more.
u16 Endpoint::abort_broken_locked()
{
	if (!conn_.broken() || conn_.send_status() == connection::SendStatus::kAborted) [[likely]]
		return 0;
	smc_warn_bug("a connection is called against its contract");
	conn_.abort();
	arm_locked();
	smc_stat_inc(net_, SMC_STAT_CONN_ABORT);
	report_locked(ECONNRESET);
	return event::kReadable | event::kWritable | event::kPeerAborted;
}

// During the handshake TCP's connection may have to go on alone, so it gets no error.
void Endpoint::report_locked(int err)
{
	if (!joined_.load(std::memory_order_relaxed))
		unreported_ = err;
	else if (!left_.load(std::memory_order_acquire))
		smc_sk_report_error(sk_, err);
}

void Endpoint::join_sock()
{
	shell::Guard guard(lock_);
	joined_.store(true, std::memory_order_relaxed);
	if (unreported_ != 0)
		smc_sk_report_error(sk_, unreported_);
}

void Endpoint::note_send_buffer_lacks_locked()
{
	if (detached_)
		return;
	// Until run() says that it is worth another try. Who tries more often than that does not
	// put it off, for others sleep until then.
	const bool waits = conn_.send_buffer_lacks();
	conn_.note_send_buffer_lacks();
	if (!waits)
		work_.queue_delayed(kMemoryRetry_ms);
}

// Bytes that a cork holds go out after a while.
void Endpoint::limit_cork_locked()
{
	if (!conn_.corked() || push_ms_ != 0 || conn_.unsent_bytes() == 0)
		return;
	push_ms_ = smc_now_ms() + kCorkLimit_ms;
	work_.queue_delayed(kCorkLimit_ms);
}

void Endpoint::set_corked(bool corked, bool nodelay)
{
	change([&]() -> u16 {
		lock_.assert_held();
		conn_.set_corked(corked);
		if (nodelay)
			conn_.push();
		transmit_locked();
		limit_cork_locked();
		return conn_.finished() ? event::kReleasable : 0;
	});
}

void Endpoint::produce(u32 bytes, connection::SendHint hint)
{
	change([&]() -> u16 {
		lock_.assert_held();
		writing_ = false;
		if (hint == connection::SendHint::kNormal && post_copied_locked(bytes))
			return 0;
		return append_locked(bytes, hint);
	});
}

bool Endpoint::post_copied_locked(u32 bytes)
{
	connection::QuickPlan plan;

	if (neighbour_ != nullptr || detached_ ||
	    conn_.plan_quickly(bytes, plan) != connection::QuickWay::kSend ||
	    !post_quickly_locked(plan))
		return false;
	conn_.commit_quickly(plan);
	return true;
}

void Endpoint::answer_locked(u16 events)
{
	note_heard_locked(events);
	if (conn_.has_something_to_say() && !detached_)
		send_locked();
}

bool Endpoint::pass_locked(u32 bytes)
{
	shares_lock_with(*neighbour_);
	const u16 events = connection::Connection::pass(conn_, neighbour_->conn_, bytes);
	if (events != 0)
		neighbour_->answer_locked(events);
	return events != 0;
}

u16 Endpoint::append_locked(u32 bytes, connection::SendHint hint)
{
	if (neighbour_ != nullptr && hint == connection::SendHint::kNormal && !detached_ &&
	    pass_locked(bytes))
		return 0;
	const u32 unsent_bytes = conn_.unsent_bytes() + bytes;
	u16 events = 0;

	conn_.produce(bytes, hint);
	if (conn_.unsent_bytes() != unsent_bytes) [[unlikely]] {
		note_stray_bytes();
		events = abort_broken_locked();
	}
	transmit_locked();
	if (conn_.unsent_bytes() == 0)
		return events;
	note_stray_bytes();
	if (conn_.waits_behind_cork())
		sends_behind_cork_++;
	limit_cork_locked();
	return events;
}

void Endpoint::give_room_back()
{
	change([&]() -> u16 {
		lock_.assert_held();
		if (std::exchange(writing_, false))
			transmit_locked();
		return 0;
	});
}

void Endpoint::consume(u32 bytes)
{
	{
		shell::Guard guard(lock_);
		// As a rule the peer need not be told.
		if (!conn_.consume(bytes) && !conn_.eof_withheld())
			return;
	}
	tell_of_room();
}

void Endpoint::tell_of_room()
{
	change([&]() -> u16 {
		lock_.assert_held();
		const u16 events = abort_broken_locked();

		transmit_locked();
		if (conn_.take_ran_empty()) [[unlikely]]
			ring_ran_empty_locked();
		if (conn_.eof_withheld())
			note_withheld_locked();
		return events;
	});
}

void Endpoint::transmit()
{
	change([&]() -> u16 {
		lock_.assert_held();
		transmit_locked();
		return conn_.finished() ? event::kReleasable : 0;
	});
}

void Endpoint::shutdown(bool write, bool read_is_shut)
{
	{
		shell::Guard guard(lock_);
		if (write)
			conn_.shutdown_write();
		if (read_is_shut && conn_.send_status() == connection::SendStatus::kShutdown)
			conn_.refuse_data();
	}
	transmit();
}

void Endpoint::close()
{
	change([&]() -> u16 {
		lock_.assert_held();
		conn_.close();
		transmit_locked();
		return conn_.finished() ? event::kReleasable : 0;
	});
}

void Endpoint::abort()
{
	{
		shell::Guard guard(lock_);
		conn_.abort();
		arm_locked();
	}
	smc_stat_inc(net_, SMC_STAT_CONN_ABORT);
	transmit();
}

void Endpoint::give_up()
{
	smc_stat_inc(net_, SMC_STAT_CONN_ABORT);
	change([&]() -> u16 {
		lock_.assert_held();
		conn_.give_up();
		transmit_locked();
		return event::kReleasable;
	});
}

bool Endpoint::ready_to_write()
{
	shell::Guard guard(lock_);
	return conn_.writable_for_poll() || conn_.send_status() != connection::SendStatus::kOpen;
}

u16 Endpoint::take_in_locked(connection::Verdict verdict)
{
	if (verdict.has(event::kRefused)) {
		arm_locked();
		smc_stat_inc(net_, SMC_STAT_CONN_ABORT);
	} else if (verdict.ok()) {
		if (verdict.has(event::kUrgent)) [[unlikely]]
			verdict.events |= handle_urgent_locked();
		if (conn_.eof_withheld())
			note_withheld_locked();
	} else {
		conn_.abort();
		verdict.events |= event::kReadable | event::kWritable | event::kPeerAborted;
		arm_locked();
		smc_stat_inc(net_, SMC_STAT_VIOLATION);
		smc_stat_inc(net_, verdict.violation == connection::Violation::kMessagesLost
					   ? SMC_STAT_CDC_BAD_SEQUENCE
					   : SMC_STAT_CDC_BAD_CURSOR);
		smc_stat_inc(net_, SMC_STAT_CONN_ABORT);
	}
	// Before anybody can see the end and take it for an orderly one. The peer may have reset
	// TCP, too: whichever came first has set the error.
	if (verdict.has(event::kPeerAborted | event::kRefused) &&
	    smc_sk_state(sk_) != SMC_TCP_CLOSE)
		report_locked(conn_.reset_breaks_pipe() ? EPIPE : ECONNRESET);
	return verdict.events;
}

template <class Message>
connection::Verdict Endpoint::take_message_locked(const Message &message)
{
	const u64 before_bytes = conn_.received_bytes();
	const connection::Verdict verdict = conn_.on_cdc(message);

	if (verdict.has(event::kNewRing)) [[unlikely]]
		enter_ring_locked();
	if (!arrivals_need_sync_) [[likely]]
		return verdict;
	const ring::Segments arrived =
		conn_.newest_segments(static_cast<u32>(conn_.received_bytes() - before_bytes));

	// Before the lock is released, and a reader sees the bytes.
	if (!arrived.empty())
		sync_arrived_locked(arrived);
	return verdict;
}

// What follows from a message.
[[gnu::always_inline]] inline u16 Endpoint::conclude_locked(connection::Verdict verdict)
{
	u16 events = take_in_locked(verdict);
	if (conn_.has_something_to_say())
		send_locked();
	if (conn_.finished())
		events |= event::kReleasable;
	return events;
}

template <class Message>
u16 Endpoint::hear_message_locked(const Message &message)
{
	return detached_ ? u16{0} : conclude_locked(take_message_locked(message));
}

// Once: the peer may send as many of them as it likes.
void Endpoint::refuse_message_locked()
{
	if (conn_.finished() || conn_.send_status() == connection::SendStatus::kAborted) {
		smc_stat_inc(net_, SMC_STAT_VIOLATION);
		smc_stat_inc(net_, SMC_STAT_CDC_BAD_SEQUENCE);
		return;
	}
	note_heard_locked(conclude_locked({.violation = connection::Violation::kMessagesLost}));
}

u16 Endpoint::hear_locked(const connection::CursorMessage &message)
{
	return hear_message_locked(message);
}

[[gnu::always_inline]] inline u16 Endpoint::hear_locked(connection::CompactMessage message)
{
	const u16 events = detached_ || arrivals_need_sync_ ? u16{0} : conn_.hear_quickly(message);

	if (events == 0) [[unlikely]]
		return hear_message_locked(message);
	if (conn_.has_something_to_say())
		send_locked();
	return events;
}

template <class Message>
bool Endpoint::hear_or_keep(const Message &message, const void *carrier,
			    shell::InSoftirq context [[maybe_unused]])
{
	Changes changes;
	bool heard;
	{
		const shell::InnerGuard guard(lock_, context);

		// Its transport's reference is there until then.
		if (detached_) [[unlikely]]
			return true;
		heard = carrier_ == carrier || admit_locked(message, carrier);
		changes = collect_changes(heard ? hear_locked(message) : u16{0});
	}
	settle_changes(changes);
	return heard;
}

bool Endpoint::on_message(const connection::CursorMessage &message, const void *carrier,
			  shell::InSoftirq context)
{
	return hear_or_keep(message, carrier, context);
}

bool Endpoint::on_message(connection::CompactMessage message, const void *carrier,
			  shell::InSoftirq context)
{
	return hear_or_keep(message, carrier, context);
}

u16 Endpoint::begin_locked(const connection::EarlyMessages &early, const void *carrier)
{
	u16 events = 0;

	carrier_ = carrier;
	for (const connection::CursorMessage &message : early.all())
		events |= hear_message_locked(message);
	return events;
}

u16 Endpoint::hear_again_locked(const connection::EarlyMessages &early)
{
	u16 events = 0;

	for (const connection::CursorMessage &message : early.all_after_move())
		events |= hear_message_locked(message);
	return events;
}

u16 Endpoint::send_again_locked()
{
	conn_.fail_over();
	transmit_locked();
	return conn_.finished() ? u16{event::kReleasable} : u16{0};
}

void Endpoint::on_transmit_complete(const connection::TransmitMarker &marker)
{
	connection::Verdict verdict;
	{
		shell::Guard guard(lock_);
		verdict = conn_.on_transmit_complete(marker);
		verdict.events |= abort_broken_locked();
		// A writer that is copying sends what waited together with its own bytes.
		if (conn_.has_something_to_say() && !writing_)
			transmit_locked();
		if (conn_.finished())
			verdict.events |= event::kReleasable;
	}
	settle(verdict.events);
}

void Endpoint::on_room()
{
	transmit();
}

void Endpoint::on_transport_lost(int err)
{
	bool ended_well;
	{
		shell::Guard guard(lock_);
		// The handshake goes on over TCP, and fails when it starts the connection.
		if (conn_.state() == connection::State::kInit) {
			lost_early_ = true;
			return;
		}
		// Everything that the peer sent is here, read or not.
		ended_well = conn_.finished() ||
			     (!conn_.reset() && conn_.at_orderly_end(conn_.readable_bytes()) &&
			      conn_.send_status() != connection::SendStatus::kOpen);
		conn_.transport_lost();
		if (!ended_well)
			report_locked(err);
	}
	settle(event::kReadable | event::kWritable | event::kReleasable);
}

namespace {

// What pollers are told. Of SIGURG: notify().
u32 poll_bits(u16 events)
{
	u32 wake = 0;

	if (events == event::kReadable) [[likely]]
		return SMC_POLL_IN;
	if ((events & event::kUrgent) != 0)
		wake |= SMC_POLL_PRI;
	constexpr u16 ends = event::kPeerDone | event::kPeerClosed | event::kEndSeen;
	if ((events & (event::kReadable | ends)) != 0)
		wake |= SMC_POLL_IN;
	// After our own end it is a hangup, which poll() reports unasked.
	if ((events & ends) != 0)
		wake |= SMC_POLL_ANY | SMC_POLL_RDHUP;
	if ((events & (event::kPeerClosed | event::kPeerAborted | event::kRefused)) != 0)
		wake |= SMC_POLL_ANY | SMC_POLL_OUT | SMC_POLL_HUP;
	if ((events & event::kWritable) != 0)
		wake |= SMC_POLL_OUT;
	return wake;
}

} // namespace

inline void Endpoint::notify(u16 events)
{
	// The sock may have another connection by now.
	if (left_.load(std::memory_order_acquire))
		return;
	if ((events & event::kUrgent) != 0) [[unlikely]]
		smc_sk_sigurg(sk_);
	// Until the user has the connection a wakeup would only have the handshake run once more.
	// Who joins the sock behind the change wakes all users, who then see it.
	if (!joined_.load(std::memory_order_relaxed))
		return;
	const u32 wake =
		poll_bits(events) | (lingering_.load(std::memory_order_acquire) ? SMC_POLL_OUT : 0);
	if (wake != 0)
		smc_sk_wake(sk_, wake);
}

// After every change: wakes sleepers, and retires the endpoint if it has ended.
void Endpoint::settle(u16 events)
{
	news_.fetch_add(1, std::memory_order_release);
	notify(events);
	if ((events & event::kReleasable) != 0) {
		shell::Guard guard(lock_);
		// Under the lock, while the transport's reference certainly exists.
		if (!detached_ && retire_due()) {
			retires_in_run_ = true;
			work_.queue();
		}
	}
}

} // namespace smc::transport
