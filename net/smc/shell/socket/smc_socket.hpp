// SPDX-License-Identifier: GPL-2.0-only
//
// SmcSocket: the state beside one of our sockets, from its connect() or listen() on. Before that a
// socket has TCP's state alone; after a fallback it has so again, and this object only waits for
// the socket's release.
//
//	kConnecting   TCP is connecting, with the option on its SYN
//	kOpened       TCP is established, both ends can do SMC; the work item makes the handshake
//	kCrossed      the same, and the peer is a client, too: both SYNs crossed
//	kHandshaking  the CLC exchange runs
//	kSmc          bytes go by the endpoint
//	kListening    listen() was called
//	kFallen       plain TCP; sock->ops are those of fallen sockets
//	kIdle         a connect failed; the socket may be used again
//
// Locking: mode_ changes by compare-and-swap, since wakeups change it, too, where no lock can be
// taken. endpoint_ is set before the mode becomes kSmc, and is taken by release(), when no call is
// left, or by disconnect(), under the sock's lock. A user of it meanwhile holds that lock, or a
// reference taken under RCU.
#pragma once

#include <atomic>
#include <optional>

#include "core/handshake/effect.hpp"
#include "kernel/abi/control.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp_peer.h"
#include "shell/base/alloc.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/base/wake_hook.hpp"
#include "shell/base/work.hpp"
#include "shell/socket/handshake.hpp"
#include "shell/socket/listener.hpp"
#include "shell/socket/sock_turn.hpp"
#include "shell/socket/socket_list.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::control {
class Namespace;
} // namespace smc::control

namespace smc::shell {

// Where a peer may be: in this kernel, or not.
enum class Near : u8 {
	kNo,
	kInNamespace,
	kInAnother,
};

enum class Mode : u8 {
	kIdle,
	kConnecting,
	kOpened,
	kCrossed,
	kHandshaking,
	kSmc,
	kListening,
	kFallen,
};

// The table of legal changes.
[[nodiscard]] constexpr bool mode_change_is_legal(Mode from, Mode to)
{
	switch (from) {
	case Mode::
		kIdle: // kSmc: it was accepted so. kFallen: it was asked for what only TCP can do.
		return to == Mode::kConnecting || to == Mode::kListening || to == Mode::kSmc ||
		       to == Mode::kFallen;
	case Mode::kConnecting: // kFallen: the peer cannot do SMC
		return to == Mode::kIdle || to == Mode::kOpened || to == Mode::kCrossed ||
		       to == Mode::kFallen;
	case Mode::kOpened:
	case Mode::kCrossed: return to == Mode::kHandshaking;
	case Mode::kHandshaking: // kIdle: it failed, or was given up
		return to == Mode::kIdle || to == Mode::kSmc || to == Mode::kFallen;
	case Mode::kSmc:       // connect(AF_UNSPEC)
	case Mode::kListening: // TCP listens no more
		return to == Mode::kIdle;
	case Mode::kFallen: return false;
	}
	return false;
}

// TCP is established, and whether the connection goes by SMC is not decided.
[[nodiscard]] constexpr bool in_handshake(Mode mode)
{
	return mode == Mode::kOpened || mode == Mode::kCrossed || mode == Mode::kHandshaking;
}

class SmcSocket final : public HandshakeOwner, public ListedSocket {
	static constexpr u32 kWakeAll = SMC_POLL_ANY | SMC_POLL_IN | SMC_POLL_OUT;

public:
	explicit SmcSocket(struct socket *sock);
	~SmcSocket();

	// The one beside @sock, made if there is none yet. Nullptr without memory. Process.
	static SmcSocket *get_or_make(struct socket *sock);
	// The existing one, or nullptr.
	static SmcSocket *of(struct socket *sock)
	{
		return static_cast<SmcSocket *>(smc_sock_state(sock));
	}

	// The sock's.
	[[nodiscard]] control::Namespace &space() const { return space_; }
	[[nodiscard]] Mode mode() const { return mode_.load(std::memory_order_acquire); }
	// The endpoint in mode kSmc, else nothing. Process.
	[[nodiscard]] Ref<transport::Endpoint> connection() const;
	// The same without a reference: valid inside RCU's read side.
	[[nodiscard]] transport::Endpoint *connection_under_rcu() const
		SMC_REQUIRES_SHARED(rcu_read_side)
	{
		return endpoint_.look();
	}
	// The same without a reference: valid until the sock's lock is released. Sock lock held, on
	// behalf of a user's call.
	[[nodiscard]] transport::Endpoint *connection_locked() const
	{
		return mode() == Mode::kSmc ? endpoint_.look() : nullptr;
	}
	// In mode kListening, and after it.
	[[nodiscard]] Listener &listener() const { return *listener_; }

