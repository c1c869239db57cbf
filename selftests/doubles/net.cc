// SPDX-License-Identifier: GPL-2.0-only
#include "doubles/net.hpp"

#include "doubles/broken.hpp"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp_path.h"

net &doubles::initial_net()
{
	static net instance;
	return instance;
}

net *smc_init_net()
{
	return &doubles::initial_net();
}

void *smc_pernet_control(net *net)
{
	return net->control;
}

bool smc_sysctl_inherit_eids(net *net)
{
	return net->inherit_eids;
}

bool smc_sysctl_default_eid(net *net)
{
	return net->default_eid;
}

u32 smc_sysctl_plain_peer_time_s(net *net)
{
	return net->plain_peer_time_s;
}

u32 smc_sysctl_smcd_loopback(net *net)
{
	return net->loopback;
}

bool smc_addr_is_near(const net *own, const u8[16])
{
	return own->others_listen;
}

void smc_stat_add(net *net, u32 index, s64 n)
{
	if (net->gone)
		doubles::broken("a counter of a namespace that is not there any more");
	net->stats[index] += n;
}
