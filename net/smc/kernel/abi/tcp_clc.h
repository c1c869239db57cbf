/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP's stream while it carries CLC messages.
 *
 * Process context, with the sock's lock unless said otherwise. None of these waits for the network.
 */
#ifndef SMC_KERNEL_ABI_TCP_CLC_H
#define SMC_KERNEL_ABI_TCP_CLC_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/*
 * TCP wakes for every byte, whatever SO_RCVLOWAT is, and pollers have to look: the bytes are not
 * the user's. Its acknowledgements wait for the messages that answer. smc_tcp_clc_end() restores
 * the sock.
 */
struct smc_tcp_clc {
	int rcvlowat;
	void (*data_ready)(struct sock *sk);
	/*
	 * Sequence numbers of the next byte to be sent and received. Before data is sent, the other
	 * end has the same two, swapped, unless a middlebox changes them.
	 */
	u32 sent;
	u32 received;
};
void smc_tcp_clc_begin(struct sock *sk, struct smc_tcp_clc *saved);
void smc_tcp_clc_end(struct sock *sk, const struct smc_tcp_clc *saved);
/*
 * A client's SYN-ACK has come, and a Proposal follows by TCP: it acknowledges that, too. Within the
 * wakeup that reports the connection, which has the sock's lock.
 */
void smc_tcp_clc_follows(struct sock *sk);
/*
 * No bytes, no FIN, no error: a peek would find nothing. Reads without the lock: a later change
 * wakes.
 */
bool smc_tcp_quiet(const struct sock *sk);
/* The bytes that are there (0: none yet), *eof if the end follows them; or -errno. */
int smc_tcp_peek(struct sock *sk, void *buf, size_t len, bool *eof);
/* Drops @len bytes that were peeked. */
int smc_tcp_drop(struct sock *sk, size_t len);
/* All of it or -errno; pushed out at once, TCP_CORK or not. */
int smc_tcp_send(struct sock *sk, const void *buf, size_t len);
/*
 * Ends the connection with a RST, as if the peer had reset it: the user gets @err (positive) once,
 * then the end of the stream, and cannot send.
 */
void smc_tcp_abort(struct sock *sk, int err);
/* Forgets a connection that has ended, and its error: the socket may connect again. */
void smc_tcp_forget(struct sock *sk);
/* Ends the connection with a RST; the user gets @err, and the socket may connect again. */
void smc_tcp_reset(struct sock *sk, int err);

SMC_ABI_END

#endif
