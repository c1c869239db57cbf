// SPDX-License-Identifier: GPL-2.0-only
//
// Transport: one way for the bytes of connections, as handshakes see it: what it can offer, and
// the connections that it makes for them. What it does for a connection is in Endpoint.
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

// Who wants a connection: the sock, where it runs, and whom to tell.
struct Seeker {
	struct sock *sk;
	net *netns;
	bool server;
	const struct smc_tcp_path *path;
	SetupObserver *observer;

	// The peer's end of TCP.
	[[nodiscard]] group::TcpAddress from() const { return std::to_array(path->peer); }
};

// What an acquire() waits for.
class Awaited {
public:
	// @observer is not told any more. Gives the waiting one's reference back. Process.
	virtual void stop_waiting(SetupObserver &observer) = 0;

protected:
	~Awaited() = default;
};

// A connection that is to be, or the wait for one.
struct Acquired {
	shell::Ref<Endpoint> endpoint;
	handshake::Event answer; // with an endpoint: what the machine asks for
	// Without one: the observer will hear kGroupSettled; ask again then.
	Awaited *awaited = nullptr;
};

// Whom a namespace reaches without leaving this kernel.
enum class Reach : u8 {
	kNobody,
	kNamespace, // itself
	kKernel,    // the other namespaces that have it so, too
};

// Process context, all of them.
class Transport {
public:
	// With the module. False if there is no memory; tear_down() is called all the same.
	[[nodiscard]] virtual bool set_up() = 0;
	virtual void tear_down() = 0;
	// The namespace is about to go: the end of what it has here begins, and takes its time.
	virtual void begin_to_leave(net * /*net*/) {}
	// The namespace goes: what it has here goes first.
	virtual void leave(net *net) = 0;

	[[nodiscard]] virtual Reach reach(net * /*net*/) const { return Reach::kNobody; }
	// Adds to @offer what @seeker can have by this transport. The EIDs are there.
	virtual void offer(const Seeker &seeker, handshake::LocalOffer &offer) = 0;
	// Is it this one that carries out such an effect?
	[[nodiscard]] virtual bool acquires(const handshake::Effect &effect) const = 0;
	// What @seeker gets, or why it gets nothing.
	[[nodiscard]] virtual Result<Acquired, wire::DeclineReason>
	acquire(const handshake::Effect &wanted, const Seeker &seeker) = 0;

protected:
	~Transport() = default;
};

} // namespace smc::transport
