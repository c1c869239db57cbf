// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/loopback/device.hpp"

#include "core/handshake/offer.hpp"
#include "core/wire/clc.hpp"
#include "kernel/abi/pernet.h"
#include "shell/base/alloc.hpp"
#include "shell/base/random.hpp"
#include "shell/control/namespace.hpp"

namespace smc::transport::loopback {

namespace {

// SMC version: emulated devices came with version 2.
constexpr u8 kVersion = 2;

Device *the_device;

} // namespace

bool usable_in(net *net)
{
	return smc_sysctl_smcd_loopback(net) != SMC_LOOPBACK_OFF;
}

bool meets_others(net *net)
{
	return smc_sysctl_smcd_loopback(net) == SMC_LOOPBACK_KERNEL;
}

Device::Device() : gid_(shell::random64()), gid_extension_(shell::random64()) {}

void Device::add(WaitingEnd &end)
{
	shell::Guard guard(lock_);
	bucket_locked(end.token()).push_back(end);
}

void Device::forget(WaitingEnd &end)
{
	shell::Guard guard(lock_);
	bucket_locked(end.token()).remove(end);
}

WaitingEnd *Device::take_locked(u64 token)
{
	Waiting &waiting = bucket_locked(token);

	for (WaitingEnd *end = waiting.front(); end != nullptr; end = waiting.next(*end)) {
		if (end->token() == token) {
			waiting.remove(*end);
			return end;
		}
	}
	return nullptr;
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
	// The peer is this kernel itself.
	info.version = kVersion;
	info.peer_release = handshake::kReleaseMax;
	info.peer_os = static_cast<u8>(wire::ClcOs::kLinux);
	smc_hostname_of_caller(info.peer_host);
	info.conns = share.ends;
	info.dmb_bytes = share.dmb_bytes;
	return true;
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
