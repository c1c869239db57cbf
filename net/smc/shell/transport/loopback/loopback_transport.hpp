// SPDX-License-Identifier: GPL-2.0-only
//
// LoopbackTransport: SMC-D inside this kernel, for handshakes.
#pragma once

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
	[[nodiscard]] transport::Acquired acquire(const handshake::Effect &wanted,
						  const Seeker &seeker) override;
};

} // namespace smc::transport::loopback