	// ---- Connecting ----------------------------------------------------------------------

	// Before TCP's connect to @addr: puts the option on its SYN, and a hook on the wait queue.
	// @near: the peer may be in this kernel, and then CLC need not go by TCP. Sock lock held.
	void arm(const sockaddr *addr, int addr_len, Near near);
	// After TCP's connect failed, or was shut down: removes option and hook. Process, no lock.
	void disarm();
	// The same with the sock's lock.
	void withdraw();
	// If TCP is established by now, falls back or begins the handshake. Process.
	void resolve();
	// Waits until the mode is decided, or TCP has failed. Sock lock held.
	[[nodiscard]] int wait_settled(long *timeo_jiffies);
	[[nodiscard]] bool settled() const;
	// It has fallen, and TCP connects a second time, or did. Only TCP knows what comes of it.
	[[nodiscard]] bool connected_again() const
	{
		return mode() == Mode::kFallen && connected_again_.load(std::memory_order_relaxed);
	}
	// Ends the handshake, if one is under way, and waits for it. Process, no lock.
	void cancel_handshake();
	// The same for a socket that stays in use: resets TCP's connection and reports @error,
	// unless the handshake completes just now. The mode is another one afterwards, so nothing
	// of the handshake is left when the socket is used again. Process, no lock.
	void give_up_handshake(int error);

	// ---- Other ways to get a mode -----------------------------------------------------------

	// An accepted connection; takes the endpoint's reference.
	void become_smc(Ref<transport::Endpoint> endpoint);
	// Sock lock held.
	[[nodiscard]] bool become_listener();
	// If TCP does not listen any more, leaves kListening; true then. The listener's connections
	// stay until release. Process, no lock.
	bool stop_listening();
	// After connect(AF_UNSPEC) has ended TCP's connection, or its handshake: ends SMC's, and
	// the socket can be used again. Process, no lock.
	void disconnect();
	// Unless another thread connects the socket already, it is as one whose connect() has
	// failed, and has said so. Sock lock held.
	void forget_attempt();
	// As disconnect(), for an SMC connection whose TCP connection has ended, if there is one:
	// the mode is kIdle then. What it returns is for finish_leaving(). Sock lock held.
	[[nodiscard]] Ref<transport::Endpoint> leave_connection();
	// Nothing to do for none. Process, no lock.
	void finish_leaving(const Ref<transport::Endpoint> &endpoint);
	// Around TCP's part of it, and disconnect(), and of shutdown(): a handshake whose
	// connection has gone, or is shut, does not make a second one.
	void begin_disconnect() { disconnects_.fetch_add(1, std::memory_order_relaxed); }
	void end_disconnect() { disconnects_.fetch_sub(1, std::memory_order_relaxed); }
	// @events: who waits for them is told.
	void fall(wire::DeclineReason reason, wire::DeclineReason peer_diagnosis,
		  u32 events = kWakeAll);
	// SMC_LIMIT_HS, for this socket as a listener. Process, no lock.
	void limit_handshakes(bool on);
	[[nodiscard]] bool limits_handshakes() const;
	// When a fallen socket becomes TCP's, with the sock's lock: Listener::stop_limiting().
	void stop_limiting_handshakes();
	// From kIdle only, for an option that SMC does not have. False in other modes. Process, no
	// lock.
	[[nodiscard]] bool fall_unused(wire::DeclineReason reason);
	// The user has closed the socket, or this object is not needed any more; may be called
	// again. Process, no lock.
	void release();

	// A call has reported connect()'s success. A connect() that begins afterwards gets EISCONN.
	[[nodiscard]] bool connect_reported() const
	{
		return connect_reported_.load(std::memory_order_relaxed);
	}
	void set_connect_reported() { connect_reported_.store(true, std::memory_order_relaxed); }
	void set_shut_rcv() { shut_rcv_.store(true, std::memory_order_relaxed); }
	[[nodiscard]] const std::atomic<bool> &shut_rcv() const { return shut_rcv_; }

