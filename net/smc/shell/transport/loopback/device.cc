// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/loopback/device.hpp"

#include "core/handshake/offer.hpp"
#include "kernel/abi/pernet.h"
#include "shell/base/alloc.hpp"
#include "shell/control/namespace.hpp"
#include "shell/transport/departed.hpp"

namespace smc::transport::loopback {

using wire::DeclineReason;

namespace {

// Of CLC: emulated devices came with the second.
constexpr u8 kVersion = 2;

Device *the_device;

u64 random_number()
{
	u64 number = 0;

	while (number == 0)
		number = smc_random_u64();
	return number;
}

// The two namespaces are one, or neither wants to be kept apart.
bool may_meet(net *a, net *b)
{
	if (a == b)
		return usable_in(a);
	return meets_others(a) && meets_others(b);
}

} // namespace

bool usable_in(net *net)
{
	return smc_sysctl_smcd_loopback(net) != SMC_LOOPBACK_OFF;
}

bool meets_others(net *net)
{
	return smc_sysctl_smcd_loopback(net) == SMC_LOOPBACK_KERNEL;
}

Device::Device() : gid_(random_number()), gid_extension_(random_number()) {}

Acquired Device::make_end(shell::Ref<Pair> pair, Side side, struct sock *sk)
{
	const u32 rcvbuf_bytes = smc_sk_asked_rcvbuf_bytes(sk);
	const u32 sndbuf_bytes = smc_sk_asked_sndbuf_bytes(sk);
	net *net = smc_sk_net(sk);
	// The buffers of both ends in one: who sends expects as much room as with two.
	const auto size = wire::BufferSize::covering(
		u64{rcvbuf_bytes != 0 ? rcvbuf_bytes : smc_sysctl_rmem(net)} +
		(sndbuf_bytes != 0 ? sndbuf_bytes : smc_sysctl_wmem(net)));

	Dmb *dmb = pool_.take(sk, size);
	if (dmb == nullptr || dmb->size() != size)
		departed().make_room_for(size.bytes());
	if (dmb == nullptr)
		return {{}, DeclineReason::kMem};
	auto endpoint = shell::make_counted<LoopbackEndpoint>(std::move(pair), side, *dmb, sk,
							      random_number());
	if (!endpoint) {
		pool_.give_back(dmb, 0);
		return {{}, DeclineReason::kMem};
	}
	return {std::move(endpoint), DeclineReason::kNone};
}

Acquired Device::open(struct sock *sk)
{
	if (!usable_in(smc_sk_net(sk)))
		return {{}, DeclineReason::kNoSmcdDev};
	auto pair = shell::make_counted<Pair>(*this);
	if (!pair)
		return {{}, DeclineReason::kMem};
	Acquired acquired = make_end(std::move(pair), kServer, sk);
	if (acquired.endpoint) {
		shell::Guard guard(lock_);
		bucket_locked(acquired.endpoint->token()).push_back(*acquired.endpoint);
	}
	return acquired;
}

shell::Ref<LoopbackEndpoint> Device::claim(u64 token)
{
	shell::Guard guard(lock_);
	Waiting &waiting = bucket_locked(token);

	for (LoopbackEndpoint *end = waiting.front(); end != nullptr; end = waiting.next(*end)) {
		if (end->token() == token) {
			waiting.remove(*end);
			return shell::Ref<LoopbackEndpoint>::share(end);
		}
	}
	return {};
}

Acquired Device::attach(struct sock *sk, const wire::SmcdEndpoint &peer)
{
	const auto server = claim(peer.dmb_token.value());

	if (!server || server->size() != peer.dmbe_size)
		return {{}, DeclineReason::kCnfErr};
	if (!may_meet(smc_sk_net(sk), server->netns()))
		return {{}, DeclineReason::kNoSmcd2Dev};
	Acquired acquired = make_end(server->pair_, kClient, sk);
	if (acquired.endpoint && !LoopbackEndpoint::join(*server, *acquired.endpoint)) {
		acquired.endpoint->abandon(/*peer_may_use=*/false);
		return {{}, DeclineReason::kCnfErr};
	}
	return acquired;
}

bool Device::snapshot_group(net *net, smc_smcd_lgr_info &info) const
{
	const auto share = control::Namespace::of(net).smcd_share();

	if (share.ends == 0)
		return false;
	info.id = group_id();
	info.gid = gid_.value();
	info.gid_extension = gid_extension_.value();
	info.chid = wire::kLoopbackChid.value();
	// The peer is this very kernel.
	info.version = kVersion;
	info.peer_release = handshake::kReleaseMax;
	info.peer_os = static_cast<u8>(wire::ClcOs::kLinux);
	smc_hostname_of_caller(info.peer_host);
	info.conns = share.ends;
	info.dmb_bytes = share.dmb_bytes;
	return true;
}

void Device::forget(LoopbackEndpoint &endpoint)
{
	shell::Guard guard(lock_);
	bucket_locked(endpoint.token()).remove(endpoint);
}

Device &device()
{
	return *the_device;
}

bool set_up_device()
{
	return shell::make_single(the_device);
}

void tear_down_device()
{
	shell::free_single(the_device);
}

void leave_namespace(net *net)
{
	device().pool().drop(net);
}

} // namespace smc::transport::loopback
