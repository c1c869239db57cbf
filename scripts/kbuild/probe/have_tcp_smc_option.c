// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP writes and reads the option of SMC: kernels with CONFIG_SMC, which distributions have begun
 * to leave out.
 * exported: tcp_have_smc
 */
#include <linux/tcp.h>
#include <net/tcp.h>

void probe(struct sock *sk);
void probe(struct sock *sk)
{
	static_branch_enable(&tcp_have_smc);
	tcp_sk(sk)->syn_smc = 1;
	tcp_sk(sk)->smc_hs_congested = NULL;
}