	// HandshakeOwner
	[[nodiscard]] bool on_handshake_done(Handshake &handshake) override;
	void clc_begins(int rcvlowat) override
	{
		rcvlowat_.store(rcvlowat, std::memory_order_relaxed);
	}
	[[nodiscard]] int clc_ends(int) override
	{
		return rcvlowat_.exchange(kNoMark, std::memory_order_relaxed);
	}

	[[nodiscard]] bool server_may_be_slow() override;
	void on_no_device(u64 epoch) override;

	// Keeps the user's SO_RCVLOWAT while the handshake uses the sock's own; false if no
	// handshake does. Sock lock held.
	[[nodiscard]] bool keep_rcvlowat(int bytes)
	{
		if (rcvlowat_.load(std::memory_order_relaxed) == kNoMark)
			return false;
		rcvlowat_.store(bytes, std::memory_order_relaxed);
		return true;
	}

	// For sock_diag: describes the socket with the smallest serial above @after, and returns
	// that serial; none behind the last one.
	[[nodiscard]] static std::optional<u64> next(net *net, u64 after, ::smc_sock_info &out);

private:
	static constexpr int kNoMark = -1;

	// The one place where the mode changes. False: the mode is not @from.
	template <Mode from, Mode to>
	[[nodiscard]] bool change_mode()
	{
		static_assert(mode_change_is_legal(from, to));
		Mode expected = from;

		return mode_.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
	}
	bool on_wake();
	// Any context. @woken: called by TCP's wakeup. True if the hook is to be removed.
	bool look_at_tcp(bool woken);
	bool fall_without_handshake(wire::DeclineReason reason);
	// Sock lock held.
	void fail_attempt(int error, bool shut);
	// Sock lock held.
	void connect_again(const handshake::Fail &failure);
	// From kOpened or kCrossed; true for the latter.
	[[nodiscard]] bool enter_handshaking();
	// False: a user holds the sock's lock, and run() is to be called again.
	[[nodiscard]] bool make_handshake();
	[[nodiscard]] bool decline_for_memory();
	[[nodiscard]] bool drop_handshake();
	[[nodiscard]] bool lock_sock() SMC_TRY_ACQUIRE(true, turn_at_sock_);
	// TCP may have been reset during the handshake, which has read the error meant for the
	// user.
	void look_for_dead_tcp();
	// Applies the options that were set before.
	void take_connection(Ref<transport::Endpoint> endpoint);
	void unhook();
	void end_connection(transport::Endpoint &endpoint);
	// SO_LINGER: until the peer has everything, and is told so.
	void linger_for(transport::Endpoint &endpoint, long timeo_jiffies);
	void give_up(transport::Endpoint &endpoint);
	// Whom the last connect() named.
	[[nodiscard]] smc_peer attempted_peer() const;
	void run();

	struct socket *const sock_;
	control::Namespace &space_;
	std::atomic<Mode> mode_{Mode::kIdle};
	std::atomic<bool> connect_reported_{false};
	std::atomic<bool> shut_rcv_{false};
	std::atomic<int> rcvlowat_{kNoMark};       // written under the sock's lock
	std::atomic<int> give_up_error_{0};        // an order to run(): end the attempt with it
	std::atomic<bool> connected_again_{false}; // set before the mode becomes kFallen
	std::atomic<u32> disconnects_{0};          // under way; read under the sock's lock
	smc_hs_limit hs_limit_ = SMC_HS_LIMIT_NET; // the sock's lock guards it
	// Of the last connect(); written when the mode becomes kConnecting.
	smc_tcp_attempt attempt_{};
	Near near_ = Near::kNo;
	u32 fallback_reason_ = 0;
	u32 peer_diagnosis_ = 0;
	// Used by work_ and release(). In the modes kOpened and kCrossed it is one of an earlier
	// attempt, which has ended.
	Ref<Handshake> handshake_;
	AtomicRef<transport::Endpoint> endpoint_;
	Owned<Listener> listener_;
	SockTurn turn_at_sock_; // work_'s
	WakeHook<SmcSocket, &SmcSocket::on_wake> hook_{sock_, *this};
	Work<SmcSocket, &SmcSocket::run> work_{*this, SMC_WORK_OF_SOCKET};
};

} // namespace smc::shell
