// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/transports.hpp"

#include <algorithm>
#include <array>

#include "shell/transport/loopback/loopback_transport.hpp"
#include "shell/transport/rdma/rdma_transport.hpp"

namespace smc::transport {

namespace {

constinit rdma::RdmaTransport rdma_transport;
constinit loopback::LoopbackTransport loopback_transport;

constinit const std::array<Transport *, 2> all{&rdma_transport, &loopback_transport};

} // namespace

std::span<Transport *const> transports()
{
	return all;
}

Reach reach_in_kernel(net *net)
{
	Reach furthest = Reach::kNobody;

	for (const Transport *transport : all)
		furthest = std::max(furthest, transport->reach(net));
	return furthest;
}

bool set_up_transports()
{
	for (Transport *transport : all) {
		if (!transport->set_up()) {
			tear_down_transports();
			return false;
		}
	}
	return true;
}

void tear_down_transports()
{
	for (Transport *transport : all)
		transport->tear_down();
}

} // namespace smc::transport
