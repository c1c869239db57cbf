// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets SO_RCVLOWAT of all that listeners in a cgroup accept, whenever TCP has measured a round
 * trip: of a child that does its handshake, too.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define SOL_SOCKET 1
#define SO_RCVLOWAT 18
#define LOW_WATER_BYTES 1000

SEC("sockops")
int low_water(struct bpf_sock_ops *ops)
{
	int bytes = LOW_WATER_BYTES;

	switch (ops->op) {
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		bpf_sock_ops_cb_flags_set(ops, BPF_SOCK_OPS_RTT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_RTT_CB:
		bpf_setsockopt(ops, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
		break;
	}
	return 1;
}

char licence[] SEC("license") = "GPL";
