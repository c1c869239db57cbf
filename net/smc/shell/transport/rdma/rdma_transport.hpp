// SPDX-License-Identifier: GPL-2.0-only
//
// RdmaTransport: SMC-R, for handshakes.
#pragma once

#include "shell/transport/transport.hpp"

namespace smc::transport::rdma {

class RdmaTransport final : public Transport {
public:
	[[nodiscard]] bool set_up() override;
	void tear_down() override;
	void begin_to_leave(net *net) override;
	void leave(net *net) override;
	void offer(const Seeker &seeker, handshake::LocalOffer &offer) override;
	[[nodiscard]] bool acquires(const handshake::Effect &effect) const override;
	[[nodiscard]] Result<Acquired, wire::DeclineReason> acquire(const handshake::Effect &wanted,
								    const Seeker &seeker) override;
};

} // namespace smc::transport::rdma
