// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCP upper layer that is named "smc" and is loaded before our module.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* An errno that no other layer returns for it, so a test knows which layer it met. */
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
