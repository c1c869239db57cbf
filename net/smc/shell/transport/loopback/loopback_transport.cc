// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/loopback/loopback_transport.hpp"

#include <algorithm>
#include <utility>

#include "kernel/abi/pernet.h"
#include "kernel/abi/tcp_path.h"
#include "kernel/abi/tcp_peer.h"
#include "shell/base/random.hpp"
#include "shell/control/namespace.hpp"
#include "shell/control/policy.hpp"
#include "shell/transport/departed.hpp"
#include "shell/transport/loopback/device.hpp"

namespace smc::transport::loopback {

using wire::DeclineReason;

namespace {

// True if the two namespaces are one, or both allow peers in other namespaces.
bool may_meet(net *a, net *b)
{
	if (a == b)
		return usable_in(a);
	return meets_others(a) && meets_others(b);
}

bool may_be_near(const Seeker &seeker)
{
	if (seeker.path->own)
		return true;
	smc_peer peer{};

	std::copy(std::begin(seeker.path->peer), std::end(seeker.path->peer), peer.address);
	return control::peer_may_be_near(control::Namespace::of(seeker.netns), seeker.netns, peer);
}

} // namespace

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

// A server can serve every client in this kernel; a client offers it only if its peer may be here.
void LoopbackTransport::offer(const Seeker &seeker, handshake::LocalOffer &offer)
{
	if (!usable_in(seeker.netns) || (!seeker.server && !may_be_near(seeker)))
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

Result<Acquired, wire::DeclineReason> LoopbackTransport::acquire(const handshake::Effect &wanted,
								 const Seeker &seeker)
{
	const auto *client = std::get_if<handshake::AcquireClientDmb>(&wanted);
	auto end = SMC_TRY(client != nullptr ? attach(seeker.sk, client->peer) : open(seeker.sk));
	const handshake::DmbAcquired answer{end->announced()};

	return Acquired{.endpoint = shell::Ref<Endpoint>::adopt(end.release()), .answer = answer};
}

LoopbackTransport::Made LoopbackTransport::make_end(shell::Ref<Pair> pair, Side side,
						    struct sock *sk)
{
	const u32 rcvbuf_bytes = smc_sk_asked_rcvbuf_bytes(sk);
	const u32 sndbuf_bytes = smc_sk_asked_sndbuf_bytes(sk);
	net *net = smc_sk_net(sk);
	DmbPool &pool = device().pool();
	// One ring serves as the buffer of both ends, so it is as large as both together.
	const auto size = wire::BufferSize::covering(
		u64{rcvbuf_bytes != 0 ? rcvbuf_bytes : smc_sysctl_rmem(net)} +
		(sndbuf_bytes != 0 ? sndbuf_bytes : smc_sysctl_wmem(net)));

	Dmb *dmb = pool.take(sk, size);
	if (dmb == nullptr || dmb->size() != size)
		departed().make_room_for(size.bytes());
	if (dmb == nullptr)
		return fail(DeclineReason::kMem);
	auto end = shell::make_counted<LoopbackEndpoint>(std::move(pair), side, *dmb, sk,
							 shell::random64());
	if (!end) {
		pool.give_back(dmb, 0);
		return fail(DeclineReason::kMem);
	}
	return end;
}

LoopbackTransport::Made LoopbackTransport::open(struct sock *sk)
{
	if (!usable_in(smc_sk_net(sk)))
		return fail(DeclineReason::kNoSmcdDev);
	auto pair = shell::make_counted<Pair>(device());
	if (!pair)
		return fail(DeclineReason::kMem);
	Made made = make_end(std::move(pair), kServer, sk);
	if (made)
		device().add(**made);
	return made;
}

LoopbackTransport::Made LoopbackTransport::attach(struct sock *sk, const wire::SmcdEndpoint &peer)
{
	const auto server = device().claim<LoopbackEndpoint>(peer.dmb_token.value());

	if (!server || server->size() != peer.dmbe_size)
		return fail(DeclineReason::kCnfErr);
	if (!may_meet(smc_sk_net(sk), server->netns()))
		return fail(DeclineReason::kNoSmcd2Dev);
	Made made = make_end(server->pair(), kClient, sk);
	if (made && !LoopbackEndpoint::join(*server, **made)) {
		(*made)->abandon(/*peer_may_use=*/false);
		return fail(DeclineReason::kCnfErr);
	}
	return made;
}

} // namespace smc::transport::loopback
