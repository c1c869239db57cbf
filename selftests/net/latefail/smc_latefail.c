// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whoever registers an address family waits, and is refused. So our module, which does that late,
 * is not loaded, and there is time to use what it has registered before.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/net.h>

#define DELAY_MS 3000

static int refuse(const struct net_proto_family *family)
{
	msleep(DELAY_MS);
	return -ENOBUFS;
}

static int divert(struct kprobe *probe, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)refuse);
	return 1;
}

/* With one, the kernel does not make a jump of the probe, which could not be diverted. */
static void do_nothing(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = "sock_register",
	.pre_handler = divert,
	.post_handler = do_nothing,
};

static int __init latefail_load(void)
{
	return register_kprobe(&probe);
}

static void __exit latefail_unload(void)
{
	unregister_kprobe(&probe);
}

module_init(latefail_load);
module_exit(latefail_unload);
MODULE_DESCRIPTION("No address family can be registered, for tests");
MODULE_LICENSE("GPL");
