// SPDX-License-Identifier: GPL-2.0-only
/* Building blocks of messages of the family SMC_GEN_NETLINK. */
#include <linux/module.h>
#include <linux/string.h>

#include <smc/genl.h>

#include "kernel/abi/control.h"
#include "kernel/compat.h"
#include "kernel/netlink.h"

/* Here, since its commands put it into their messages; smc_netlink_init() adds the commands. */
struct genl_family smc_gen_family = {
	.name		= SMC_NL_GEN_FAMILY,
	.version	= SMC_NL_GEN_VERSION,
	.maxattr	= SMC_NL_UEID_END - 1,
	.netnsok	= true,
	.module		= THIS_MODULE,
	SMC_NL_RESERVED_IS_ZERO_FROM(SMC_NL_CMD_END)
};

/*
 * A dump holds the module until it was read to its end. But a module whose loading fails goes all
 * the same, so there is none before it has succeeded.
 */
int smc_nl_dump_begin(struct netlink_callback *cb)
{
	return READ_ONCE(THIS_MODULE->state) == MODULE_STATE_LIVE ? 0 : -EAGAIN;
}

int smc_nl_message_begin(struct smc_nl_message *message, struct sk_buff *skb,
			 struct netlink_callback *cb, u8 cmd, int attr)
{
	message->skb = skb;
	message->hdr = smc_nl_dump_put(skb, cb, &smc_gen_family, cmd);
	if (!message->hdr)
		return -EMSGSIZE;
	message->nest = nla_nest_start(skb, attr);
	if (!message->nest) {
		genlmsg_cancel(skb, message->hdr);
		return -EMSGSIZE;
	}
	return 0;
}

int smc_nl_message_end(struct smc_nl_message *message, int err)
{
	if (err) {
		genlmsg_cancel(message->skb, message->hdr);
		return err;
	}
	nla_nest_end(message->skb, message->nest);
	genlmsg_end(message->skb, message->hdr);
	return 0;
}

int smc_nl_full(const struct sk_buff *skb)
{
	return skb->len ? skb->len : -EMSGSIZE;
}

int smc_nl_put_uint(struct sk_buff *skb, int attr, u64 value)
{
	if (value <= U32_MAX)
		return nla_put_u32(skb, attr, value);
	return nla_put(skb, attr, sizeof(value), &value);
}

int smc_nl_put_field(struct sk_buff *skb, int attr, const u8 *field, size_t len, bool trim)
{
	char text[SMC_EID_LEN + 1] = "";

	memcpy(text, field, len);
	while (trim && len && (text[len - 1] == ' ' || !text[len - 1]))
		text[--len] = '\0';
	return nla_put_string(skb, attr, text);
}
