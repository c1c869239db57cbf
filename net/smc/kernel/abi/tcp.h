/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The TCP connection under an SMC socket, and the option on its SYN and SYN-ACK.
 */
#ifndef SMC_KERNEL_ABI_TCP_H
#define SMC_KERNEL_ABI_TCP_H

#include "kernel/abi/tcp_child.h"
#include "kernel/abi/tcp_clc.h"
#include "kernel/abi/tcp_listener.h"
#include "kernel/abi/tcp_path.h"
#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* Put the option on this sock's SYN or, on a listener, its SYN-ACKs. */
void smc_tcp_offer(struct sock *sk);
void smc_tcp_withdraw(struct sock *sk);
/* Whether there is an offer to withdraw. Without a lock, of a socket that nobody has offer. */
bool smc_tcp_offers(const struct sock *sk);
/* True if TCP_FASTOPEN_CONNECT is set: its connect() may leave the SYN to the first send(). */
bool smc_tcp_fastopen_connect(const struct sock *sk);
/* Of a listener's child: both ends have sent the option. */
bool smc_tcp_agreed(const struct sock *sk);
/* The result of connect(), once TCP is established. Any context, without a lock. */
enum smc_tcp_opened {
	SMC_TCP_OPENED_PLAIN,	/* at least one end has not sent the option */
	SMC_TCP_OPENED,		/* by a SYN-ACK */
	/*
	 * By a SYN of the peer, which connects, too. Only reliable within the wakeup that reports
	 * the connection; otherwise any new connection may look so.
	 */
	SMC_TCP_OPENED_CROSSED,
	SMC_TCP_OPENED_SELF,	/* the socket has connected to its own address and port */
};
enum smc_tcp_opened smc_tcp_opened(const struct sock *sk);
/*
 * Whether CROSSED means that the peer's SYN had the option. Otherwise it may have been another one
 * that TCP does not know, and the peer is to be sent nothing first.
 */
bool smc_tcp_sees_crossed_option(void);
/*
 * Before a socket listens, until it does so no more: its SYN-ACKs can have the option. Sleeps, and
 * the first call takes milliseconds. Each hold is followed by one drop.
 */
void smc_tcp_hold_answers(void);
void smc_tcp_drop_answers(void);

SMC_ABI_END

#endif
