// SPDX-License-Identifier: GPL-2.0-only
/* Finds out whether an address belongs to this kernel, where somebody listens. */
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>

#include "kernel/abi/pernet.h"
#include "kernel/abi/tcp_path.h"
#include "kernel/pernet.h"

static bool addr4_is_own(struct net *net, __be32 addr)
{
	return inet_addr_type(net, addr) == RTN_LOCAL;
}

static bool addr6_is_of(struct net *net, const struct in6_addr *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	/* A kernel booted without IPv6 has no such addresses. */
	return ipv6_mod_enabled() && ipv6_chk_addr(net, addr, NULL, 0);
#else
	return false;
#endif
}

static bool addr6_is_own(struct net *net, const struct in6_addr *addr)
{
	return ipv6_addr_loopback(addr) || addr6_is_of(net, addr);
}

bool smc_tcp_addr_is_own(const struct sock *sk, const struct sockaddr *addr, int addr_len)
{
	struct net *net = sock_net(sk);

	/* TCP refuses an address of another family than the sock's. */
	if (addr_len < (int)sizeof(struct sockaddr_in) || addr->sa_family != sk->sk_family)
		return false;
	/* To connect to the any-address is to connect to oneself. */
	if (addr->sa_family == AF_INET) {
		const __be32 addr4 = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;

		return !addr4 || addr4_is_own(net, addr4);
	}
	if (addr->sa_family == AF_INET6 && addr_len >= SIN6_LEN_RFC2133) {
		const struct in6_addr *addr6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

		if (ipv6_addr_v4mapped(addr6))
			return addr4_is_own(net, addr6->s6_addr32[3]);
		return ipv6_addr_any(addr6) || addr6_is_own(net, addr6);
	}
	return false;
}

/* ---- Other namespaces -------------------------------------------------------------- */

/*
 * Those with listeners of ours, the oldest first, so that nobody can put many of his own before
 * them. Under the lock; read under RCU.
 */
static LIST_HEAD(listening);
static DEFINE_SPINLOCK(listening_lock);

/* So many of them are looked at, and of a device's addresses. */
#define NAMESPACES_MAX	64
#define ADDRESSES_MAX	64

void smc_net_listens(struct net *net)
{
	struct smc_pernet *pn = smc_pernet(net);

	spin_lock_bh(&listening_lock);
	if (!pn->listeners++)
		list_add_tail_rcu(&pn->listening, &listening);
	spin_unlock_bh(&listening_lock);
}

void smc_net_stops_listening(struct net *net)
{
	struct smc_pernet *pn = smc_pernet(net);
	bool last;

	spin_lock_bh(&listening_lock);
	last = !--pn->listeners;
	if (last)
		list_del_rcu(&pn->listening);
	spin_unlock_bh(&listening_lock);
	/* A socket of the kernel may go when its namespace has waited for readers already. */
	if (last && !check_net(net))
		synchronize_rcu();
}

/*
 * True for an address of a device. Not for any that is local by a route: the administrator of one
 * namespace would have the peers of all others there. Under RCU.
 */
static bool addr4_is_of(struct net *net, __be32 addr)
{
	const struct net_device *dev = __ip_dev_find(net, addr, false);
	const struct in_device *in_dev = dev ? __in_dev_get_rcu(dev) : NULL;
	const struct in_ifaddr *ifa;
	int left = ADDRESSES_MAX;

	/* It is that of a route if no device has the address. */
	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_local == addr)
			return true;
		if (!--left)
			break;
	}
	return false;
}

/* Whether that is another namespace, which meets others as well, with that address. Under RCU. */
static bool is_at(struct net *net, const struct net *own, const struct in6_addr *addr)
{
	if (net == own || smc_sysctl_smcd_loopback(net) != SMC_LOOPBACK_KERNEL)
		return false;
	return ipv6_addr_v4mapped(addr) ? addr4_is_of(net, addr->s6_addr32[3]) :
					  addr6_is_of(net, addr);
}

bool smc_addr_is_near(const struct net *own, const u8 addr[16])
{
	const struct smc_pernet *pn;
	struct in6_addr addr6;
	int left = NAMESPACES_MAX;
	bool found;

	memcpy(&addr6, addr, sizeof(addr6));
	rcu_read_lock();
	/* Behind the host's addresses NAT may have the ports of its containers. */
	found = is_at(&init_net, own, &addr6);
	list_for_each_entry_rcu(pn, &listening, listening) {
		if (found || !left--)
			break;
		found = is_at(pn->net, own, &addr6);
	}
	rcu_read_unlock();
	return found;
}
