/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a program connects to, and how TCP connects to him once more, without SMC's option.
 */
#ifndef SMC_KERNEL_ABI_TCP_PEER_H
#define SMC_KERNEL_ABI_TCP_PEER_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* As the program names him: BPF programs may send the connection elsewhere. */
struct smc_peer {
	u8 address[16];		/* v4 as ::ffff:a.b.c.d */
	u32 scope_id;		/* of a link-local address */
	u16 port;
};
/* False if it is no address of TCP. Any context. */
bool smc_tcp_peer(const struct sockaddr *addr, int addr_len, struct smc_peer *peer);

/* A connect(), for a second one that asks for the same. */
struct smc_tcp_attempt {
	u8 addr[28];		/* a struct sockaddr_in6, or less */
	int addr_len;
	bool by_address;	/* smc_tcp_routed_by_address() */
	/* What disconnecting resets: the port that bind() has chosen, and TCP_WINDOW_CLAMP. */
	u16 port;		/* 0: none */
	u32 window_clamp;
};
/*
 * True if nothing but the peer's address decides where the packets of @sk, which is not connected,
 * will go: no address or device that it is bound to, no mark, no type of service. Any context.
 */
bool smc_tcp_routed_by_address(const struct sock *sk);
/* With the sock's lock, before connect(). */
void smc_tcp_remember_attempt(struct sock *sk, const struct sockaddr *addr, int addr_len,
			      struct smc_tcp_attempt *attempt);
/* Whom @attempt names, as smc_tcp_peer(). Few attempts need it. Any context. */
bool smc_tcp_attempted_peer(const struct smc_tcp_attempt *attempt, struct smc_peer *peer);
/*
 * Resets the connection, if there still is one, and connects again as @attempt did, but without the
 * option; does not wait. Pollers notice nothing; a connect() that has not yet left TCP's wait gets
 * EPIPE. -EINPROGRESS: TCP connects; or another errno of TCP's connect(), with no connection left.
 * With the sock's lock. Process.
 */
int smc_tcp_connect_again(struct socket *sock, const struct smc_tcp_attempt *attempt);
/*
 * The smoothed round trip time of an established connection, rounded up; 0 if it was not measured.
 * Any context.
 */
u32 smc_tcp_round_trip_ms(const struct sock *sk);

SMC_ABI_END

#endif
