/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP's stream while it carries CLC messages.
 *
 * Process context, with the sock's lock unless said. None waits for the network.
 */
#ifndef SMC_KERNEL_ABI_TCP_CLC_H
#define SMC_KERNEL_ABI_TCP_CLC_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * Wakes for every byte, whatever SO_RCVLOWAT says, and as something that pollers
 * have to look at: the bytes are not the user's. End restores it.
 */
struct smc_tcp_clc {
	int rcvlowat;
	void (*data_ready)(struct sock *sk);
	/*
	 * Sequence numbers of the next byte to be sent and received. Where nothing was
	 * sent yet, the other end has the same two the other way round, unless somebody
	 * between them changes them.
	 */
	u32 sent;
	u32 received;
};
void smc_tcp_clc_begin(struct sock *sk, struct smc_tcp_clc *saved);
void smc_tcp_clc_end(struct sock *sk, const struct smc_tcp_clc *saved);
/*
 * Nothing to be read, no FIN, no error, so that a peek would find nothing. A look
 * without the lock: what comes behind it wakes.
 */
bool smc_tcp_quiet(const struct sock *sk);
/* Bytes there are (0: none yet), *eof after the last; or -errno. */
int smc_tcp_peek(struct sock *sk, void *buf, size_t len, bool *eof);
/* Drops @len bytes that were peeked. */
int smc_tcp_drop(struct sock *sk, size_t len);
/* All of it or -errno; pushed out at once, TCP_CORK or not. */
int smc_tcp_send(struct sock *sk, const void *buf, size_t len);
/*
 * Ends the connection with a RST, and for the user as one of the peer would: he sees
 * @err (positive) once, its end, and nothing can be sent.
 */
void smc_tcp_abort(struct sock *sk, int err);
/* Forgets a connection that is over, and its error: the socket may connect again. */
void smc_tcp_forget(struct sock *sk);
/* Ends the connection with a RST, and the socket may connect again; the user sees @err. */
void smc_tcp_reset(struct sock *sk, int err);

SMC_ABI_END

#endif
