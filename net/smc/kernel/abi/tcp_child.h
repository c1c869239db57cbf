/* SPDX-License-Identifier: GPL-2.0-only */
/* Socks without a user's socket, and sockets of our own for them. */
#ifndef SMC_KERNEL_ABI_TCP_CHILD_H
#define SMC_KERNEL_ABI_TCP_CHILD_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* Takes the oldest one without sleeping; NULL and *err if there is none. */
struct sock *smc_tcp_accept(struct sock *listener, bool kern, int *err);
/* The same for a work item: without the listener's lock, which a user may hold. */
struct sock *smc_tcp_take_out(struct sock *listener);
/* Gives @sk to @sock, which has none. */
void smc_tcp_adopt(struct sock *sk, struct socket *sock);
/* Takes it away again; the caller owns the sock then. */
struct sock *smc_tcp_orphan(struct socket *sock);
/*
 * A socket of our own around an accepted sock, while it does the CLC exchange: @spare, or a new one
 * if that is NULL. NULL if memory is short; @sk is then still the caller's.
 */
struct socket *smc_tcp_wrap(struct sock *sk, struct socket *spare);
/*
 * Takes the sock out of a socket made by smc_tcp_wrap(), which then is a spare one for another
 * child of the same listener: it is to be wrapped around that, or released by smc_tcp_unwrap().
 */
struct sock *smc_tcp_empty(struct socket *sock);
/* Releases a socket made by smc_tcp_wrap(), with its sock if it has one. */
void smc_tcp_unwrap(struct socket *sock);
/*
 * Takes the sock away from a socket that is being released, so that TCP's connection stays open
 * until smc_tcp_let_go().
 */
void smc_tcp_keep(struct socket *sock);
/* The rest of that release: closes, or with @reset resets. @sk goes with it. Process. */
void smc_tcp_let_go(struct sock *sk, bool reset);
/* Resets and closes a sock that nobody has accepted. */
void smc_tcp_close(struct sock *sk);

SMC_ABI_END

#endif
