// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/namespace.hpp"

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "shell/base/alloc.hpp"
#include "shell/control/directory.hpp"

namespace smc::control {

Namespace &Namespace::of(net *net)
{
	return *static_cast<Namespace *>(smc_pernet_control(net));
}

void Namespace::count_smcd(s32 ends, s64 dmb_bytes)
{
	shell::Guard guard(lock_);
	smcd_share_.ends += static_cast<u32>(ends);
	smcd_share_.dmb_bytes += static_cast<u64>(dmb_bytes);
}

Namespace::SmcdShare Namespace::smcd_share()
{
	shell::Guard guard(lock_);
	return smcd_share_;
}

bool Namespace::drop_pnet(const PnetId *id)
{
	bool any = false;
	for (;;) {
		const shell::Owned<PnetEntry> entry(
			change_tables([&](Tables &tables) { return tables.pnet.take(id); }));
		if (!entry)
			return any;
		any = true;
	}
}

} // namespace smc::control

using smc::control::Namespace;

void *smc_control_net_create(net *net)
{
	return smc::shell::make<Namespace>(net).release();
}

void smc_control_net_leave(net *net)
{
	smc::control::leave_namespace(net);
}

void smc_control_net_destroy(net *net, void *control)
{
	smc::control::end_namespace(net);
	smc::shell::Owned<Namespace>(static_cast<Namespace *>(control)).reset();
}
