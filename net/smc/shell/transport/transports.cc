// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/transports.hpp"

#include <algorithm>
#include <array>

#include "shell/transport/loopback/loopback_transport.hpp"
#include "shell/transport/rdma_choice.hpp"

namespace smc::transport {

namespace {

constinit loopback::LoopbackTransport loopback_transport;

// The second one is for RDMA, if there is any.
constinit std::array<Transport *, 2> all{&loopback_transport};

} // namespace

std::span<Transport *const> transports()
{
	return {all.data(), all[1] != nullptr ? 2U : 1U};
}

Reach reach_in_kernel(net *net)
{
	Reach furthest = Reach::kNobody;

	for (const Transport *transport : transports())
		furthest = std::max(furthest, transport->reach(net));
	return furthest;
}

bool set_up_transports()
{
	all[1] = rdma_transport();
	for (Transport *transport : transports()) {
		if (!transport->set_up()) {
			tear_down_transports();
			return false;
		}
	}
	return true;
}

void tear_down_transports()
{
	for (Transport *transport : transports())
		transport->tear_down();
}

} // namespace smc::transport
