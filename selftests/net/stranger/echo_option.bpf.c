// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts SMC's option on the SYN-ACKs of listeners in a cgroup, whoever they are: for the client that
 * is as if the server, or something on the way, sent unknown options back.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define SYN_ACK 0x12

SEC("sockops")
int echo_option(struct bpf_sock_ops *ops)
{
	/* RFC 7609 3.1: kind 254, "SMCR" in EBCDIC. */
	static const __u8 option[] = { 254, 6, 0xe2, 0xd4, 0xc3, 0xd9 };
	const int synack = (ops->skb_tcp_flags & SYN_ACK) == SYN_ACK;

	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		bpf_sock_ops_cb_flags_set(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		if (synack)
			bpf_reserve_hdr_opt(ops, sizeof(option), 0);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		if (synack)
			bpf_store_hdr_opt(ops, option, sizeof(option), 0);
		break;
	}
	return 1;
}

char licence[] SEC("license") = "GPL";
