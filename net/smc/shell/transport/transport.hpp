// SPDX-License-Identifier: GPL-2.0-only
//
// Transport: one way to carry connections, as handshakes see it: its offer, and the connections
// that it makes. Endpoint has its part in an established connection.
//
// There is one object of each, in the list of transports.cc, from the module's loading on. It has
// no constructor to run.
#pragma once

#include <array>

#include "core/base/result.hpp"
#include "core/group/doubt.hpp"
#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "core/handshake/offer.hpp"
#include "core/wire/decline_reason.hpp"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "shell/base/ref.hpp"
#include "shell/transport/endpoint.hpp"
#include "shell/transport/setup_observer.hpp"

namespace smc::transport {

// A handshake that wants a connection.
struct Seeker {
	struct sock *sk;
	net *netns;
	bool server;
	const struct smc_tcp_path *path;
	SetupObserver *observer;

	// The peer's end of TCP.
	[[nodiscard]] group::TcpAddress from() const { return std::to_array(path->peer); }
};

// A wait of acquire().
class Awaited {
public:
	// @observer is not called any more. Gives back the waiting one's reference. Process.
	virtual void stop_waiting(SetupObserver &observer) = 0;

protected:
	~Awaited() = default;
};

// A connection in the making, or the wait for one.
struct Acquired {
	shell::Ref<Endpoint> endpoint;
	handshake::Event answer; // with an endpoint: for the machine
	// Without one: the observer will get kGroupSettled, and asks again then.
	Awaited *awaited = nullptr;
};

// How far a namespace reaches without leaving this kernel.
enum class Reach : u8 {
	kNobody,
	kNamespace, // itself
	kKernel,    // the other namespaces with the same setting, too
};

// All of these in process context.
class Transport {
public:
	// At the module's loading. False if there is no memory; tear_down() is called all the same.
	[[nodiscard]] virtual bool set_up() = 0;
	virtual void tear_down() = 0;
	// The namespace is about to go: its objects begin to end, which takes time.
	virtual void begin_to_leave(net * /*net*/) {}
	// The namespace goes: its objects end first.
	virtual void leave(net *net) = 0;

	[[nodiscard]] virtual Reach reach(net * /*net*/) const { return Reach::kNobody; }
	// Adds to @offer what this transport can do for @seeker.
	virtual void offer(const Seeker &seeker, handshake::LocalOffer &offer) = 0;
	// True if this transport performs that effect.
	[[nodiscard]] virtual bool acquires(const handshake::Effect &effect) const = 0;
	// The connection, or why there is none.
	[[nodiscard]] virtual Result<Acquired, wire::DeclineReason>
	acquire(const handshake::Effect &wanted, const Seeker &seeker) = 0;

protected:
	~Transport() = default;
};

} // namespace smc::transport
