// SPDX-License-Identifier: GPL-2.0-only
/*
 * Marks new TCP sockets of a cgroup, so that smc.ko makes SMC sockets of them
 * (net.smc.tcp2smc_mark). The module takes the mark away again before the program has its socket.
 */
#include <linux/bpf.h>
#include <linux/in.h>

#include <bpf/bpf_helpers.h>

#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1

/* Set before the program is loaded. */
const volatile __u32 mark;

SEC("cgroup/sock_create")
int smc_mark(struct bpf_sock *sock)
{
	if ((sock->family == AF_INET || sock->family == AF_INET6) && sock->type == SOCK_STREAM &&
	    sock->protocol == IPPROTO_TCP)
		sock->mark |= mark;
	/* The socket is allowed. */
	return 1;
}

char licence[] SEC("license") = "GPL";
