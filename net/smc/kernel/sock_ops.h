/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a TCP socket is made an SMC socket, and TCP's again: shared by the sock_*.c
 * and tcp*.c files.
 */
#ifndef SMC_KERNEL_SOCK_OPS_H
#define SMC_KERNEL_SOCK_OPS_H

#include <linux/net.h>
#include <linux/sockptr.h>
#include <net/sock.h>

/* sock_tables.c */
extern struct proto_ops smc_ops_v4;
extern struct proto_ops smc_ops_v6;
static inline const struct proto_ops *smc_ops_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &smc_ops_v6 : &smc_ops_v4;
}
/* TCP's ops for this sock's family. */
const struct proto_ops *smc_base_ops(const struct sock *sk);
void smc_tables_learn_v6(const struct proto_ops *base);
/* False if the kernel runs without IPv6. */
bool smc_have_ipv6(void);

/* smc_sock_state(), for those who call it for each message. */
static inline void *smc_state_of(struct socket *sock)
{
	/* Pairs with the cmpxchg() that published it: its content is visible, too. */
	return smp_load_acquire(&SOCK_INODE(sock)->i_private);
}

/* sock_ops.c */
/* Fills the tables, of SMC sockets and of fallen ones, and learns TCP's. */
int smc_ops_setup(void);
void smc_ops_teardown(void);

/* sock_option.c */
int smc_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen);
int smc_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen);

/* sock_fallen.c */
void smc_fallen_setup(void);
void smc_fallen_teardown(void);
/* Makes the table of fallen sockets of that family. */
void smc_fallen_learn(const struct proto_ops *base);
int smc_fallen_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
			  unsigned int optlen);

/* sock_ulp.c */
/* Its name in setsockopt(). */
#define SMC_ULP_NAME "smc"
/* setsockopt(TCP_ULP, "smc"): what may fail, and then the layer itself. */
int smc_ulp_prepare(void);
void smc_ulp_forget(void);
void smc_ulp_setup(void);
void smc_ulp_teardown(void);
/*
 * Releases TCP_ULP "smc", if that made this an SMC socket: when its socket is being released, or
 * with the sock's lock afterwards. Not earlier: see sock_ulp.c.
 */
void smc_drop_ulp(struct sock *sk);
/* Of a sock that gets TCP's own ops, with its lock; the layer stays. */
void smc_ulp_give_back_prot(struct sock *sk);
/* True for a sock that has it. */
bool smc_ulp_is_ours(const struct sock *sk);
/* TCP's protocol of an IPv6 sock, as that layer has it if the sock has the layer. */
struct proto *smc_ulp_prot(const struct sock *sk);

/* sock_creator.c */
extern struct proto smc_inet_prot;
extern struct proto smc_inet6_prot;
void smc_creators_setup(void);
void smc_creator_drop(struct sock *sk);
/*
 * Releases the reference to the module that IPPROTO_SMC holds until the socket exists and its ops
 * hold one. Any context; may be called again.
 */
static inline void smc_drop_creator(struct sock *sk)
{
	const struct proto *creator = READ_ONCE(sk->sk_prot_creator);

	if (creator == &smc_inet_prot ||
	    (IS_ENABLED(CONFIG_IPV6) && creator == &smc_inet6_prot))
		smc_creator_drop(sk);
}

/* sock_select.c */
/*
 * Undoes the selection of a socket that its maker has not shown to anybody yet. Does nothing to
 * one that was not selected.
 */
void smc_deselect(struct socket *sock);

/* tcp_af.c */
/*
 * Gives a sock TCP's own table of functions in place of one of ours, when it neither listens nor
 * connects any more, or is a child that nobody else has seen. Any context; also for a sock that has
 * TCP's.
 */
void smc_tcp_give_back_af(struct sock *sk);
/* Whether there is anything to give back. Any context. */
bool smc_af_is_ours(const struct sock *sk);

/* tcp_listener.c */
/*
 * Removes what smc_tcp_limit_handshakes() and smc_tcp_watch_children() have left in a sock that may
 * outlive this module. -EOPNOTSUPP: it listens. With its lock, sleeps.
 */
int smc_tcp_unlimit_handshakes(struct sock *sk);
#endif
