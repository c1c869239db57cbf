// SPDX-License-Identifier: GPL-2.0-only
//
// connect(), also on a connected socket, and connect(AF_UNSPEC).
#include <cerrno>
#include <optional>

#include "kernel/abi/callbacks/socket.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_peer.h"
#include "kernel/abi/verbs.h"
#include "shell/control/fallback.hpp"
#include "shell/control/namespace.hpp"
#include "shell/control/policy.hpp"
#include "shell/socket/ops.hpp"
#include "shell/transport/transports.hpp"

namespace smc::shell {
namespace {

constexpr u16 kUnspec = 0;

u16 family_of(const sockaddr *addr, int addr_len)
{
	u16 family = 0xffff;

	if (addr != nullptr && addr_len >= static_cast<int>(sizeof(family)))
		__builtin_memcpy(&family, addr, sizeof(family));
	return family;
}

// Where to, and how: the arguments of a connect().
struct Request {
	sockaddr *addr;
	int addr_len;
	int flags;

	const u64 began_ms = smc_now_ms();

	[[nodiscard]] bool nonblock() const { return (flags & kNonblockFlag) != 0; }
	// How long it may still sleep: SO_SNDTIMEO is for TCP's part of the call, too.
	[[nodiscard]] long left_jiffies(const struct sock *sk) const
	{
		return smc_timeo_left(smc_sk_sndtimeo(sk, nonblock()), began_ms);
	}
};

// Waits for TCP's second attempt as long as the user wants. 0 or -errno.
int wait_for_tcp(struct sock *sk, long *timeo_jiffies)
{
	const auto decided = [](void *sk) {
		const int tcp = smc_sk_state(static_cast<struct sock *>(sk));

		return tcp != SMC_TCP_SYN_SENT && tcp != SMC_TCP_SYN_RECV;
	};

	return smc_sk_wait(sk, timeo_jiffies, decided, nullptr, sk);
}

// TCP's own answer about its second attempt, which does not wait any more.
int finish_on_tcp(struct socket *sock, SmcSocket &state, const Request &request)
{
	const int ss = smc_sock_ss(sock);

	// Another call has reported the success that this one waited for as well.
	if (ss == SMC_SS_CONNECTED)
		return 0;
	// Another thread has got the error. A third attempt is the user's to make.
	if (ss == SMC_SS_UNCONNECTED)
		return -ECONNABORTED;
	const int ret = smc_tcp_ops_connect(sock, request.addr, request.addr_len,
					    request.flags | kNonblockFlag);
	if (ret == 0)
		state.set_connect_reported();
	return ret;
}

// A connect() while the handshake runs, or after it.
int finish_connect(struct socket *sock, SmcSocket &state, const Request &request)
{
	struct sock *sk = smc_sock_sk(sock);
	long timeo = request.left_jiffies(sk);

	smc_sk_lock(sk);
	int ret = state.wait_settled(&timeo);
	if (ret == 0 && state.connected_again())
		ret = wait_for_tcp(sk, &timeo);
	smc_sk_unlock(sk);
	// io_uring repeats the call at every wakeup and would take -EALREADY for the result. The
	// flag is its own then, not the descriptor's.
	if (ret == -EAGAIN)
		return !request.nonblock() || smc_sock_nonblock(sock) ? -EALREADY : -EINPROGRESS;
	if (ret != 0)
		return ret;
	switch (state.mode()) {
	case Mode::kSmc:
	case Mode::kFallen:
		return state.connected_again() ? finish_on_tcp(sock, state, request)
					       : claim_connection(sock, state);
	case Mode::kIdle:
	case Mode::kConnecting:
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking:
	case Mode::kListening: break;
	}
	// The handshake failed and reset TCP's connection. Nothing of it is left, as on TCP, unless
	// another thread connects the socket already.
	smc_sk_lock(sk);
	ret = smc_sk_take_error(sk);
	if (state.mode() == Mode::kIdle && smc_sk_state(sk) == SMC_TCP_CLOSE) {
		smc_tcp_forget(sk);
		smc_sock_set_ss(sock, SMC_SS_UNCONNECTED);
	}
	smc_sk_unlock(sk);
	return ret != 0 ? ret : -ECONNABORTED;
}

Near may_be_near(control::Namespace &space, struct sock *sk, const sockaddr *addr, int addr_len)
{
	net *const net = smc_sk_net(sk);
	smc_peer peer;

	if (transport::reach_in_kernel(net) == transport::Reach::kNobody)
		return Near::kNo;
	if (smc_tcp_addr_is_own(sk, addr, addr_len))
		return Near::kInNamespace;
	if (smc_tcp_peer(addr, addr_len, &peer) && control::peer_may_be_near(space, net, peer))
		return Near::kInAnother;
	return Near::kNo;
}

// Why SMC is not even offered, if so.
std::optional<wire::DeclineReason> reason_against(control::Namespace &space, struct sock *sk,
						  const Request &request, bool near)
{
	smc_peer peer;

	// Without any RDMA device only a peer in this kernel can accept an offer.
	if (!smc_ib_device_any() && !near)
		return wire::DeclineReason::kNoSmcrDev;
	// A socket that was shut down before is connected by TCP, and sends nothing.
	if (smc_sk_is_shut(sk))
		return wire::DeclineReason::kOptUnsupp;
	if (!space.knows_of_peers()) [[likely]]
		return std::nullopt;
	if (!smc_tcp_peer(request.addr, request.addr_len, &peer))
		return std::nullopt;
	if (!control::server_is_allowed(space, peer))
		return wire::DeclineReason::kOptUnsupp;
	// Before the strangers: many hosts may be elsewhere, and all connections to them come here.
	// Whoever is near needs no device. It need not have been near before: that is the setting
	// of its own namespace.
	if (!near && control::peer_is_elsewhere(space, peer) && smc_tcp_routed_by_address(sk)) {
		smc_count(space.counters(), SMC_STAT_KNOWN_ELSEWHERE, 1);
		return wire::DeclineReason::kNoSmcDev;
	}
	if (control::peer_is_stranger(smc_sk_net(sk), peer)) {
		smc_count(space.counters(), SMC_STAT_KNOWN_STRANGER, 1);
		return wire::DeclineReason::kPeerNoSmc;
	}
	return std::nullopt;
}

// TCP's connect() says @ret: the connection had died before that call ran again, in the middle of
// the handshake. With the sock's lock.
bool died_in_handshake(struct socket *sock, const SmcSocket &state, int ret)
{
	return ret != 0 && in_handshake(state.mode()) &&
	       smc_sk_state(smc_sock_sk(sock)) == SMC_TCP_CLOSE &&
	       smc_sock_ss(sock) == SMC_SS_UNCONNECTED;
}

// TCP's connect(). What comes of a connection that died in the handshake is the handshake's to say,
// which then knows why: under the same lock, since TCP has told us its error, and not it. With the
// sock's lock.
int connect_locked(struct socket *sock, SmcSocket &state, const Request &request)
{
	const int ret = smc_tcp_connect_locked(sock, request.addr, request.addr_len, request.flags);

	state.resolve();
	// TCP counts as connected; the user's connection is not established yet.
	if (ret == 0 && in_handshake(state.mode()))
		smc_sock_set_ss(sock, SMC_SS_CONNECTING);
	if (!died_in_handshake(sock, state, ret))
		return ret;
	smc_sk_report_error(smc_sock_sk(sock), -ret);
	smc_sock_set_ss(sock, SMC_SS_CONNECTING);
	return 0;
}

// TCP's connect() would begin a connection.
bool may_begin(const struct socket *sock)
{
	return smc_sock_ss(sock) == SMC_SS_UNCONNECTED &&
	       smc_sk_state(smc_sock_sk(sock)) == SMC_TCP_CLOSE;
}

// A connect() that TCP answers first.
class TcpConnect {
public:
	TcpConnect(struct socket *sock, SmcSocket &state, const Request &request)
		: sock_(sock), sk_(smc_sock_sk(sock)), state_(state), request_(request)
	{
	}

