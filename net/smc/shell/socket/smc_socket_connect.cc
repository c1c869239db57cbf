// SPDX-License-Identifier: GPL-2.0-only
//
// SmcSocket's way from connect() to what it becomes: TCP connects, and a handshake is made, runs,
// ends, or is given up.
#include <algorithm>
#include <cerrno>

#include "core/wire/clc.hpp"
#include "kernel/abi/stats.h"
#include "shell/control/fallback.hpp"
#include "shell/socket/smc_socket.hpp"

namespace smc::shell {

void SmcSocket::arm()
{
	// A connect that shutdown() has ended left its mode behind.
	if (!change_mode<Mode::kIdle, Mode::kConnecting>() && mode() != Mode::kConnecting)
		return;
	connect_reported_ = false;
	crossed_.store(false, std::memory_order_relaxed);
	smc_tcp_offer(sk_);
	hook_.add();
}

void SmcSocket::disarm()
{
	if (mode() != Mode::kConnecting || smc_sock_ss(sock_) != SMC_SS_UNCONNECTED)
		return;
	smc_sk_lock(sk_);
	const bool disarmed = smc_sock_ss(sock_) == SMC_SS_UNCONNECTED &&
			      change_mode<Mode::kConnecting, Mode::kIdle>();
	// With the lock: behind it another thread's connect() hangs the same hook in again.
	if (disarmed) {
		smc_tcp_withdraw(sk_);
		unhook();
	}
	smc_sk_unlock(sk_);
}

bool SmcSocket::on_wake()
{
	return look_at_tcp(/*woken=*/true);
}

bool SmcSocket::look_at_tcp(bool woken)
{
	switch (mode()) {
	case Mode::kConnecting: break;
	case Mode::kHandshaking: work_.queue(); return false;
	case Mode::kIdle:
	case Mode::kSmc:
	case Mode::kListening:
	case Mode::kFallen: return false;
	}
	const int state = smc_sk_state(sk_);
	if (state == SMC_TCP_SYN_SENT || state == SMC_TCP_SYN_RECV || state == SMC_TCP_CLOSE ||
	    state == SMC_TCP_LISTEN)
		return false;
	switch (smc_tcp_opened(sk_)) {
	case SMC_TCP_OPENED_PLAIN:
		// This is all that a peer without SMC costs.
		return fall_without_handshake(wire::DeclineReason::kPeerNoSmc);
	case SMC_TCP_OPENED_SELF:
		// There is nobody to talk to, and whatever was said the user would be told.
		return fall_without_handshake(wire::DeclineReason::kOptUnsupp);
	case SMC_TCP_OPENED_CROSSED:
		// Perhaps: the wakeup that is about to come knows.
		if (!woken)
			return false;
		crossed_.store(true, std::memory_order_relaxed);
		break;
	case SMC_TCP_OPENED: break;
	}
	if (change_mode<Mode::kConnecting, Mode::kHandshaking>()) {
		worked_.store(true, std::memory_order_relaxed);
		work_.queue();
	}
	return false;
}

bool SmcSocket::fall_without_handshake(wire::DeclineReason reason)
{
	if (!change_mode<Mode::kConnecting, Mode::kFallen>())
		return false;
	fallback_reason_ = static_cast<u32>(reason);
	control::count_fallback(smc_sk_net(sk_), fallback_reason_, false);
	// After a SYN in place of a SYN-ACK TCP still has it, for the next connection.
	smc_tcp_withdraw(sk_);
	smc_sock_fall(sock_);
	return true;
}

void SmcSocket::resolve()
{
	// Of what comes later, the hook knows.
	if (mode() == Mode::kConnecting && look_at_tcp(/*woken=*/false))
		unhook();
}

bool SmcSocket::settled() const
{
	switch (mode()) {
	case Mode::kConnecting: return smc_sk_is_broken(sk_);
	case Mode::kHandshaking: return false;
	case Mode::kIdle:
	case Mode::kSmc:
	case Mode::kListening:
	case Mode::kFallen: return true;
	}
	return true;
}

int SmcSocket::wait_settled(long *timeo_jiffies)
{
	return smc_sk_wait(
		sk_, timeo_jiffies,
		[](void *self) { return static_cast<SmcSocket *>(self)->settled(); }, this, false);
}

// The handshake lives and dies here, so that release() knows when nothing of it runs any more.
void SmcSocket::run()
{
	if (mode() != Mode::kHandshaking)
		return;
	// What is left of an attempt that failed, or of a connection that was disconnected, must
	// not be taken for this one's. It has ended, so nobody's lock is needed.
	if (attempt_failed_.exchange(false, std::memory_order_acq_rel) && handshake_) {
		handshake_->cancel();
		handshake_.reset();
		if (mode() != Mode::kHandshaking)
			return;
	}
	const bool done = given_up_.load(std::memory_order_acquire) != 0 ? drop_handshake()
									 : make_handshake();
	if (!done)
		work_.queue_if_idle(std::max<u64>(turn_at_sock_.wait_ms(), 1));
}

bool SmcSocket::lock_sock()
{
	return turn_at_sock_.take();
}

bool SmcSocket::drop_handshake()
{
	if (handshake_ && !handshake_->try_cancel())
		return false;
	handshake_.reset();
	if (!lock_sock())
		return false;
	const int error = given_up_.exchange(0, std::memory_order_acq_rel);
	if (error != 0 && mode() == Mode::kHandshaking)
		fail_attempt(error, /*shut=*/false);
	turn_at_sock_.give();
	return true;
}

bool SmcSocket::make_handshake()
{
	if (!handshake_) {
		const bool crossed = crossed_.load(std::memory_order_relaxed);
		handshake_ =
			make_counted<Handshake>(Handshake::Role::kClient, sock_, *this, crossed);
		if (!handshake_)
			return decline_for_memory();
	}
	handshake_->wake();
	return true;
}

bool SmcSocket::decline_for_memory()
{
	if (!lock_sock())
		return false;
	smc_stat_inc(smc_sk_net(sk_), SMC_STAT_NO_MEMORY);
	if (crossed_.load(std::memory_order_relaxed)) {
		// The peer speaks, too, and nobody is there to take it out of the user's data.
		smc_stat_inc(smc_sk_net(sk_), SMC_STAT_CLNT_HS_ERR);
		fail_attempt(ENOMEM, /*shut=*/true);
		turn_at_sock_.give();
		return true;
	}
	// The server waits for a Proposal; tell it that none will come.
	std::array<std::byte, wire::kClcEncodedSizeMax> bytes;
	wire::Decline decline;
	decline.version = 1;
	decline.reason = wire::DeclineReason::kMem;
	const std::size_t length = wire::encode(decline, bytes);
	const int ret = smc_tcp_send(sk_, bytes.data(), length);
	turn_at_sock_.give();
	// A connection that has died meanwhile: its error is the user's.
	if (ret != 0 && smc_sk_state(sk_) == SMC_TCP_CLOSE)
		smc_sk_report_error(sk_, -ret);
	else if (ret != 0)
		smc_log_notice("no memory to decline for", "a connection", 0);
	control::count_fallback(smc_sk_net(sk_), static_cast<u32>(decline.reason), false);
	fall(decline.reason, wire::DeclineReason::kNone);
	unhook();
	return true;
}

bool SmcSocket::on_handshake_done(Handshake &handshake)
{
	const handshake::Finished *outcome = handshake.outcome();

	if (const auto *tcp = std::get_if<handshake::FallBack>(&outcome->outcome)) {
		fall(tcp->reason, tcp->peer_diagnosis);
		unhook();
		return true;
	}
	SockTurn &turn = handshake.turn_at_sock();
	// Also, whoever sets an option finds the connection, or is found by it.
	if (!turn.take())
		return false;
	if (const auto *failure = std::get_if<handshake::Fail>(&outcome->outcome)) {
		fail_attempt(failure->error, /*shut=*/true);
		turn.give();
		return true;
	}
	look_for_dead_tcp();
	take_connection(handshake.take_endpoint());
	// Before others see the mode, who may disconnect the socket and connect it again.
	unhook();
	(void)change_mode<Mode::kHandshaking, Mode::kSmc>();
	turn.give();
	smc_sk_wake(sk_, kWakeAll);
	return true;
}

// @shut: as TCP leaves a connection that the peer has refused, or reset.
void SmcSocket::fail_attempt(int error, bool shut)
{
	unhook();
	// First the error, so that whoever sees the mode sees it, too.
	if (shut)
		smc_tcp_abort(sk_, error);
	else
		smc_tcp_reset(sk_, error);
	attempt_failed_.store(true, std::memory_order_release);
	(void)change_mode<Mode::kHandshaking, Mode::kIdle>();
	smc_sk_wake(sk_, kWakeAll | SMC_POLL_ERR);
}

void SmcSocket::cancel_handshake()
{
	// Without a hook nobody begins one any more.
	if (!worked_.load(std::memory_order_relaxed))
		return;
	// Once the work does not run, it is known whether there is a handshake.
	work_.cancel_sync();
	if (handshake_)
		handshake_->cancel();
	work_.cancel_sync();
	handshake_.reset();
}

// By the work item, which owns the handshake: several threads may want this at once.
void SmcSocket::give_up_handshake(int error)
{
	while (mode() == Mode::kHandshaking) {
		given_up_.store(error, std::memory_order_release);
		work_.queue();
		work_.wait();
		if (mode() != Mode::kHandshaking)
			break;
		// Another thread keeps the lock of this same socket, which it has to itself.
		smc_sk_lock(sk_);
		smc_sk_unlock(sk_);
	}
	given_up_.store(0, std::memory_order_release);
}

} // namespace smc::shell
