// SPDX-License-Identifier: GPL-2.0-only
//
// LockedConnection: for a call that moves bytes: holds the sock's lock, and with it the SMC
// connection.
#pragma once

#include <atomic>
#include <utility>

#include "kernel/abi/sock.h"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/socket/smc_socket.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::shell::stream {

using transport::Endpoint;

// BriefConnection: the same for a call that is through in a moment, and sleeps by sleep() only.
class BriefConnection {
public:
	explicit BriefConnection(const SmcSocket &socket)
		: socket_(socket), lock_(socket.sk()),
		  endpoint_(lock_.taken() ? socket.connection_locked() : nullptr)
	{
	}

	// False: another call has the sock's lock, or there is no connection, or since a sleep not
	// the same one.
	[[nodiscard]] bool there() const { return endpoint_ != nullptr; }
	[[nodiscard]] Endpoint &endpoint() const { return *endpoint_; }
	[[nodiscard]] struct sock *sk() const { return socket_.sk(); }
	[[nodiscard]] bool shut_rcv() const
	{
		return shut_rcv_flag().load(std::memory_order_acquire);
	}
	[[nodiscard]] const std::atomic<bool> &shut_rcv_flag() const { return socket_.shut_rcv(); }
	// Needs there().
	[[nodiscard]] SpinLockHeld held() const { return lock_.held(); }
	// Needs there(). Runs @f(Endpoint &), which may sleep, without the lock; the endpoint stays
	// until this goes. Returns what it returns.
	template <class F>
	auto sleep(F &&f)
	{
		if (!kept_)
			kept_ = Ref<Endpoint>::share(endpoint_);
		lock_.give_back();
		const auto ret = f(*kept_);
		lock_.take(sk());
		endpoint_ = lock_.taken() && socket_.connection_locked() == kept_.get()
				    ? kept_.get()
				    : nullptr;
		return ret;
	}

private:
	friend class LockedConnection;

	const SmcSocket &socket_;
	BriefSockLock lock_;
	Endpoint *endpoint_;
	Ref<Endpoint> kept_;
};

class LockedConnection {
public:
	// Goes on where @brief ends, and with the connection that it has slept for.
	explicit LockedConnection(BriefConnection &brief)
		: socket_(brief.socket_), kept_(std::move(brief.kept_))
	{
		if (brief.lock_.taken())
			brief.lock_.keep();
		else
			smc_sk_lock(sk());
		endpoint_ = kept_ ? kept_.get() : socket_.connection_locked();
	}
	~LockedConnection() { smc_sk_unlock(sk()); }
	LockedConnection(const LockedConnection &) = delete;
	LockedConnection &operator=(const LockedConnection &) = delete;

	[[nodiscard]] bool there() const { return endpoint_ != nullptr; }
	[[nodiscard]] Endpoint &endpoint() const { return *endpoint_; }
	[[nodiscard]] struct sock *sk() const { return socket_.sk(); }
	[[nodiscard]] bool shut_rcv() const
	{
		return shut_rcv_flag().load(std::memory_order_acquire);
	}
	[[nodiscard]] const std::atomic<bool> &shut_rcv_flag() const { return socket_.shut_rcv(); }
	// Before a sleep, which releases the lock: another thread may disconnect the socket
	// meanwhile.
	void keep()
	{
		if (!kept_)
			kept_ = Ref<Endpoint>::share(endpoint_);
	}
	// As BriefConnection's, and it goes on with the same connection.
	template <class F>
	auto sleep(F &&f);

private:
	const SmcSocket &socket_;
	Endpoint *endpoint_;
	Ref<Endpoint> kept_;
};

template <class F>
auto LockedConnection::sleep(F &&f) SMC_NO_LOCK_CHECK // it has the lock as long as it lives
{
	keep();
	smc_sk_unlock(sk());
	const auto ret = f(*endpoint_);
	smc_sk_lock(sk());
	return ret;
}

// The arguments of one send() or recv().
class StreamCall {
public:
	StreamCall(LockedConnection &connection, msghdr *msg, size_t len, u32 flags)
		: connection_(connection), endpoint_(connection.endpoint()), sk_(connection.sk()),
		  msg_(msg), len_(len), flags_(flags)
	{
	}

protected:
	LockedConnection &connection_;
	Endpoint &endpoint_;
	struct sock *const sk_;
	msghdr *const msg_;
	const size_t len_;
	const u32 flags_;
};

// The TCP connection underneath has died. Its error is reported once, like any error of a socket;
// later calls find the end of the stream, as on TCP.
[[nodiscard]] inline bool tcp_died(const struct sock *sk)
{
	return smc_sk_state(sk) == SMC_TCP_CLOSE;
}

} // namespace smc::shell::stream
