// SPDX-License-Identifier: GPL-2.0-only
/* Finds out whether an address belongs to this kernel. */
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>

#include "kernel/abi/pernet.h"
#include "kernel/abi/tcp_path.h"

static bool addr4_is_of(struct net *net, __be32 addr)
{
	return inet_addr_type(net, addr) == RTN_LOCAL;
}

static bool addr6_is_of(struct net *net, const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return addr4_is_of(net, addr->s6_addr32[3]);
#if IS_ENABLED(CONFIG_IPV6)
	/* A kernel booted without IPv6 has no such addresses. */
	return ipv6_mod_enabled() &&
	       (ipv6_addr_loopback(addr) || ipv6_chk_addr(net, addr, NULL, 0));
#else
	return false;
#endif
}

static bool addr_is_here(const struct sock *sk, const struct in6_addr *addr)
{
	struct net *own = sock_net(sk);
	bool found = addr6_is_of(own, addr);
	struct net *net;

	if (found || smc_sysctl_smcd_loopback(own) != SMC_LOOPBACK_KERNEL)
		return found;
	rcu_read_lock();
	for_each_net_rcu(net) {
		/*
		 * Loopback addresses are each namespace's own, and a namespace may not want peers
		 * elsewhere.
		 */
		found = net != own && smc_sysctl_smcd_loopback(net) == SMC_LOOPBACK_KERNEL &&
			addr6_is_of(net, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

bool smc_tcp_addr_is_here(const struct sock *sk, const struct sockaddr *addr, int addr_len)
{
	struct in6_addr addr6;

	/* TCP refuses an address of another family than the sock's. */
	if (addr_len < (int)sizeof(struct sockaddr_in) || addr->sa_family != sk->sk_family)
		return false;
	if (addr->sa_family == AF_INET) {
		__be32 addr4 = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;

		/* To connect to the any-address is to connect to oneself. */
		if (!addr4)
			return true;
		ipv6_addr_set_v4mapped(addr4, &addr6);
	} else if (addr->sa_family == AF_INET6 && addr_len >= SIN6_LEN_RFC2133) {
		addr6 = ((const struct sockaddr_in6 *)addr)->sin6_addr;
		if (ipv6_addr_any(&addr6))
			return true;
	} else {
		return false;
	}
	return addr_is_here(sk, &addr6);
}

bool smc_tcp_peer_is_here(const struct sock *sk, const struct smc_tcp_path *path)
{
	struct in6_addr addr;

	memcpy(&addr, path->peer, sizeof(addr));
	return addr_is_here(sk, &addr);
}
