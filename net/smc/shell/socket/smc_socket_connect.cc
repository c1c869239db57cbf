// SPDX-License-Identifier: GPL-2.0-only
//
// SmcSocket from connect() on: TCP connects; a handshake is made, runs, ends, or is given up.
#include <algorithm>
#include <cerrno>

#include "core/wire/clc.hpp"
#include "kernel/abi/stats.h"
#include "shell/control/fallback.hpp"
#include "shell/control/policy.hpp"
#include "shell/socket/smc_socket.hpp"

namespace smc::shell {

namespace {

// A server in this kernel would have chosen SMC-D, or would have met the client to decline.
bool answered_from_afar(const handshake::Finished &outcome)
{
	if (const auto *smc = std::get_if<handshake::UseSmc>(&outcome.outcome))
		return !smc->agreement->smcd;
	if (const auto *tcp = std::get_if<handshake::FallBack>(&outcome.outcome))
		return tcp->peer_diagnosis != wire::DeclineReason::kNone;
	return std::get_if<handshake::Fail>(&outcome.outcome)->again == handshake::Again::kStranger;
}

} // namespace

void SmcSocket::arm(const sockaddr *addr, int addr_len, Near near)
{
	// shutdown() has ended an earlier connect() and left its mode.
	if (!change_mode<Mode::kIdle, Mode::kConnecting>() && mode() != Mode::kConnecting)
		return;
	near_ = near;
	connect_reported_.store(false, std::memory_order_relaxed);
	smc_tcp_remember_attempt(sk_, addr, addr_len, &attempt_);
	smc_tcp_offer(sk_);
	hook_.add();
}

smc_peer SmcSocket::attempted_peer() const
{
	smc_peer peer;

	// What is no address of TCP has led to no connection.
	(void)smc_tcp_attempted_peer(&attempt_, &peer);
	return peer;
}

void SmcSocket::disarm()
{
	if (mode() != Mode::kConnecting || smc_sock_ss(sock_) != SMC_SS_UNCONNECTED)
		return;
	smc_sk_lock(sk_);
	withdraw();
	smc_sk_unlock(sk_);
}

void SmcSocket::withdraw()
{
	if (smc_sock_ss(sock_) != SMC_SS_UNCONNECTED ||
	    !change_mode<Mode::kConnecting, Mode::kIdle>())
		return;
	// Under the lock: after it another thread's connect() adds the same hook again.
	smc_tcp_withdraw(sk_);
	unhook();
}

bool SmcSocket::on_wake()
{
	return look_at_tcp(/*woken=*/true);
}

bool SmcSocket::look_at_tcp(bool woken)
{
	if (mode() != Mode::kConnecting)
		return false;
	const int state = smc_sk_state(sk_);
	if (state == SMC_TCP_SYN_SENT || state == SMC_TCP_SYN_RECV || state == SMC_TCP_CLOSE ||
	    state == SMC_TCP_LISTEN)
		return false;
	bool opened = false;
	switch (smc_tcp_opened(sk_)) {
	case SMC_TCP_OPENED_PLAIN:
		// The only cost of a peer without SMC.
		return fall_without_handshake(wire::DeclineReason::kPeerNoSmc);
	case SMC_TCP_OPENED_SELF:
		// Connected to itself: CLC messages would reach the user as data.
		return fall_without_handshake(wire::DeclineReason::kOptUnsupp);
	case SMC_TCP_OPENED_CROSSED:
		// A crossed SYN, perhaps: only the wakeup that comes next can tell.
		if (!woken)
			return false;
		opened = change_mode<Mode::kConnecting, Mode::kCrossed>();
		break;
	case SMC_TCP_OPENED:
		opened = change_mode<Mode::kConnecting, Mode::kOpened>();
		// A server in this kernel learns of the connection by TCP's ACK alone.
		if (opened && woken && near_ == Near::kNo)
			smc_tcp_clc_follows(sk_);
		break;
	}
	if (opened)
		work_.queue();
	return false;
}

bool SmcSocket::fall_without_handshake(wire::DeclineReason reason)
{
	if (!change_mode<Mode::kConnecting, Mode::kFallen>())
		return false;
	fallback_reason_ = static_cast<u32>(reason);
	control::count_fallback(space_, sk_, fallback_reason_, false);
	// After a SYN in place of a SYN-ACK TCP still offers SMC, for the next connection.
	smc_tcp_withdraw(sk_);
	smc_sock_fall(sock_);
	return true;
}

void SmcSocket::resolve()
{
	// The hook handles what comes later.
	if (mode() == Mode::kConnecting && look_at_tcp(/*woken=*/false))
		unhook();
}

bool SmcSocket::settled() const
{
	switch (mode()) {
	case Mode::kConnecting: return smc_sk_is_broken(sk_);
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking: return false;
	case Mode::kIdle:
	case Mode::kSmc:
	case Mode::kListening:
	case Mode::kFallen: return true;
	}
	return true;
}

// CLC messages wake, too. What ends a handshake wakes after it has changed the mode; while TCP
// connects it is a wakeup that does.
int SmcSocket::wait_settled(long *timeo_jiffies)
{
	const auto ready = [](void *self) { return static_cast<SmcSocket *>(self)->settled(); };
	const auto concerns = [](void *self) {
		const auto *socket = static_cast<SmcSocket *>(self);

		return socket->mode() == Mode::kConnecting || socket->settled();
	};

	return smc_sk_wait(sk_, timeo_jiffies, ready, concerns, this);
}

// The handshake is made and freed here, so that release() knows when none of it runs any more.
void SmcSocket::run()
{
	const Mode now = mode();
	bool done = true;

	// One of an earlier attempt must not be taken for this attempt's. It has ended, so cancel()
	// needs no lock.
	if ((now == Mode::kOpened || now == Mode::kCrossed) && handshake_) {
		handshake_->cancel();
		handshake_.reset();
	}
	if (in_handshake(now) && give_up_error_.load(std::memory_order_acquire) != 0)
		done = drop_handshake();
	else if (now == Mode::kOpened || now == Mode::kCrossed)
		done = make_handshake();
	if (!done)
		work_.queue_if_idle(std::max<u64>(turn_at_sock_.wait_ms(), 1));
}

bool SmcSocket::lock_sock()
{
	return turn_at_sock_.take();
}

bool SmcSocket::enter_handshaking()
{
	if (change_mode<Mode::kCrossed, Mode::kHandshaking>())
		return true;
	(void)change_mode<Mode::kOpened, Mode::kHandshaking>();
	return false;
}

bool SmcSocket::drop_handshake()
{
	if (handshake_ && !handshake_->try_cancel())
		return false;
	handshake_.reset();
	if (!lock_sock())
		return false;
	const int error = give_up_error_.exchange(0, std::memory_order_acq_rel);
	if (error != 0 && in_handshake(mode())) {
		// It is still there if no handshake was made.
		unhook();
		(void)enter_handshaking();
		fail_attempt(error, /*shut=*/false);
	}
	turn_at_sock_.give();
	return true;
}

bool SmcSocket::make_handshake()
{
	// Only here, where no handshake can end: after that another thread's connect() may use the
	// hook.
	unhook();
	handshake_ = make_counted<Handshake>(Handshake::Role::kClient, sock_, *this,
					     mode() == Mode::kCrossed);
	if (!handshake_)
		return decline_for_memory();
	(void)enter_handshaking();
	handshake_->watch();
	handshake_->start_here();
	return true;
}

bool SmcSocket::decline_for_memory()
{
	if (!lock_sock())
		return false;
	smc_stat_inc(smc_sk_net(sk_), SMC_STAT_NO_MEMORY);
	if (enter_handshaking()) {
		// The peer sends a CLC message, too, and without a handshake the user would read it
		// as data.
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
	// The connection has died meanwhile: the user gets its error.
	if (ret != 0 && smc_sk_state(sk_) == SMC_TCP_CLOSE)
		smc_sk_report_error(sk_, -ret);
	else if (ret != 0)
		smc_log_notice("no memory to decline for", "a connection", 0);
	control::count_fallback(space_, sk_, static_cast<u32>(decline.reason), false);
	fall(decline.reason, wire::DeclineReason::kNone);
	return true;
}

bool SmcSocket::on_handshake_done(Handshake &handshake)
{
	const handshake::Finished *outcome = handshake.outcome();

	if (near_ == Near::kInAnother && !handshake.met() && answered_from_afar(*outcome))
		control::note_not_near(smc_sk_net(sk_), attempted_peer());
	if (const auto *tcp = std::get_if<handshake::FallBack>(&outcome->outcome)) {
		if (tcp->peer_diagnosis != wire::DeclineReason::kNone)
			control::note_server(smc_sk_net(sk_), attempted_peer());
		fall(tcp->reason, tcp->peer_diagnosis);
		return true;
	}
	SockTurn &turn = handshake.turn_at_sock();
	// With the lock: a socket option that is set meanwhile is applied to the connection.
	if (!turn.take())
		return false;
	if (const auto *failure = std::get_if<handshake::Fail>(&outcome->outcome)) {
		// The user may have ended the connection, which looks as if the peer had.
		if (disconnects_.load(std::memory_order_relaxed) != 0)
			fail_attempt(handshake::kConnectionReset, /*shut=*/false);
		else if (failure->again == handshake::Again::kNo)
			fail_attempt(failure->error, /*shut=*/true);
		else
			connect_again(*failure);
		turn.give();
		return true;
	}
	control::note_server(smc_sk_net(sk_), attempted_peer());
	look_for_dead_tcp();
	take_connection(handshake.take_endpoint());
	(void)change_mode<Mode::kHandshaking, Mode::kSmc>();
	turn.give();
	smc_sk_wake(sk_, kWakeAll);
	return true;
}

// The user has sent nothing yet, so a second connection, which only TCP knows of, is as good as the
// first one. Its failures are TCP's own.
void SmcSocket::connect_again(const handshake::Fail &failure)
{
	net *const net = smc_sk_net(sk_);
	const bool stranger = failure.again == handshake::Again::kStranger;
	const auto reason =
		stranger ? wire::DeclineReason::kPeerNoSmc : wire::DeclineReason::kTimeoutCl;

	const int ret = smc_tcp_connect_again(sock_, &attempt_);
	if (stranger)
		control::note_stranger(net, attempted_peer());
	smc_stat_inc(net, SMC_STAT_CONNECTED_AGAIN);
	if (ret != 0 && ret != -EINPROGRESS) {
		smc_stat_inc(net, SMC_STAT_CLNT_HS_ERR);
		fail_attempt(-ret, /*shut=*/false);
		return;
	}
	control::count_fallback(space_, sk_, static_cast<u32>(reason), false);
	connected_again_.store(true, std::memory_order_relaxed);
	// Nothing can be read or written yet, so nobody gets a signal.
	fall(reason, wire::DeclineReason::kNone, SMC_POLL_ANY);
}

bool SmcSocket::server_may_be_slow()
{
	return control::peer_may_be_slow(smc_sk_net(sk_), attempted_peer());
}

void SmcSocket::on_no_device(u64 epoch)
{
	if (attempt_.by_address)
		control::note_elsewhere(smc_sk_net(sk_), attempted_peer(), epoch);
}

// @shut: as TCP leaves a connection that the peer has refused or reset.
void SmcSocket::fail_attempt(int error, bool shut)
{
	// The error first, so that it is visible to all who see the mode.
	if (shut)
		smc_tcp_abort(sk_, error);
	else
		smc_tcp_reset(sk_, error);
	(void)change_mode<Mode::kHandshaking, Mode::kIdle>();
	smc_sk_wake(sk_, kWakeAll | SMC_POLL_ERR);
}

void SmcSocket::cancel_handshake()
{
	// release() has removed the hook, so no handshake begins any more; once the work does not
	// run, handshake_ is final.
	work_.cancel_sync();
	if (handshake_)
		handshake_->cancel();
	handshake_.reset();
}

// The work item does it, as it owns the handshake: several threads may call this at once.
void SmcSocket::give_up_handshake(int error)
{
	while (in_handshake(mode())) {
		give_up_error_.store(error, std::memory_order_release);
		work_.queue();
		work_.wait();
		if (!in_handshake(mode()))
			break;
		// Another thread holds the lock of this socket: wait for it, and try again.
		smc_sk_lock(sk_);
		smc_sk_unlock(sk_);
	}
	give_up_error_.store(0, std::memory_order_release);
}

} // namespace smc::shell
