// SPDX-License-Identifier: GPL-2.0-only
// Fallback statistics: which counter belongs to which reason.

#include "shell/control/fallback.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/trace.h"
#include "shell/control/namespace.hpp"

namespace smc::control {

void count_fallback(sock *sk, u32 reason, bool server)
{
	count_fallback(Namespace::of(smc_sk_net(sk)), sk, reason, server);
}

void count_fallback(Namespace &space, sock *sk, u32 reason, bool server)
{
	const auto slot = space.reasons(server).slot_of(reason);
	const u32 first = server ? SMC_STAT_REASON_SRV : SMC_STAT_REASON_CLNT;

	smc_count(space.counters(), server ? SMC_STAT_FALLBACK_SRV : SMC_STAT_FALLBACK_CLNT, 1);
	smc_count(space.counters(), first + static_cast<u32>(slot), 1);
	smc_trace_fallback(sk, reason);
}

} // namespace smc::control

using smc::control::Namespace;

bool smc_ctl_fallback_reason(net *net, bool server, u32 slot, u32 *reason)
{
	const auto code = Namespace::of(net).reasons(server).reason_at(slot);
	if (!code)
		return false;
	*reason = *code;
	return true;
}
