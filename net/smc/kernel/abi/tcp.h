/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The TCP connection under an SMC socket: the option on SYN and SYN-ACK, the
 * accept queue, and the stream while it carries CLC messages.
 */
#ifndef SMC_KERNEL_ABI_TCP_H
#define SMC_KERNEL_ABI_TCP_H

#include "kernel/abi/types.h"

SMC_ABI_BEGIN

/* Makes TCP able to write and read the option (RFC 7609 section 3.1). */
int smc_tcp_setup(void);
void smc_tcp_teardown(void);

/* Put the option on this sock's SYN or, on a listener, its SYN-ACKs. */
void smc_tcp_offer(struct sock *sk);
void smc_tcp_withdraw(struct sock *sk);
/* Has TCP_FASTOPEN_CONNECT been set? Its connect() may leave the SYN to the first send(). */
bool smc_tcp_fastopen_connect(const struct sock *sk);
/* Of a listener's child: did both ends carry the option? */
bool smc_tcp_agreed(const struct sock *sk);
/* What connect() has led to, once TCP is established. Any context, without a lock. */
enum smc_tcp_opened {
	SMC_TCP_OPENED_PLAIN,	/* not both ends have carried the option */
	SMC_TCP_OPENED,		/* by a SYN-ACK */
	/*
	 * By a SYN of the peer, which so connects as well. Only within the wakeup that
	 * tells of the connection; else this may be said of any that is just opened.
	 */
	SMC_TCP_OPENED_CROSSED,
	SMC_TCP_OPENED_SELF,	/* the socket has connected to its own address and port */
};
enum smc_tcp_opened smc_tcp_opened(const struct sock *sk);
bool smc_tcp_uses_ipsec(struct sock *sk);
/*
 * Before connect(): is @addr one of this kernel, in any namespace? That does not
 * say who answers there. Any context.
 */
bool smc_tcp_addr_is_here(const struct sock *sk, const struct sockaddr *addr, int addr_len);

/* ---- Accepting ------------------------------------------------------------ */

/* What the oldest entry of a listener's accept queue is. Any context. */
enum smc_accept_head {
	SMC_ACCEPT_EMPTY,
	SMC_ACCEPT_PLAIN,	/* a peer that did not offer SMC */
	SMC_ACCEPT_SMC,
};
enum smc_accept_head smc_tcp_accept_head(struct sock *listener);
/*
 * Its youngest entry, for wakeups: a hint, without a lock. One that did not offer
 * SMC is told of only if others stand before it; EMPTY otherwise. Any context,
 * also with interrupts off.
 */
enum smc_accept_head smc_tcp_accept_hint(const struct sock *listener);
/* How many there are up to the last one that offered SMC; 0 if none did. */
u32 smc_tcp_accept_up_to_smc(struct sock *listener);
/* Is SMC offered to no more than the user's backlog has room for? */
enum smc_hs_limit {
	SMC_HS_LIMIT_NET,	/* as net.smc.limit_smc_hs says at that moment */
	SMC_HS_LIMIT_OFF,
	SMC_HS_LIMIT_ON,
};
/*
 * Who connects from now on is not offered SMC while @full, and otherwise while
 * more connections than SMC_TCP_QUEUE_MAX stand in the queues of @listener; by
 * @limit, more than the user's backlog. They are plain TCP then.
 */
#define SMC_TCP_QUEUE_MAX 512
void smc_tcp_limit_handshakes(struct sock *listener, bool full, enum smc_hs_limit limit);
/*
 * Before the first call of the above: what it leaves in @listener, no child gets. With its lock,
 * before it listens; more than once.
 */
void smc_tcp_watch_children(struct sock *listener);
/*
 * Takes away what the two above have left in a sock, before that can outlive this
 * module. -EOPNOTSUPP: it listens. With its lock, sleeps.
 */
int smc_tcp_unlimit_handshakes(struct sock *sk);
/* Takes the oldest one, never sleeps for one; NULL and *err if there is none. */
struct sock *smc_tcp_accept(struct sock *listener, bool kern, int *err);
/* The same for a work item: without the listener's lock, which a user may keep. */
struct sock *smc_tcp_take_out(struct sock *listener);
/* Gives @sk to @sock, which has none. */
void smc_tcp_adopt(struct sock *sk, struct socket *sock);
/* Takes it away again; the caller owns the sock then. */
struct sock *smc_tcp_orphan(struct socket *sock);
/*
 * A socket of our own around an accepted sock, while it does the CLC exchange.
 * NULL if memory is short; @sk is then still the caller's.
 */
struct socket *smc_tcp_wrap(struct sock *sk);
/* Releases a socket made by smc_tcp_wrap(), with its sock if it has one. */
void smc_tcp_unwrap(struct socket *sock);
/*
 * Gives the sock of a socket that is being released to a socket of our own, which
 * it returns, so that TCP's connection goes on. NULL, and @sock has it still, if
 * memory is short.
 */
struct socket *smc_tcp_keep(struct socket *sock);
/* Releases a socket made by smc_tcp_keep(): closes, or with @reset resets. Process. */
void smc_tcp_let_go(struct socket *sock, bool reset);
/* Resets and closes a sock that nobody has accepted. */
void smc_tcp_close(struct sock *sk);

/* ---- The CLC exchange ------------------------------------------------------ */
/* Process context, with the sock's lock unless said. None waits for the network. */

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

/* ---- Where it runs ---------------------------------------------------------- */

/* Of each family; up to 8 IPv6 prefixes go into a Proposal. */
#define SMC_PATH_PREFIXES 8
struct smc_tcp_path {
	u32 ifindex;		/* the device the route leaves by; 0 if unknown */
	u16 vlan_id;		/* of that device or below it; 0 if there is none */
	bool ipv4;		/* IPv4, or IPv6 with v4-mapped addresses */
	u8 local[16];		/* v4 as ::ffff:a.b.c.d */
	u8 peer[16];
	bool ipsec;
	/* Different prefixes of that device, masked (CLC Proposal, v1 part). */
	u8 prefix4_count;
	u8 prefix4_own;		/* the first so many have the local address in them */
	u8 prefix4[SMC_PATH_PREFIXES][4];
	u8 prefix4_len[SMC_PATH_PREFIXES];
	u8 prefix6_count;
	u8 prefix6[SMC_PATH_PREFIXES][16];
	u8 prefix6_len[SMC_PATH_PREFIXES];
};
/* False if there is no route (any more). Process context. */
bool smc_tcp_path(struct sock *sk, struct smc_tcp_path *path);
/*
 * Is the peer in this kernel, by its address? Asks each network namespace, so only
 * for those who need to know. Process context.
 */
bool smc_tcp_peer_is_here(const struct sock *sk, const struct smc_tcp_path *path);

SMC_ABI_END

#endif
