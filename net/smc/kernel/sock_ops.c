// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ops tables: of sockets that are or may become SMC (their calls go to C++),
 * and of fallen ones, which run TCP's own functions but keep their reference
 * on this module until they are released, because a thread of the process may
 * still be on its way out of one of our functions.
 *
 * Two things replace the ops of a TCP socket behind everybody's back: kTLS,
 * which also copies the table of the first TLS socket for all later ones, and
 * IPV6_ADDRFORM. So fallen sockets watch for these two options, and have TCP's
 * own table before either can happen.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/smc.h>
#include <linux/sockptr.h>
#include <linux/splice.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "kernel/abi/lock.h"
#include "kernel/abi/sock.h"
#include "kernel/abi/tcp.h"
#include "kernel/sock_ops.h"

/* inet6_stream_ops is not exported: learnt from a socket. */
static const struct proto_ops *base_v6 __ro_after_init;
static struct proto_ops fallen_v4 __ro_after_init;
static struct proto_ops fallen_v6 __ro_after_init;

const struct proto_ops *smc_base_ops(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? base_v6 : &inet_stream_ops;
}

bool smc_have_ipv6(void)
{
	return base_v6;
}

static void set_ops(struct socket *sock, const struct proto_ops *ops)
{
	/* Callers read the ops without a lock; what was set up before goes with them. */
	smp_store_release(&sock->ops, ops);
}

/* ---- Calls that go to TCP -------------------------------------------------- */

static const struct proto_ops *tcp_ops(const struct socket *sock)
{
	return smc_base_ops(sock->sk);
}

int smc_tcp_ops_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	int ret;

	if (!sk)
		return 0;
	/*
	 * TCP may go on for minutes, and must not keep the module that long. Nobody
	 * else has this socket any more.
	 */
	smc_drop_ulp(sk);
	smc_drop_creator(sk);
	sock_hold(sk);
	ret = tcp_ops(sock)->release(sock);
	/* Not before: up to its end a listener gets children. */
	smc_tcp_give_back_af(sk);
	sock_put(sk);
	return ret;
}

int smc_tcp_ops_connect(struct socket *sock, struct sockaddr *addr, int addr_len, int flags)
{
	smc_drop_creator(sock->sk);
	return tcp_ops(sock)->connect(sock, addr, addr_len, flags);
}

int smc_tcp_connect_locked(struct socket *sock, struct sockaddr *addr, int addr_len, int flags)
{
	smc_drop_creator(sock->sk);
	/* What both families' connect() does under the lock. */
	return __inet_stream_connect(sock, addr, addr_len, flags, 0);
}

u32 smc_tcp_ops_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	return (__force u32)tcp_ops(sock)->poll(file, sock, wait);
}

int smc_tcp_ops_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return tcp_ops(sock)->ioctl(sock, cmd, arg);
}

int smc_tcp_ops_accept(struct socket *sock, struct socket *new_sock, int flags, bool kern)
{
#ifdef HAVE_PROTO_ACCEPT_ARG
	struct proto_accept_arg arg = {
		.flags = flags,
		.kern = kern,
	};

	return tcp_ops(sock)->accept(sock, new_sock, &arg);
#else
	return tcp_ops(sock)->accept(sock, new_sock, flags, kern);
#endif
}

int smc_tcp_ops_listen(struct socket *sock, int backlog)
{
	smc_drop_creator(sock->sk);
	return tcp_ops(sock)->listen(sock, backlog);
}

int smc_tcp_ops_shutdown(struct socket *sock, int how)
{
	return tcp_ops(sock)->shutdown(sock, how);
}

int smc_tcp_ops_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	return tcp_ops(sock)->sendmsg(sock, msg, len);
}

int smc_tcp_ops_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	return tcp_ops(sock)->recvmsg(sock, msg, len, flags);
}

long smc_tcp_ops_splice_read(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe,
			     size_t len, unsigned int flags)
{
	return tcp_ops(sock)->splice_read(sock, pos, pipe, len, flags);
}

