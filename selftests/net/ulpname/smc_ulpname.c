// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCP upper layer that has the name "smc" before the module of that name comes.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* By an error that nobody else has for it, so that a test knows whom it has met. */
static int name_init(struct sock *sk)
{
	return -EDOM;
}

static struct tcp_ulp_ops name_ops __read_mostly = {
	.name = "smc",
	.owner = THIS_MODULE,
	.init = name_init,
};

static int __init name_load(void)
{
	return tcp_register_ulp(&name_ops);
}

static void __exit name_unload(void)
{
	tcp_unregister_ulp(&name_ops);
}

module_init(name_load);
module_exit(name_unload);
MODULE_DESCRIPTION("A TCP upper layer that has another one's name, for tests");
MODULE_LICENSE("GPL");
