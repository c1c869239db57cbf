// SPDX-License-Identifier: GPL-2.0-only
//
// Setup: the transports' part in one handshake: what can be offered, and the connection that is
// being made. Carries out those of the machine's effects that are not about TCP.
//
// Locking: none; it belongs to the handshake's work item.
#pragma once

#include <optional>

#include "kernel/abi/tcp.h"
#include "shell/transport/transport.hpp"

namespace smc::transport {

class Setup {
public:
	// What the machine is to be told at once.
	using Answer = std::optional<handshake::Event>;

	// @sk outlives it. @observer hears what is not answered at once.
	Setup(struct sock *sk, bool server, SetupObserver &observer);

	// What this host can do for the connection. First, and once. Process.
	[[nodiscard]] handshake::LocalOffer offer();
	// Process.
	[[nodiscard]] Answer perform(const handshake::Effect &wanted);
	// The observer has heard kGroupSettled. Process.
	[[nodiscard]] Answer ask_again();
	// The handshake has made a connection of it: the observer is not told any more.
	void established(const handshake::Agreement &agreement);
	// It has not. @peer_may_use: see handshake::ReleaseLink. Process.
	void give_back(bool peer_may_use);
	// established(), but nobody wants the connection any more: it is reset. Process.
	void drop();
	// The connection; once, after established().
	[[nodiscard]] shell::Ref<Endpoint> take_endpoint() { return std::move(endpoint_); }

private:
	[[nodiscard]] Answer acquire(Transport &from, const handshake::Effect &wanted);
	void add_prefixes(handshake::LocalOffer &offer) const;

	struct smc_tcp_path path_ {};
	const Seeker seeker_;
	shell::Ref<Endpoint> endpoint_;
	// Set while the observer may hear kGroupSettled; then what to ask for again, and whom.
	Awaited *awaited_ = nullptr;
	Transport *asked_ = nullptr;
	handshake::Effect wanted_;
};

} // namespace smc::transport