long smc_splice_read_copy(struct socket *sock, s64 *pos, struct pipe_inode_info *pipe, size_t len,
			  unsigned int flags)
{
#ifdef HAVE_COPY_SPLICE_READ
	return copy_splice_read(sock->file, pos, pipe, len, flags);
#else
	return generic_file_splice_read(sock->file, pos, pipe, len, flags);
#endif
}

/* ---- Ops of sockets that may be SMC ---------------------------------------- */

static int smc_bind(struct socket *sock, struct sockaddr *addr, int addr_len)
{
	return tcp_ops(sock)->bind(sock, addr, addr_len);
}

#ifdef HAVE_PROTO_ACCEPT_ARG
static int smc_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	return smc_op_accept(sock, newsock, arg->flags, arg->kern);
}
#else
static int smc_accept(struct socket *sock, struct socket *newsock, int flags, bool kern)
{
	return smc_op_accept(sock, newsock, flags, kern);
}
#endif

static int smc_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	if (peer == 1 && !smc_op_has_peer(sock))
		return -ENOTCONN;
	return tcp_ops(sock)->getname(sock, addr, peer);
}

static __poll_t smc_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	return (__force __poll_t)smc_op_poll(file, sock, wait);
}

static bool is_fastopen_option(int optname)
{
	return optname == TCP_FASTOPEN || optname == TCP_FASTOPEN_CONNECT ||
	       optname == TCP_FASTOPEN_KEY || optname == TCP_FASTOPEN_NO_COOKIE;
}

/* What an option means to a socket of ours; -1 if nothing. */
static int option_kind(int level, int optname)
{
	if (level == SOL_TCP) {
		if (optname == TCP_ULP)
			return SMC_OPTION_ULP;
		if (optname == TCP_REPAIR)
			return SMC_OPTION_REPAIR;
		if (is_fastopen_option(optname))
			return SMC_OPTION_FASTOPEN;
		if (optname == TCP_NODELAY)
			return SMC_OPTION_NODELAY;
		if (optname == TCP_CORK)
			return SMC_OPTION_CORK;
	}
	if (level == SOL_IPV6 && optname == IPV6_ADDRFORM)
		return SMC_OPTION_ADDRFORM;
	return -1;
}

/* SOL_SMC's only one, of include/uapi/linux/smc.h. */
static int smc_set_limit_hs(struct socket *sock, sockptr_t optval, unsigned int optlen)
{
	int value;

	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	return smc_op_limit_handshakes(sock, value);
}

static int put_option(int value, char __user *optval, int __user *optlen)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(int, len, sizeof(value));
	if (put_user(len, optlen) || copy_to_user(optval, &value, len))
		return -EFAULT;
	return 0;
}

static int fallen_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
			     unsigned int optlen);

/* As TCP reads it, once: what is found out about it must stay so. */
static int get_layer_name(char name[TCP_ULP_NAME_MAX], sockptr_t optval, unsigned int optlen)
{
	long len;

	if (optlen < 1)
		return -EINVAL;
	len = strncpy_from_sockptr(name, optval, min_t(long, TCP_ULP_NAME_MAX - 1, optlen));
	if (len < 0)
		return -EFAULT;
	name[len] = '\0';
	return 0;
}

