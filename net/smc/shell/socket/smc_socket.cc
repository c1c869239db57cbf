// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/smc_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/wire/clc.hpp"
#include "kernel/abi/stats.h"
#include "shell/socket/socket_list.hpp"

namespace smc::shell {

namespace {

constexpr u32 kWakeAll = SMC_POLL_ANY | SMC_POLL_IN | SMC_POLL_OUT;

} // namespace

SmcSocket::SmcSocket(struct socket *sock)
	: sock_(sock), sk_(smc_sock_sk(sock)), serial_(socket_list().next_serial()),
	  turn_at_sock_(sk_)
{
	socket_list().add(*this);
}

SmcSocket::~SmcSocket()
{
	// One that lost the race in get_or_make(): it was never released.
	if (List<SmcSocket, SocketsTag>::linked(*this))
		socket_list().remove(*this);
}

SmcSocket *SmcSocket::get_or_make(struct socket *sock)
{
	if (SmcSocket *existing = of(sock))
		return existing;
	auto fresh = make<SmcSocket>(sock);
	if (!fresh)
		return nullptr;
	auto *winner = static_cast<SmcSocket *>(smc_sock_publish_state(sock, fresh.get()));
	if (winner == fresh.get())
		return fresh.release();
	return winner;
}

Ref<transport::Endpoint> SmcSocket::connection() const
{
	RcuGuard guard;
	return Ref<transport::Endpoint>::try_share(connection_under_rcu());
}

// ---- Connecting ---------------------------------------------------------------------------------

void SmcSocket::arm()
{
	// A connect that shutdown() has ended left its mode behind.
	if (!change_mode(Mode::kIdle, Mode::kConnecting) && mode() != Mode::kConnecting)
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
			      change_mode(Mode::kConnecting, Mode::kIdle);
	// With the lock: behind it another thread's connect() hangs the same hook in again.
	if (disarmed) {
		smc_tcp_withdraw(sk_);
		unhook();
	}
	smc_sk_unlock(sk_);
}

void SmcSocket::unhook()
{
	hook_.remove();
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
	if (change_mode(Mode::kConnecting, Mode::kHandshaking)) {
		worked_.store(true, std::memory_order_relaxed);
		work_.queue();
	}
	return false;
}

bool SmcSocket::fall_without_handshake(wire::DeclineReason reason)
{
	if (!change_mode(Mode::kConnecting, Mode::kFallen))
		return false;
	fallback_reason_ = static_cast<u32>(reason);
	smc_stat_fallback(smc_sk_net(sk_), fallback_reason_, false);
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
	case Mode::kConnecting: return smc_sk_state(sk_) == SMC_TCP_CLOSE || smc_sk_error(sk_) != 0;
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
	smc_stat_fallback(smc_sk_net(sk_), static_cast<u32>(decline.reason), false);
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
	(void)change_mode(Mode::kHandshaking, Mode::kSmc);
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
	(void)change_mode(Mode::kHandshaking, Mode::kIdle);
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

// ---- Other modes --------------------------------------------------------------------------------

void SmcSocket::look_for_dead_tcp()
{
	if (smc_sk_state(sk_) == SMC_TCP_CLOSE && smc_sk_error(sk_) == 0)
		smc_sk_report_error(sk_, handshake::kConnectionReset);
}

void SmcSocket::take_connection(Ref<transport::Endpoint> endpoint)
{
	if (smc_sk_corked(sk_))
		endpoint->set_corked(true, smc_sk_nodelay(sk_));
	endpoint->join_sock();
	endpoint_.set(std::move(endpoint));
}

void SmcSocket::become_smc(Ref<transport::Endpoint> endpoint)
{
	look_for_dead_tcp();
	take_connection(std::move(endpoint));
	connect_reported_ = true;
	mode_.store(Mode::kSmc, std::memory_order_release);
}

bool SmcSocket::become_listener()
{
	if (mode() == Mode::kListening)
		return true;
	// One that has left by now is TCP's, and may be for longer than this module is there.
	if (mode() != Mode::kIdle)
		return false;
	if (!listener_)
		listener_ = make<Listener>(sock_, hs_limit_);
	// In this order: of a socket that another thread has just left to TCP, nobody would take
	// the listener's hook away.
	if (!listener_ || !change_mode(Mode::kIdle, Mode::kListening))
		return false;
	listener_->open();
	return true;
}

bool SmcSocket::stop_listening()
{
	smc_sk_lock(sk_);
	const bool stopped =
		smc_sk_state(sk_) != SMC_TCP_LISTEN && change_mode(Mode::kListening, Mode::kIdle);
	if (stopped)
		smc_tcp_withdraw(sk_);
	smc_sk_unlock(sk_);
	return stopped;
}

void SmcSocket::limit_handshakes(bool on)
{
	smc_sk_lock(sk_);
	hs_limit_ = on ? SMC_HS_LIMIT_ON : SMC_HS_LIMIT_OFF;
	if (listener_)
		listener_->set_limit(hs_limit_);
	smc_sk_unlock(sk_);
}

void SmcSocket::stop_limiting_handshakes()
{
	if (listener_)
		listener_->stop_limiting();
}

bool SmcSocket::limits_handshakes() const
{
	smc_sk_lock(sk_);
	const smc_hs_limit limit = hs_limit_;
	smc_sk_unlock(sk_);
	return shell::limits_handshakes(limit, smc_sk_net(sk_));
}

void SmcSocket::fall(wire::DeclineReason reason, wire::DeclineReason peer_diagnosis)
{
	fallback_reason_ = static_cast<u32>(reason);
	peer_diagnosis_ = static_cast<u32>(peer_diagnosis);
	// TCP had the option; what this socket does next, it does without.
	smc_tcp_withdraw(sk_);
	smc_sock_fall(sock_);
	mode_.store(Mode::kFallen, std::memory_order_release);
	smc_sk_wake(sk_, kWakeAll);
}

bool SmcSocket::fall_unused(wire::DeclineReason reason)
{
	if (!change_mode(Mode::kIdle, Mode::kFallen))
		return false;
	// An earlier connect(), which failed, has left the offer there.
	smc_sk_lock(sk_);
	smc_tcp_withdraw(sk_);
	smc_sk_unlock(sk_);
	fallback_reason_ = static_cast<u32>(reason);
	smc_stat_fallback(smc_sk_net(sk_), fallback_reason_, false);
	smc_sock_fall(sock_);
	return true;
}

void SmcSocket::release()
{
	// Whoever walks the list must not find what is taken apart from here on.
	socket_list().remove(*this);
	unhook();
	cancel_handshake();
	if (listener_)
		listener_->close();
	if (const auto endpoint = endpoint_.take())
		end_connection(*endpoint);
}

void SmcSocket::disconnect()
{
	// As TCP says it of the connection that it has ended.
	give_up_handshake(handshake::kConnectionReset);
	disarm();
	// Others may sleep in calls on this connection: with the lock, none is inside its rings,
	// and none will find anything there.
	smc_sk_lock(sk_);
	Ref<transport::Endpoint> endpoint;
	if (mode() == Mode::kSmc)
		endpoint = endpoint_.take();
	shut_rcv_.store(false, std::memory_order_relaxed);
	if (endpoint) {
		attempt_failed_.store(true, std::memory_order_release);
		endpoint->abort();
		endpoint->close();
		// What the peer answers is not for the next connection.
		endpoint->leave_sock();
	}
	smc_sk_unlock(sk_);
	if (!endpoint)
		return;
	(void)change_mode(Mode::kSmc, Mode::kIdle);
	smc_sk_wake(sk_, kWakeAll);
	endpoint->release_from_user();
}

void SmcSocket::end_connection(transport::Endpoint &endpoint)
{
	long timeo_jiffies;
	const bool linger = smc_sk_linger(sk_, &timeo_jiffies);
	const auto look = [](const connection::Connection &conn) {
		return std::pair{!conn.reset() && !conn.peer_closed(), conn.broken_off()};
	};
	const auto [answers, broken_off] = endpoint.with_lock(look);

	// The user has learnt of it by the error that TCP left at the socket. The peer may not even
	// know the connection any more, so there is no answer to wait for.
	const bool tcp_died = answers && smc_sk_state(sk_) == SMC_TCP_CLOSE;

	// A peer that only waits would learn by its link's heartbeat, up to a minute later.
	if (broken_off) {
		smc_sk_lock(sk_);
		smc_tcp_reset(sk_, 0);
		smc_sk_unlock(sk_);
	}
	if (tcp_died) {
		smc_stat_inc(smc_sk_net(sk_), SMC_STAT_TCP_DIED);
		endpoint.give_up();
	} else if (linger && timeo_jiffies == 0) {
		endpoint.abort();
	} else {
		endpoint.close();
		if (linger && !smc_process_exiting()) {
			const auto all_gone = [](void *arg) {
				return static_cast<transport::Endpoint *>(arg)->with_lock(
					[](connection::Connection &conn) {
						return conn.finished() || conn.reset() ||
						       (conn.unsent_bytes() == 0 &&
							conn.undelivered_bytes() == 0 &&
							!conn.closing_flag_owed());
					});
			};
			endpoint.set_lingering();
			endpoint.with_lock(
				[](connection::Connection &conn) { conn.request_completion(); });
			endpoint.transmit();
			smc_sk_lock(sk_);
			(void)smc_sk_wait(sk_, &timeo_jiffies, all_gone, &endpoint, false);
			smc_sk_unlock(sk_);
		}
		endpoint.keep_tcp(sock_);
	}
	endpoint.release_from_user();
}

// ---- For sock_diag ------------------------------------------------------------------------------

int SmcSocket::next(net *net, u64 *cursor, smc_sock_info *out)
{
	return socket_list().with_next(*cursor, net, [&](SmcSocket &socket) {
		*cursor = socket.serial_;
		smc_sk_hold(socket.sk_);
		out->sk = socket.sk_;
		switch (socket.mode()) {
		case Mode::kIdle:
		case Mode::kConnecting:
		case Mode::kHandshaking:
			out->state = static_cast<u8>(connection::State::kInit);
			break;
		case Mode::kListening: out->state = SMC_TCP_LISTEN; break;
		case Mode::kFallen:
			out->state = static_cast<u8>(connection::State::kActive);
			out->mode = SMC_MODE_TCP;
			break;
		case Mode::kSmc:
			if (const auto endpoint = socket.connection())
				endpoint->snapshot(*out);
			break;
		}
		out->fallback_reason = socket.fallback_reason_;
		out->peer_diagnosis = socket.peer_diagnosis_;
	});
}

} // namespace smc::shell