	// 0 or -errno; none if another thread has changed the socket before TCP was called.
	[[nodiscard]] std::optional<int> run();

private:
	[[nodiscard]] int by_tcp();
	// With the sock's lock.
	[[nodiscard]] bool is_as_seen() const;
	[[nodiscard]] int begin_or_join();
	[[nodiscard]] int finish(int ret);

	struct socket *const sock_;
	struct sock *const sk_;
	SmcSocket &state_;
	const Request &request_;
	bool begins_ = false; // it is the one that begins the connection
	Near near_ = Near::kNo;
};

int TcpConnect::by_tcp()
{
	state_.set_connect_reported();
	return smc_tcp_ops_connect(sock_, request_.addr, request_.addr_len, request_.flags);
}

// Whoever has the lock first begins the connection, to his address, and by what he knows of it.
bool TcpConnect::is_as_seen() const
{
	const Mode mode = state_.mode();

	if (mode == Mode::kListening)
		return smc_sk_state(sk_) == SMC_TCP_LISTEN;
	return !in_handshake(mode) && mode != Mode::kSmc && (begins_ || !may_begin(sock_));
}

int TcpConnect::begin_or_join()
{
	begins_ = may_begin(sock_);
	if (begins_)
		state_.arm(request_.addr, request_.addr_len, near_);
	const int ret = connect_locked(sock_, state_, request_);
	if (ret != 0)
		state_.withdraw();
	return ret;
}

std::optional<int> TcpConnect::run()
{
	begins_ = may_begin(sock_);
	if (begins_) {
		near_ = may_be_near(state_.space(), sk_, request_.addr, request_.addr_len);
		const auto reason =
			reason_against(state_.space(), sk_, request_, near_ != Near::kNo);

		if (reason && state_.fall_unused(*reason))
			return by_tcp();
	}
	smc_sk_lock(sk_);
	// Set before TCP_ULP turned the socket to SMC.
	const bool without_syn = begins_ && smc_tcp_fastopen_connect(sk_);
	const bool as_seen = is_as_seen();
	int ret = 0;
	if (!without_syn && as_seen)
		ret = begin_or_join();
	smc_sk_unlock(sk_);
	if (without_syn) {
		(void)state_.fall_unused(wire::DeclineReason::kOptUnsupp);
		return by_tcp();
	}
	if (!as_seen)
		return {};
	return finish(ret);
}

int TcpConnect::finish(int ret)
{
	// It was disconnected while it slept.
	if (ret == -EPIPE && state_.connected_again())
		ret = 0;
	if (ret != 0)
		return ret;
	if (state_.mode() == Mode::kFallen && !state_.connected_again())
		state_.set_connect_reported();
	// A handshake that has failed already has reset TCP's connection.
	const bool failed = state_.mode() == Mode::kIdle && smc_sk_state(sk_) == SMC_TCP_CLOSE;
	if (!in_handshake(state_.mode()) && state_.mode() != Mode::kSmc && !failed &&
	    !state_.connected_again())
		return 0;
	const int done = finish_connect(sock_, state_, request_);
	return done == -EALREADY && begins_ ? -EINPROGRESS : done;
}

// 0 or -errno; none: another thread has changed the mode meanwhile.
std::optional<int> connect_by_mode(struct socket *sock, SmcSocket &state, const Request &request)
{
	state.resolve();
	switch (state.mode()) {
	case Mode::kSmc:
		// A call that began before the report reports the success as well, as on TCP.
		if (state.connect_reported())
			return -EISCONN;
		[[fallthrough]];
	case Mode::kOpened:
	case Mode::kCrossed:
	case Mode::kHandshaking: return finish_connect(sock, state, request);
	case Mode::kListening:
		// One that was shut down may connect.
		(void)state.stop_listening();
		break;
	case Mode::kFallen:
		return smc_tcp_ops_connect(sock, request.addr, request.addr_len, request.flags);
	case Mode::kIdle:
	case Mode::kConnecting: break;
	}
	return TcpConnect(sock, state, request).run();
}

// connect(AF_UNSPEC): TCP aborts the connection, and the socket can be used again. It has a state
// even as the socket's first call, as another thread's first connect() may come before TCP's part.
int disconnect(struct socket *sock, SmcSocket *state, sockaddr *addr, int addr_len, int flags)
{
	if (state == nullptr)
		return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	state->begin_disconnect();
	const int ret = smc_tcp_ops_connect(sock, addr, addr_len, flags);
	if (ret == 0) {
		state->disconnect();
		end_listening(*state);
	}
	state->end_disconnect();
	return ret;
}

} // namespace

int claim_connection(struct socket *sock, SmcSocket &state)
{
	struct sock *sk = smc_sock_sk(sock);
	int err = 0;

	// With the lock, as in disconnect(): a connection that it has ended is not connected any
	// more.
	smc_sk_lock(sk);
	const bool first = !state.connect_reported();
	state.set_connect_reported();
	const auto endpoint = connection_of(&state);
	const bool connected = endpoint ? !is_over(sk, *endpoint) : state.mode() == Mode::kFallen;
	const bool gone = !connected && endpoint && first;
	Ref<transport::Endpoint> left;
	if (connected) {
		smc_sock_set_ss(sock, SMC_SS_CONNECTED);
	} else if (gone) {
		// The connection has come and gone meanwhile.
		err = smc_sk_take_error(sk);
		smc_tcp_forget(sk);
		left = state.leave_connection();
	}
	smc_sk_unlock(sk);
	state.finish_leaving(left);
	if (connected)
		return 0;
	return err != 0 ? err : -ECONNABORTED;
}

} // namespace smc::shell

using namespace smc::shell;

extern "C" int smc_op_connect(struct socket *sock, sockaddr *addr, int addr_len, int flags)
{
	SmcSocket *state = SmcSocket::get_or_make(sock);

	if (family_of(addr, addr_len) == kUnspec)
		return disconnect(sock, state, addr, addr_len, flags);
	if (state == nullptr) {
		smc_sock_fall(sock);
		smc::control::count_fallback(
			smc_sock_sk(sock), static_cast<u32>(smc::wire::DeclineReason::kMem), false);
		return smc_tcp_ops_connect(sock, addr, addr_len, flags);
	}
	const Request request{addr, addr_len, flags};
	for (;;) {
		if (const auto ret = connect_by_mode(sock, *state, request))
			return *ret;
	}
}