static int smc_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
			  unsigned int optlen)
{
	const int kind = option_kind(level, optname);
	const bool pushes = kind == SMC_OPTION_NODELAY || kind == SMC_OPTION_CORK;
	char layer[TCP_ULP_NAME_MAX];
	int ret;

	if (kind == SMC_OPTION_ULP) {
		ret = get_layer_name(layer, optval, optlen);
		if (ret)
			return ret;
		/* It has that one, by whatever way, and stays what it is. */
		if (!strcmp(layer, SMC_ULP_NAME) && READ_ONCE(sock->ops) == smc_ops_of(sock->sk))
			return -EEXIST;
		optval = KERNEL_SOCKPTR(layer);
		optlen = strlen(layer) + 1;
	}

	if (level == SOL_SMC && optname == SMC_LIMIT_HS)
		return smc_set_limit_hs(sock, optval, optlen);
	if (kind >= 0 && !pushes) {
		ret = smc_op_option(sock, kind);
		if (ret)
			return ret;
		/* It is a TCP socket now; whoever made it one may not have come to its ops yet. */
		smc_sock_fall(sock);
		return fallen_setsockopt(sock, level, optname, optval, optlen);
	}
	ret = sock_common_setsockopt(sock, level, optname, optval, optlen);
	if (pushes && !ret)
		smc_op_option(sock, kind);
	return ret;
}

static int smc_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
			  int __user *optlen)
{
	if (level == SOL_SMC && optname == SMC_LIMIT_HS)
		return put_option(smc_op_limits_handshakes(sock), optval, optlen);
	/* It takes bytes out of TCP, which are the handshake's, or are not there. */
	if (level == SOL_TCP && optname == TCP_ZEROCOPY_RECEIVE && smc_op_keeps_tcp(sock))
		return -EOPNOTSUPP;
	return sock_common_getsockopt(sock, level, optname, optval, optlen);
}

static int smc_mmap(struct file *file, struct socket *sock, struct vm_area_struct *vma)
{
	/* TCP's zero-copy receive; bytes that come by RDMA are not in skbs. */
	return -ENODEV;
}

static ssize_t smc_splice_read(struct socket *sock, loff_t *pos, struct pipe_inode_info *pipe,
			       size_t len, unsigned int flags)
{
	return smc_op_splice_read(sock, pos, pipe, len, flags);
}

#ifdef HAVE_SOCK_SENDPAGE
static ssize_t smc_sendpage(struct socket *sock, struct page *page, int offset, size_t size,
			    int flags)
{
	return sock_no_sendpage(sock, page, offset, size, flags);
}
#endif

static int smc_set_rcvlowat(struct sock *sk, int val)
{
	const int ret = smc_base_ops(sk)->set_rcvlowat(sk, val);

	if (!ret && smc_op_keep_rcvlowat(sk->sk_socket, sk->sk_rcvlowat)) {
		WRITE_ONCE(sk->sk_rcvlowat, 1);
		return 0;
	}
	/* What is there may be enough now. TCP looks into its own queue only. */
	if (!ret)
		smc_sk_wake(sk, SMC_POLL_ANY | SMC_POLL_IN);
	return ret;
}

#ifdef HAVE_SPLICE_EOF
/* Each piece of the file was said not to be the last; nothing follows, so nothing waits for it. */
static void smc_splice_eof(struct socket *sock)
{
	smc_op_push(sock);
	if (!smc_op_keeps_tcp(sock))
		tcp_ops(sock)->splice_eof(sock);
}
#endif

#ifdef CONFIG_COMPAT
static int smc_compat_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	const struct proto_ops *ops = tcp_ops(sock);

	return ops->compat_ioctl ? ops->compat_ioctl(sock, cmd, arg) : -ENOIOCTLCMD;
}
#endif

/* clang-format off */
#define SMC_OPS_COMMON							\
	.owner = THIS_MODULE,						\
	.release = smc_op_release,					\
	.bind = smc_bind,						\
	.connect = smc_op_connect,					\
	.socketpair = sock_no_socketpair,				\
	.accept = smc_accept,						\
	.getname = smc_getname,						\
	.poll = smc_poll,						\
	.ioctl = smc_op_ioctl,						\
	.gettstamp = sock_gettstamp,					\
	.listen = smc_op_listen,					\
	.shutdown = smc_op_shutdown,					\
	.setsockopt = smc_setsockopt,					\
	.getsockopt = smc_getsockopt,					\
	.sendmsg = smc_op_sendmsg,					\
	.recvmsg = smc_op_recvmsg,					\
	.mmap = smc_mmap,						\
	.set_rcvlowat = smc_set_rcvlowat,				\
	.splice_read = smc_splice_read
