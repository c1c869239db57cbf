// SPDX-License-Identifier: GPL-2.0-only
//
// LoopbackTransport: SMC-D inside this kernel, for handshakes: makes both ends of a connection, and
// joins them.
#pragma once

#include "core/wire/clc.hpp"
#include "shell/transport/loopback/loopback_endpoint.hpp"
#include "shell/transport/transport.hpp"

namespace smc::transport::loopback {

class LoopbackTransport final : public Transport {
public:
	[[nodiscard]] bool set_up() override;
	void tear_down() override;
	void leave(net *net) override;
	[[nodiscard]] Reach reach(net *net) const override;
	void offer(const Seeker &seeker, handshake::LocalOffer &offer) override;
	[[nodiscard]] bool acquires(const handshake::Effect &effect) const override;
	[[nodiscard]] Result<Acquired, wire::DeclineReason> acquire(const handshake::Effect &wanted,
								    const Seeker &seeker) override;

private:
	using Made = Result<shell::Ref<LoopbackEndpoint>, wire::DeclineReason>;

	[[nodiscard]] static Made make_end(shell::Ref<Pair> pair, Side side, struct sock *sk);
	// A server's end, which waits for a client.
	[[nodiscard]] static Made open(struct sock *sk);
	// A client's end, joined to the one that waits under @peer's token.
	[[nodiscard]] static Made attach(struct sock *sk, const wire::SmcdEndpoint &peer);
};

} // namespace smc::transport::loopback
