// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/loopback/loopback_transport.hpp"

#include "shell/transport/loopback/device.hpp"

namespace smc::transport::loopback {

bool LoopbackTransport::set_up()
{
	return set_up_device();
}

void LoopbackTransport::tear_down()
{
	tear_down_device();
}

void LoopbackTransport::leave(net *net)
{
	leave_namespace(net);
}

Reach LoopbackTransport::reach(net *net) const
{
	if (!usable_in(net))
		return Reach::kNobody;
	return meets_others(net) ? Reach::kKernel : Reach::kNamespace;
}

// A server is here for every client that is; a client only offers it to who may be.
void LoopbackTransport::offer(const Seeker &seeker, handshake::LocalOffer &offer)
{
	if (!usable_in(seeker.netns) ||
	    (!seeker.server && !smc_tcp_peer_is_here(seeker.sk, seeker.path)))
		return;
	offer.smcd = true;
	offer.smcd_gid = device().gid();
	offer.smcd_gid_extension = device().gid_extension();
}

bool LoopbackTransport::acquires(const handshake::Effect &effect) const
{
	return std::get_if<handshake::AcquireServerDmb>(&effect) != nullptr ||
	       std::get_if<handshake::AcquireClientDmb>(&effect) != nullptr;
}

transport::Acquired LoopbackTransport::acquire(const handshake::Effect &wanted,
					       const Seeker &seeker)
{
	const auto *client = std::get_if<handshake::AcquireClientDmb>(&wanted);
	Acquired got = client != nullptr ? device().attach(seeker.sk, client->peer)
					 : device().open(seeker.sk);
	transport::Acquired result;

	result.reason = got.reason;
	if (got.endpoint) {
		result.status = transport::Acquired::Status::kDone;
		result.answer = handshake::DmbAcquired{got.endpoint->announced()};
		result.endpoint = shell::Ref<Endpoint>::adopt(got.endpoint.release());
	}
	return result;
}

} // namespace smc::transport::loopback
