// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP sockets that become SMC sockets although their programs do not ask for it: those of a network
 * namespace with net.smc.tcp2smc, and those that a BPF program of type cgroup/sock_create has
 * marked (net.smc.tcp2smc_mark).
 *
 * security_socket_post_create() is called for each new socket, of socket(2) and of io_uring, when
 * TCP and the BPF programs have finished with it and no thread can use it yet. A kprobe there gives
 * the socket SMC's ops, and with them a reference to this module. That cannot fail: if the module
 * is about to be unloaded, the socket stays TCP's. Sockets of the kernel, of other protocols (MPTCP
 * among them), and accepted ones are left alone.
 *
 * Every socket() of the host passes the kprobe while it is there, so it is there only while some
 * namespace wants it. It is removed a while after that: a tenant who switches his own namespace
 * to and fro must not have the kernel's code patched each time.
 */
#include <linux/in.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <net/sock.h>

#include "kernel/abi/lock.h"
#include "kernel/abi/stats.h"
#include "kernel/call_argument.h"
#include "kernel/pernet.h"
#include "kernel/sock_ops.h"
#include "kernel/stages.h"

/* One for all namespaces. */
static u32 select_mark;

u32 *smc_select_mark(void)
{
	return &select_mark;
}

#if defined(CONFIG_KPROBES) && defined(CONFIG_SECURITY_NETWORK) && \
	defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)

#define REMOVAL_MS 5000

/* The mark has done its work, and the socket's packets are not to carry it. */
static bool take_mark(struct sock *sk)
{
	const u32 mark = READ_ONCE(select_mark);

	if (!mark || (sk->sk_mark & mark) != mark)
		return false;
	WRITE_ONCE(sk->sk_mark, sk->sk_mark & ~mark);
	return true;
}

static bool is_tcp(const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	return sk && (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
	       sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP &&
	       READ_ONCE(sock->ops) == smc_base_ops(sk);
}

/* security_socket_post_create(sock, family, type, protocol, kern). Preemption is off. */
static int on_post_create(struct kprobe *probe, struct pt_regs *regs)
{
	struct socket *sock = (struct socket *)smc_call_argument(regs, 0);
	const bool kern = (int)smc_call_argument(regs, 4);
	struct sock *sk;

	/* A thread of the kernel may make its sockets as programs do (iSCSI's target). */
	if (kern || (current->flags & PF_KTHREAD) || !is_tcp(sock))
		return 0;
	sk = sock->sk;
	if (!take_mark(sk) && !READ_ONCE(smc_pernet(sock_net(sk))->sysctl.tcp2smc))
		return 0;
	/* The socket's release puts it, instead of the reference to TCP's. */
	if (!try_module_get(THIS_MODULE))
		return 0;
	module_put(smc_base_ops(sk)->owner);
	WRITE_ONCE(sock->ops, smc_ops_of(sk));
	smc_stat_inc(sock_net(sk), SMC_STAT_SELECTED);
	return 0;
}

void smc_deselect(struct socket *sock)
{
	const struct sock *sk = sock->sk;

	if (sock->ops != smc_ops_of(sk))
		return;
	sock->ops = smc_base_ops(sk);
	__module_get(sock->ops->owner);
	module_put(THIS_MODULE);
	smc_stat_add(sock_net(sk), SMC_STAT_SELECTED, -1);
}

/* Guards all below. */
static DEFINE_MUTEX(select_lock);
/* Namespaces with tcp2smc, and one more while there is a mark. */
static unsigned int wanted;
/* Sockets can be made SMC's. */
static bool ready;
static bool placed;
static struct kprobe post_create;
static struct smc_work removal;

static int place(void)
{
	int ret;

	if (placed || !ready)
		return 0;
	post_create = (struct kprobe){
		.symbol_name = "security_socket_post_create",
		.pre_handler = on_post_create,
	};
	ret = register_kprobe(&post_create);
	placed = !ret;
	if (ret)
		pr_notice_once("smc: no selection of TCP sockets: no kprobe at %s: error %d\n",
			       post_create.symbol_name, ret);
	return ret;
}

static void unplace(void)
{
	if (placed)
		unregister_kprobe(&post_create);
	placed = false;
}

static void remove_if_unwanted(struct smc_work *work)
{
	mutex_lock(&select_lock);
	if (!wanted)
		unplace();
	mutex_unlock(&select_lock);
}

int smc_select_set(u32 *setting, u32 value)
{
	int ret = 0;

	mutex_lock(&select_lock);
	if (value && !*setting) {
		ret = place();
		if (!ret)
			wanted++;
	} else if (!value && *setting) {
		/* After the teardown there is nothing to remove, and no work may be queued. */
		if (!--wanted && placed)
			smc_work_queue_delayed(&removal, REMOVAL_MS);
	}
	if (!ret)
		WRITE_ONCE(*setting, value);
	mutex_unlock(&select_lock);
	return ret;
}

int __init smc_select_setup(void)
{
	smc_work_init(&removal, remove_if_unwanted, SMC_WORK_OTHER);
	mutex_lock(&select_lock);
	ready = true;
	/* A namespace may want it already; the module is of use without it. */
	if (wanted)
		(void)place();
	mutex_unlock(&select_lock);
	return 0;
}

/* From here on the sysctls are without effect. */
void smc_select_teardown(void)
{
	mutex_lock(&select_lock);
	ready = false;
	unplace();
	mutex_unlock(&select_lock);
	smc_work_cancel_sync(&removal);
}

#else

void smc_deselect(struct socket *sock)
{
}

int smc_select_set(u32 *setting, u32 value)
{
	if (!value)
		return 0;
	/* The owner of any namespace can get here. */
	pr_notice_once("smc: no selection of TCP sockets: "
		       "the kernel lacks CONFIG_KPROBES or CONFIG_SECURITY_NETWORK\n");
	return -EOPNOTSUPP;
}

int __init smc_select_setup(void)
{
	return 0;
}

void smc_select_teardown(void)
{
}

#endif
