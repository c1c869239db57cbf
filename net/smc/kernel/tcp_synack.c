// SPDX-License-Identifier: GPL-2.0-only
/*
 * The option on a listener's SYN-ACK, where TCP does not write it. TCP makes that packet by
 * functions that no table leads to. A probe at the return of tcp_make_synack() sees it before its
 * checksum is made, and puts the option behind the others. The probe is there only while a socket
 * of ours listens, and a while after that, since the kernel's code is patched each time.
 *
 * A request that was answered with the option has a copy of TCP's af_specific, which differs by its
 * address only: TCP sets that field in each request that it keeps, and repeats the SYN-ACK later,
 * perhaps when this module has gone.
 */
#include <linux/kmemleak.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "kernel/abi/lock.h"
#include "kernel/abi/tcp.h"
#include "kernel/call_argument.h"
#include "kernel/tcp_option.h"

#ifdef SMC_OPTION_IS_OURS

#if !defined(CONFIG_KRETPROBES) || !defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)
#error "this kernel's TCP does not know the SMC option, and there are no kprobes to add it"
#endif

#define REMOVAL_MS 60000

/* ---- Requests that were answered with it ----------------------------------------------- */

enum family { V4, V6, FAMILIES };

struct answered {
	struct tcp_request_sock_ops ops[FAMILIES];
	const struct tcp_request_sock_ops *copied_from[FAMILIES];
};

/* Not freed with the module. */
static struct answered *answered __ro_after_init;
static DEFINE_RAW_SPINLOCK(answered_lock);

static enum family family_of(const struct request_sock *req)
{
	return req->rsk_ops->family == AF_INET6 ? V6 : V4;
}

bool smc_synack_answered(const struct request_sock *req)
{
	return tcp_rsk(req)->af_specific == &answered->ops[family_of(req)];
}

/* In a probe: no lock that sleeps, and each family has one table. */
static void mark_as_answered(struct request_sock *req)
{
	const enum family family = family_of(req);
	const struct tcp_request_sock_ops *ops = tcp_rsk(req)->af_specific;

	/* With the copy, which was made before: see below. */
	if (smp_load_acquire(&answered->copied_from[family]) != ops) {
		unsigned long flags;

		if (ops == &answered->ops[family])
			return;
		raw_spin_lock_irqsave(&answered_lock, flags);
		if (!answered->copied_from[family]) {
			memcpy(&answered->ops[family], ops, sizeof(*ops));
			/* Behind the copy, for readers without the lock. */
			smp_store_release(&answered->copied_from[family], ops);
		}
		raw_spin_unlock_irqrestore(&answered_lock, flags);
	}
	tcp_rsk(req)->af_specific = &answered->ops[family];
}

/* ---- The probe ---------------------------------------------------------------------------- */

/*
 * Written and read while one SYN is taken. If another one comes between on this CPU, as it may
 * where softirqs have threads, the first one is answered without the option.
 */
static DEFINE_PER_CPU(const struct sk_buff *, syn_to_answer);

void smc_synack_answer(const struct sk_buff *syn)
{
	this_cpu_write(syn_to_answer, syn);
}

/* tcp_make_synack(listener, dst, req, cookie, type, syn). Preemption is off. */
static int on_make(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct request_sock *req = (struct request_sock *)smc_call_argument(regs, 2);
	const int type = smc_call_argument(regs, 4);
	const struct sk_buff *syn = (const struct sk_buff *)smc_call_argument(regs, 5);

	/* A request of a SYN cookie is not kept, one of Fast Open is a connection already. */
	if (type == TCP_SYNACK_COOKIE || type == TCP_SYNACK_FASTOPEN)
		return -1;
	/* Without a SYN it is repeated. */
	if (syn ? syn != this_cpu_read(syn_to_answer) : !smc_synack_answered(req))
		return -1;
	*(struct request_sock **)instance->data = req;
	return 0;
}

static int on_made(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct sk_buff *synack = (struct sk_buff *)regs_return_value(regs);

	if (synack && smc_option_put(synack))
		mark_as_answered(*(struct request_sock **)instance->data);
	return 0;
}

/* Guards all below. */
static DEFINE_MUTEX(probe_lock);
static unsigned int holders;
static bool placed;
static struct kretprobe make_synack;
static struct smc_work removal;

static void place(void)
{
	int ret;

	if (placed)
		return;
	make_synack = (struct kretprobe){
		.kp.symbol_name = "tcp_make_synack",
		.entry_handler = on_make,
		.handler = on_made,
		.data_size = sizeof(struct request_sock *),
	};
	ret = register_kretprobe(&make_synack);
	placed = !ret;
	if (ret)
		pr_notice_once("smc: listeners speak plain TCP: no kprobe at %s: error %d\n",
			       make_synack.kp.symbol_name, ret);
}

static void unplace(void)
{
	if (placed)
		unregister_kretprobe(&make_synack);
	placed = false;
}

void smc_tcp_hold_answers(void)
{
	mutex_lock(&probe_lock);
	if (!holders++)
		place();
	mutex_unlock(&probe_lock);
}

void smc_tcp_drop_answers(void)
{
	mutex_lock(&probe_lock);
	if (!--holders)
		smc_work_queue_delayed(&removal, REMOVAL_MS);
	mutex_unlock(&probe_lock);
}

static void remove_if_unused(struct smc_work *work)
{
	mutex_lock(&probe_lock);
	if (!holders)
		unplace();
	mutex_unlock(&probe_lock);
}

int __init smc_synack_setup(void)
{
	smc_work_init(&removal, remove_if_unused, SMC_WORK_OTHER);
	answered = kzalloc(sizeof(*answered), GFP_KERNEL);
	if (!answered)
		return -ENOMEM;
	kmemleak_not_leak(answered);
	return 0;
}

/* No socket is left, so nobody holds it. */
void smc_synack_teardown(void)
{
	smc_work_cancel_sync(&removal);
	unplace();
}

#endif