/* clang-format on */

struct proto_ops smc_ops_v4 __ro_after_init = {
	.family = PF_INET,
	SMC_OPS_COMMON,
#ifdef HAVE_SPLICE_EOF
	.splice_eof = smc_splice_eof,
#endif
#ifdef HAVE_SOCK_SENDPAGE
	.sendpage = smc_sendpage,
#endif
#ifdef CONFIG_COMPAT
	.compat_ioctl = smc_compat_ioctl,
#endif
};

struct proto_ops smc_ops_v6 __ro_after_init = {
	.family = PF_INET6,
	SMC_OPS_COMMON,
#ifdef HAVE_SPLICE_EOF
	.splice_eof = smc_splice_eof,
#endif
#ifdef HAVE_SOCK_SENDPAGE
	.sendpage = smc_sendpage,
#endif
#ifdef CONFIG_COMPAT
	.compat_ioctl = smc_compat_ioctl,
#endif
};

/* ---- Fallen sockets --------------------------------------------------------- */

/*
 * A fallen socket with TCP's own ops does not come back to us at release, and
 * other threads may still be inside our functions with its state: both it and
 * the reference on this module stay until the socket is closed. Nothing in a
 * sock tells that which its clones would not inherit, and these hold no
 * reference on this module: so it is looked at from time to time.
 */
struct guest {
	struct list_head node;
	struct sock *sk; /* held */
	void *state;
};

#define GUEST_LOOK_MS 200
/* Users choose how many there are: the lock is free again after so many. */
#define GUESTS_AT_ONCE 64

static LIST_HEAD(guests);
static DEFINE_SPINLOCK(guests_lock);
static struct smc_work guests_work;

/* Takes some of @todo: those that are closed go to @gone. False if none is left. */
static bool look_at_some(struct list_head *todo, struct list_head *gone)
{
	struct guest *guest;
	unsigned int n;

	spin_lock(&guests_lock);
	for (n = 0; n < GUESTS_AT_ONCE && !list_empty(todo); n++) {
		guest = list_first_entry(todo, struct guest, node);
		/* Nobody has its descriptor any more, or is in a call on it. */
		list_move(&guest->node, sock_flag(guest->sk, SOCK_DEAD) ? gone : &guests);
	}
	spin_unlock(&guests_lock);
	return !list_empty(todo);
}

static void look_at_guests(struct smc_work *work)
{
	struct guest *guest, *next;
	LIST_HEAD(todo);
	LIST_HEAD(gone);
	bool more;

	spin_lock(&guests_lock);
	list_splice_init(&guests, &todo);
	spin_unlock(&guests_lock);
	while (look_at_some(&todo, &gone))
		cond_resched();
	spin_lock(&guests_lock);
	more = !list_empty(&guests);
	spin_unlock(&guests_lock);
	if (more)
		smc_work_queue_delayed(work, GUEST_LOOK_MS);
	list_for_each_entry_safe(guest, next, &gone, node) {
		smc_op_forget(guest->state);
		sock_put(guest->sk);
		kfree(guest);
		/* smc_ops_teardown() waits for what comes after the last. */
		module_put(THIS_MODULE);
		cond_resched();
	}
}

static const struct proto_ops *fallen_ops_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &fallen_v6 : &fallen_v4;
}

/*
 * For good. Whoever takes over the ops, now or in a thread that was asked to
 * long ago, finds TCP's own, and nothing of ours has to be put back after it.
 */
