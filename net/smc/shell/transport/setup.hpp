// SPDX-License-Identifier: GPL-2.0-only
//
// Setup: the transports' part in one handshake: the offer, and the connection that is being made.
// Performs those effects of the machine that are not about TCP.
//
// Locking: none; it belongs to the handshake's work item.
#pragma once

#include <optional>

#include "kernel/abi/tcp.h"
#include "shell/transport/transport.hpp"

namespace smc::transport {

class Setup {
public:
	// An event for the machine, at once.
	using Answer = std::optional<handshake::Event>;

	// @sk outlives it. @observer gets the later results.
	Setup(struct sock *sk, bool server, SetupObserver &observer);

	// What this host can do for the connection. Once, before all else. Process.
	[[nodiscard]] handshake::LocalOffer offer();
	// Process.
	[[nodiscard]] Answer perform(const handshake::Effect &wanted);
	// The observer has got kGroupSettled. Process.
	[[nodiscard]] Answer ask_again();
	// The handshake has completed: the observer is not called any more.
	void established(const handshake::Agreement &agreement);
	// It has failed. @peer_may_use: see handshake::ReleaseLink. Process.
	void give_back(bool peer_may_use);
	// After established(): nobody wants the connection any more, and it is reset. Process.
	void drop();
	// The connection; once, after established().
	[[nodiscard]] shell::Ref<Endpoint> take_endpoint() { return std::move(endpoint_); }

private:
	[[nodiscard]] Answer acquire(Transport &from, const handshake::Effect &wanted);
	void add_prefixes(handshake::LocalOffer &offer) const;

	struct smc_tcp_path path_ {};
	const Seeker seeker_;
	shell::Ref<Endpoint> endpoint_;
	// Set while kGroupSettled is awaited; then what to ask for again, and where.
	Awaited *awaited_ = nullptr;
	Transport *asked_ = nullptr;
	handshake::Effect wanted_;
};

} // namespace smc::transport
