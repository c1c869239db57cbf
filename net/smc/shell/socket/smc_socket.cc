// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/smc_socket.hpp"
#include "shell/control/fallback.hpp"
#include "shell/control/namespace.hpp"

#include <utility>

#include "kernel/abi/stats.h"
#include "shell/socket/socket_list.hpp"

namespace smc::shell {

SmcSocket::SmcSocket(struct socket *sock)
	: ListedSocket(smc_sock_sk(sock), socket_list().next_serial()), sock_(sock),
	  space_(control::Namespace::of(smc_sk_net(sk_))), turn_at_sock_(sk_)
{
	socket_list().add(*this);
}

SmcSocket::~SmcSocket()
{
	// One that lost the race in get_or_make(): it was never released.
	if (List<ListedSocket, SocketsTag>::linked(*this))
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

void SmcSocket::unhook()
{
	hook_.remove();
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
	set_connect_reported();
	(void)change_mode<Mode::kIdle, Mode::kSmc>();
}

bool SmcSocket::become_listener()
{
	if (mode() == Mode::kListening)
		return true;
	// After a connect() that has just failed, or was shut down.
	withdraw();
	// A socket that has fallen back is TCP's, and may outlive this module.
	if (mode() != Mode::kIdle)
		return false;
	if (!listener_)
		listener_ = make<Listener>(sock_, hs_limit_);
	// In this order: nobody would remove the listener's hook from a socket that another thread
	// has just made TCP's.
	if (!listener_ || !change_mode<Mode::kIdle, Mode::kListening>())
		return false;
	listener_->open();
	return true;
}

bool SmcSocket::stop_listening()
{
	smc_sk_lock(sk_);
	const bool stopped =
		smc_sk_state(sk_) != SMC_TCP_LISTEN && change_mode<Mode::kListening, Mode::kIdle>();
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

void SmcSocket::fall(wire::DeclineReason reason, wire::DeclineReason peer_diagnosis, u32 events)
{
	fallback_reason_ = static_cast<u32>(reason);
	peer_diagnosis_ = static_cast<u32>(peer_diagnosis);
	// TCP offered the option; later connections of this socket go without it.
	smc_tcp_withdraw(sk_);
	smc_sock_fall(sock_);
	(void)change_mode<Mode::kHandshaking, Mode::kFallen>();
	smc_sk_wake(sk_, events);
}

bool SmcSocket::fall_unused(wire::DeclineReason reason)
{
	if (!change_mode<Mode::kIdle, Mode::kFallen>())
		return false;
	// An earlier connect() that failed has left the offer there. From this mode on nobody makes
	// another one.
	if (smc_tcp_offers(sk_)) {
		smc_sk_lock(sk_);
		smc_tcp_withdraw(sk_);
		smc_sk_unlock(sk_);
	}
	fallback_reason_ = static_cast<u32>(reason);
	control::count_fallback(space_, sk_, fallback_reason_, false);
	smc_sock_fall(sock_);
	return true;
}

void SmcSocket::release()
{
	// A walk of the list must not find a socket that is being taken apart.
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
	// The same error as TCP's for the connection that it has ended.
	give_up_handshake(handshake::kConnectionReset);
	disarm();
	smc_sk_lock(sk_);
	const Ref<transport::Endpoint> endpoint = leave_connection();
	smc_sk_unlock(sk_);
	finish_leaving(endpoint);
}

// Other threads may sleep in calls on this connection: under the lock none of them is inside its
// rings, and none will find the endpoint afterwards.
Ref<transport::Endpoint> SmcSocket::leave_connection()
{
	Ref<transport::Endpoint> endpoint;

	// Another thread has connected the socket since: that one stays.
	if (smc_sk_state(sk_) != SMC_TCP_CLOSE)
		return endpoint;
	shut_rcv_.store(false, std::memory_order_relaxed);
	if (mode() == Mode::kSmc)
		endpoint = endpoint_.take();
	if (endpoint) {
		endpoint->abort();
		endpoint->close();
		// The peer's answers are not for this socket's next connection.
		endpoint->leave_sock();
		(void)change_mode<Mode::kSmc, Mode::kIdle>();
	}
	forget_attempt();
	return endpoint;
}

void SmcSocket::forget_attempt()
{
	if (mode() == Mode::kIdle && smc_sk_state(sk_) == SMC_TCP_CLOSE)
		smc_sock_set_ss(sock_, SMC_SS_UNCONNECTED);
}

void SmcSocket::finish_leaving(const Ref<transport::Endpoint> &endpoint)
{
	if (!endpoint)
		return;
	smc_sk_wake(sk_, kWakeAll);
	endpoint->release_from_user();
}

void SmcSocket::linger_for(transport::Endpoint &endpoint, long timeo_jiffies)
{
	struct Lingering {
		transport::Endpoint &endpoint;
		struct sock *sk;

		[[nodiscard]] bool tcp_died() const { return smc_sk_state(sk) == SMC_TCP_CLOSE; }
	} lingering{endpoint, sk_};
	const auto over = [](void *arg) {
		const auto &waiting = *static_cast<const Lingering *>(arg);
		const auto all_gone = [](const connection::Connection &conn) {
			return conn.finished() || conn.reset() ||
			       (conn.unsent_bytes() == 0 && conn.undelivered_bytes() == 0 &&
				!conn.closing_flag_owed());
		};

		return waiting.tcp_died() || waiting.endpoint.with_lock(all_gone);
	};

	endpoint.set_lingering();
	endpoint.with_lock([](connection::Connection &conn) { conn.request_completion(); });
	endpoint.transmit();
	smc_sk_lock(sk_);
	(void)smc_sk_wait(sk_, &timeo_jiffies, over, nullptr, &lingering);
	smc_sk_unlock(sk_);

	const auto owes = [](const connection::Connection &conn) { return conn.owes(); };
	if (lingering.tcp_died() && endpoint.with_lock(owes))
		give_up(endpoint);
}

// TCP was reset: the peer may not even know the connection any more, so no answer is awaited.
void SmcSocket::give_up(transport::Endpoint &endpoint)
{
	smc_stat_inc(smc_sk_net(sk_), SMC_STAT_TCP_DIED);
	endpoint.give_up();
}

void SmcSocket::end_connection(transport::Endpoint &endpoint)
{
	long timeo_jiffies;
	const bool linger = smc_sk_linger(sk_, &timeo_jiffies);
	const auto look = [](const connection::Connection &conn) {
		return std::pair{!conn.reset() && !conn.peer_closed(), conn.broken_off()};
	};
	const auto [answers, broken_off] = endpoint.with_lock(look);

	// The user has got the error that TCP left at the socket.
	const bool tcp_died = answers && smc_sk_state(sk_) == SMC_TCP_CLOSE;

	// A peer that only waits would otherwise notice by its link's heartbeat, up to a minute
	// later.
	if (broken_off) {
		smc_sk_lock(sk_);
		smc_tcp_reset(sk_, 0);
		smc_sk_unlock(sk_);
	}
	if (tcp_died) {
		give_up(endpoint);
	} else if (linger && timeo_jiffies == 0) {
		endpoint.abort();
	} else {
		endpoint.close();
		if (linger && !smc_process_exiting())
			linger_for(endpoint, timeo_jiffies);
		endpoint.end_tcp(sock_);
	}
	endpoint.release_from_user();
}

// ---- For sock_diag ------------------------------------------------------------------------------

std::optional<u64> SmcSocket::next(net *net, u64 after, smc_sock_info &out)
{
	return socket_list().with_next(after, net, [&](ListedSocket &listed) {
		const auto &socket = static_cast<SmcSocket &>(listed);

		smc_sk_hold(socket.sk());
		out.sk = socket.sk();
		switch (socket.mode()) {
		case Mode::kIdle:
		case Mode::kConnecting:
		case Mode::kOpened:
		case Mode::kCrossed:
		case Mode::kHandshaking:
			out.state = static_cast<u8>(connection::State::kInit);
			break;
		case Mode::kListening: out.state = SMC_TCP_LISTEN; break;
		case Mode::kFallen:
			out.state = static_cast<u8>(connection::State::kActive);
			out.mode = SMC_MODE_TCP;
			break;
		case Mode::kSmc:
			if (const auto endpoint = socket.connection())
				endpoint->snapshot(out);
			break;
		}
		out.fallback_reason = socket.fallback_reason_;
		out.peer_diagnosis = socket.peer_diagnosis_;
	});
}

} // namespace smc::shell