static int leave(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct guest *guest;
	bool left;
	int ret;

	/* One of the kernel's own may go with its namespace at any moment. */
	if (!sk->sk_net_refcnt)
		return -EOPNOTSUPP;
	guest = kmalloc(sizeof(*guest), GFP_KERNEL);
	if (!guest)
		return -ENOMEM;
	/* User space can make others wait for this, but only on the same socket. */
	lock_sock(sk);
	left = READ_ONCE(sock->ops) == fallen_ops_of(sk);
	/* It may have been a listener of ours, and be one of TCP's some day, with children. */
	if (left)
		smc_op_stop_limiting(smc_sock_state(sock));
	ret = left ? smc_tcp_unlimit_handshakes(sk) : 0;
	if (left && !ret) {
		smc_drop_ulp(sk);
		/* IPv6 may be a module; its socket's release puts it. */
		__module_get(smc_base_ops(sk)->owner);
		set_ops(sock, smc_base_ops(sk));
	}
	release_sock(sk);
	if (!left || ret) {
		kfree(guest);
		return ret;
	}
	sock_hold(sk);
	guest->sk = sk;
	guest->state = smc_sock_state(sock);
	/* Its release does not come by here, so it lets go of the socket now. */
	smc_op_leave(guest->state);
	spin_lock(&guests_lock);
	list_add(&guest->node, &guests);
	spin_unlock(&guests_lock);
	smc_work_queue_if_idle(&guests_work, GUEST_LOOK_MS);
	return 0;
}

static int fallen_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
			     unsigned int optlen)
{
	if ((level == SOL_TCP && optname == TCP_ULP) ||
	    (level == SOL_IPV6 && optname == IPV6_ADDRFORM)) {
		const int ret = leave(sock);

		if (ret)
			return ret;
	}
	return sock_common_setsockopt(sock, level, optname, optval, optlen);
}

void smc_sock_fall(struct socket *sock)
{
	smc_drop_creator(sock->sk);
	/* Only ours: by the time a slow one comes here, kTLS may have put its own there. */
	(void)cmpxchg(&sock->ops, smc_ops_of(sock->sk), fallen_ops_of(sock->sk));
}

void smc_sock_make_plain(struct socket *new_sock)
{
	const struct proto_ops *ops = new_sock->ops;

	/* It may listen one day, to peers that its owner will not do SMC with. */
	smc_tcp_withdraw(new_sock->sk);
	/* kernel_accept() gives it the listener's, with a reference, when it is back. */
	if (!ops)
		return;
	new_sock->ops = smc_base_ops(new_sock->sk);
	/* IPv6 may be a module; its socket's release puts it. */
	__module_get(new_sock->ops->owner);
	/* The listener holds a reference of its own while accept() runs. */
	module_put(ops->owner);
}

/* ---- Setup --------------------------------------------------------------------- */

static void make_fallen(struct proto_ops *fallen, const struct proto_ops *base)
{
	*fallen = *base;
	fallen->owner = THIS_MODULE;
	fallen->release = smc_op_release;
	fallen->setsockopt = fallen_setsockopt;
}

/* Options that this kernel's TCP has, or has not. */
static void learn_options(struct proto_ops *ops, const struct proto_ops *base)
{
	ops->set_peek_off = base->set_peek_off;
}

int __init smc_ops_setup(void)
{
	struct socket *probe;
	int ret;

	smc_work_init(&guests_work, look_at_guests, SMC_WORK_OTHER);
	ret = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &probe);
	if (ret)
		return ret;
	make_fallen(&fallen_v4, probe->ops);
	learn_options(&smc_ops_v4, probe->ops);
	smc_tcp_learn_af(probe->sk);
	sock_release(probe);
	if (sock_create_kern(&init_net, PF_INET6, SOCK_STREAM, IPPROTO_TCP, &probe) == 0) {
		base_v6 = probe->ops;
		make_fallen(&fallen_v6, base_v6);
		learn_options(&smc_ops_v6, base_v6);
		smc_tcp_learn_af(probe->sk);
		sock_release(probe);
	}
	return 0;
}

void smc_ops_teardown(void)
{
	/* There are no guests any more, but it may be on its way out. */
	smc_work_cancel_sync(&guests_work);
}
