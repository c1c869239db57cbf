// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/abi/pernet.h, stats.h and the C part of control.h, simulated.
#include <algorithm>
#include <cstring>

#include "cases.hpp"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "trace.hpp"
#include "world.hpp"

using sim::world;

u32 smc_sysctl_autocorking_size(net *net)
{
	return net->autocorking_size_bytes;
}

u32 smc_sysctl_smcr_buf_type(net *)
{
	return SMC_BUF_TYPE_PHYS;
}

u32 smc_sysctl_smcr_testlink_time_s(net *net)
{
	return net->testlink_time_s;
}

u32 smc_sysctl_wmem(net *net)
{
	return net->wmem_bytes;
}

u32 smc_sysctl_rmem(net *net)
{
	return net->rmem_bytes;
}

u32 smc_sysctl_smcr_max_links_per_lgr(net *net)
{
	return net->max_links;
}

u32 smc_sysctl_smcr_max_conns_per_lgr(net *net)
{
	return net->max_conns;
}

u32 smc_sysctl_smcr_rmb_elements(net *net)
{
	return net->rmb_elements;
}

bool smc_sysctl_smcr_compact(net *net)
{
	return net->compact;
}

bool smc_sysctl_smcr_growing_rings(net *net)
{
	return net->growing;
}

bool smc_sysctl_end_by_reset(net *net)
{
	return net->end_by_reset;
}

u32 smc_sysctl_smcd_loopback(net *net)
{
	return net->claimed ? u32{SMC_LOOPBACK_OFF} : world().knobs.loopback;
}

bool smc_sysctl_inherit_eids(net *)
{
	return false;
}

bool smc_sysctl_default_eid(net *)
{
	return false;
}

u32 smc_sysctl_host_ports(net *)
{
	return SMC_HOST_PORTS_NONE;
}

u32 smc_sysctl_plain_peer_time_s(net *)
{
	return world().knobs.peer_time_s;
}

bool smc_sysctl_limit_smc_hs(net *)
{
	return false;
}

void smc_hostname(u8 out[SMC_HOSTNAME_LEN])
{
	static constexpr char kName[] = "SIMULATED";

	std::memset(out, ' ', SMC_HOSTNAME_LEN);
	std::memcpy(out, kName, sizeof(kName) - 1);
}

void smc_hostname_of_caller(u8 out[SMC_HOSTNAME_LEN])
{
	smc_hostname(out);
}

net *smc_init_net()
{
	return world().hosts.front().get();
}

// Namespaces end before or after it here, see scenario.cc.
void smc_pernet_hold_exits() {}
void smc_pernet_resume_exits() {}

void *smc_pernet_control(net *net)
{
	return net->control;
}

std::function<void(const net *host, u32 index)> &sim::count_watcher()
{
	static std::function<void(const net *host, u32 index)> watcher;
	return watcher;
}

void smc_stat_add(net *net, u32 index, s64 n)
{
	if (index >= SMC_STATS)
		sim::fail("counter %u", index);
	net->stats[index] += n;
	if (index == SMC_STAT_VIOLATION)
		sim::note("%s: a violation", net->name.c_str());
	if (sim::count_watcher())
		sim::count_watcher()(net, index);
}

// With one rail a host's ports are found by the network device.
bool smc_pnet_of_netdev(net *, u32, u8 *out)
{
	if (world().knobs.second_ports == 0)
		return false;
	std::memset(out, ' ', SMC_PNETID_LEN);
	std::memcpy(out, sim::kPnetId, std::strlen(sim::kPnetId));
	return true;
}
