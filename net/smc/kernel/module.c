// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading and unloading. Each stage uses only those above it; unloading goes
 * the other way round.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <linux/rcupdate.h>

#include "kernel/abi.h"
#include "kernel/abi/callbacks/module.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/verbs.h"
#include "kernel/stages.h"

struct stage {
	const char *name;
	int (*setup)(void);
	void (*teardown)(void);
};

static const struct stage stages[] = {
	{ "work", smc_work_setup, smc_work_teardown },
	{ "pernet", smc_pernet_init, smc_pernet_exit },
	{ "shell", smc_shell_setup, smc_shell_teardown },
	{ "completions", smc_ib_completions_setup, smc_ib_completions_teardown },
	{ "verbs", smc_ib_init, smc_ib_exit },
	{ "tcp", smc_tcp_setup, smc_tcp_teardown },
	{ "netlink", smc_netlink_init, smc_netlink_exit },
	{ "peers", smc_netlink_peers_init, smc_netlink_peers_exit },
	/* After its first way to make a socket it cannot fail, nor can what comes behind it. */
	{ "sockets", smc_sock_setup, smc_sock_teardown },
	{ "diag", smc_diag_init, smc_diag_exit },
	{ "select", smc_select_setup, smc_select_teardown },
};

static void teardown(size_t done)
{
	while (done)
		stages[--done].teardown();
	/* Memory is still to be freed by functions of this module. */
	rcu_barrier();
}

static int __init smc_init(void)
{
	size_t done;
	int ret;

	if (IS_BUILTIN(CONFIG_SMC)) {
		pr_err("smc: the kernel has SMC built in (CONFIG_SMC=y), and keeps it\n");
		return -EEXIST;
	}
	for (done = 0; done < ARRAY_SIZE(stages); done++) {
		ret = stages[done].setup();
		if (ret) {
			pr_err("smc: %s: error %d\n", stages[done].name, ret);
			teardown(done);
			return ret;
		}
	}
	return 0;
}

static void __exit smc_exit(void)
{
	teardown(ARRAY_SIZE(stages));
}

module_init(smc_init);
module_exit(smc_exit);

MODULE_DESCRIPTION("Shared Memory Communications: SMC-R (RFC 7609, SMCv2), SMC-D inside one host");
MODULE_AUTHOR("The AF_SMC developers");
MODULE_VERSION(SMC_PACKAGE_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS_NETPROTO(PF_SMC);
/* IPPROTO_SMC (256), SOCK_STREAM (1), for PF_INET and PF_INET6 */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 256, 1);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 256, 1);
MODULE_ALIAS("tcp-ulp-smc");
