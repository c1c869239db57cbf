// SPDX-License-Identifier: GPL-2.0-only
#include "smc_stat.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define REPLY_BYTES_MAX 32768
#define REPLY_TIMEOUT_S 10

struct request {
	struct nlmsghdr header;
	struct genlmsghdr genl;
	char attributes[64];
};

typedef void (*message_fn)(void *context, const struct nlattr *attrs, int length);

static const void *attr_data(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static int attr_length(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

/* The attribute of the wanted type among those in [attrs, attrs + length), or NULL. */
static const struct nlattr *attr_find(const struct nlattr *attrs, int length, int type)
{
	while (length >= NLA_HDRLEN && attrs->nla_len >= NLA_HDRLEN && attrs->nla_len <= length) {
		int step = NLA_ALIGN(attrs->nla_len);

		if ((attrs->nla_type & NLA_TYPE_MASK) == type)
			return attrs;
		length -= step;
		attrs = (const struct nlattr *)((const char *)attrs + step);
	}
	return NULL;
}

static uint64_t attr_number(const struct nlattr *attrs, int length, int type)
{
	const struct nlattr *attr = attr_find(attrs, length, type);
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	if (!attr)
		return 0;
	switch (attr_length(attr)) {
	case sizeof(u64):
		memcpy(&u64, attr_data(attr), sizeof(u64));
		return u64;
	case sizeof(u32):
		memcpy(&u32, attr_data(attr), sizeof(u32));
		return u32;
	case sizeof(u16):
		memcpy(&u16, attr_data(attr), sizeof(u16));
		return u16;
	case 1:
		return *(const uint8_t *)attr_data(attr);
	default:
		return 0;
	}
}

static int send_request(int fd, int family, int command, int flags, const char *name)
{
	struct request request = {
		.header = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
			    .nlmsg_type = (uint16_t)family,
			    .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
			    .nlmsg_seq = 1 },
		.genl = { .cmd = (uint8_t)command, .version = 1 },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (name) {
		struct nlattr attr = {
			.nla_len = (uint16_t)(NLA_HDRLEN + strlen(name) + 1),
			.nla_type = CTRL_ATTR_FAMILY_NAME,
		};

		memcpy(request.attributes, &attr, sizeof(attr));
		strcpy(request.attributes + NLA_HDRLEN, name);
		request.header.nlmsg_len += NLA_ALIGN(attr.nla_len);
	}
	if (sendto(fd, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	return 0;
}

/* Hands each message of the answer to handle(), until its end. 0 or -errno. */
static int receive(int fd, bool multipart, message_fn handle, void *context)
{
	char buffer[REPLY_BYTES_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));

	for (;;) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
		const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;

		if (got < 0)
			return -errno;
		for (; NLMSG_OK(header, got); header = NLMSG_NEXT(header, got)) {
			if (header->nlmsg_type == NLMSG_DONE)
				return 0;
			if (header->nlmsg_type == NLMSG_ERROR)
				return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
			handle(context,
			       (const struct nlattr *)((const char *)NLMSG_DATA(header) +
						       GENL_HDRLEN),
			       (int)(header->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN)));
			if (!multipart)
				return 0;
		}
	}
}

static void handle_family(void *context, const struct nlattr *attrs, int length)
{
	*(int *)context = (int)attr_number(attrs, length, CTRL_ATTR_FAMILY_ID);
}

static void read_tech(struct smc_stat_tech *tech, const struct nlattr *stats, int length, int type)
{
	const struct nlattr *nest = attr_find(stats, length, type);
	const struct nlattr *in;
	int size;

	if (!nest)
		return;
	in = attr_data(nest);
	size = attr_length(nest);
	tech->client_handshakes = attr_number(in, size, SMC_NLA_STATS_T_CLNT_V1_SUCC) +
				  attr_number(in, size, SMC_NLA_STATS_T_CLNT_V2_SUCC);
	tech->server_handshakes = attr_number(in, size, SMC_NLA_STATS_T_SRV_V1_SUCC) +
				  attr_number(in, size, SMC_NLA_STATS_T_SRV_V2_SUCC);
	tech->rx_bytes = attr_number(in, size, SMC_NLA_STATS_T_RX_BYTES);
	tech->tx_bytes = attr_number(in, size, SMC_NLA_STATS_T_TX_BYTES);
	tech->rx_calls = attr_number(in, size, SMC_NLA_STATS_T_RX_CNT);
	tech->tx_calls = attr_number(in, size, SMC_NLA_STATS_T_TX_CNT);
}

static void handle_stats(void *context, const struct nlattr *attrs, int length)
{
	struct smc_stat *stat = context;
	const struct nlattr *nest = attr_find(attrs, length, SMC_GEN_STATS);
	const struct nlattr *in;
	int size;

	if (!nest)
		return;
	in = attr_data(nest);
	size = attr_length(nest);
	read_tech(&stat->smcr, in, size, SMC_NLA_STATS_SMCR_TECH);
	read_tech(&stat->smcd, in, size, SMC_NLA_STATS_SMCD_TECH);
	stat->client_handshake_errors = attr_number(in, size, SMC_NLA_STATS_CLNT_HS_ERR_CNT);
	stat->server_handshake_errors = attr_number(in, size, SMC_NLA_STATS_SRV_HS_ERR_CNT);
}

static void handle_fallback(void *context, const struct nlattr *attrs, int length)
{
	struct smc_stat *stat = context;
	const struct nlattr *nest = attr_find(attrs, length, SMC_GEN_FBACK_STATS);
	struct smc_stat_reason *reason;
	const struct nlattr *in;
	int size;

	if (!nest)
		return;
	in = attr_data(nest);
	size = attr_length(nest);
	/* The two sums come in the first message only. */
	if (attr_find(in, size, SMC_NLA_FBACK_STATS_SRV_CNT)) {
		stat->server_fallbacks = attr_number(in, size, SMC_NLA_FBACK_STATS_SRV_CNT);
		stat->client_fallbacks = attr_number(in, size, SMC_NLA_FBACK_STATS_CLNT_CNT);
	}
	if (stat->reason_count == SMC_STAT_REASONS_MAX ||
	    !attr_find(in, size, SMC_NLA_FBACK_STATS_RSN_CODE))
		return;
	reason = &stat->reasons[stat->reason_count++];
	reason->server = attr_number(in, size, SMC_NLA_FBACK_STATS_TYPE) != 0;
	reason->code = (uint32_t)attr_number(in, size, SMC_NLA_FBACK_STATS_RSN_CODE);
	reason->count = attr_number(in, size, SMC_NLA_FBACK_STATS_RSN_CNT);
}

static int dump(int fd, int family, int command, message_fn handle, struct smc_stat *stat)
{
	int ret = send_request(fd, family, command, NLM_F_DUMP, NULL);

	return ret ? ret : receive(fd, true, handle, stat);
}

static int read_all(int fd, struct smc_stat *stat)
{
	int family = 0;
	int ret;

	ret = send_request(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, SMC_GENL_FAMILY_NAME);
	if (!ret)
		ret = receive(fd, false, handle_family, &family);
	if (ret)
		return ret;
	ret = dump(fd, family, SMC_NETLINK_GET_STATS, handle_stats, stat);
	if (ret)
		return ret;
	return dump(fd, family, SMC_NETLINK_GET_FBACK_STATS, handle_fallback, stat);
}

int smc_stat_read(struct smc_stat *stat)
{
	struct timeval timeout = { .tv_sec = REPLY_TIMEOUT_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int ret;

	memset(stat, 0, sizeof(*stat));
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	ret = read_all(fd, stat);
	close(fd);
	return ret;
}

uint64_t smc_stat_reason_count(const struct smc_stat *stat, bool server, uint32_t code)
{
	for (unsigned int i = 0; i < stat->reason_count; i++)
		if (stat->reasons[i].server == server && stat->reasons[i].code == code)
			return stat->reasons[i].count;
	return 0;
}

static void tech_delta(struct smc_stat_tech *delta, const struct smc_stat_tech *before,
		       const struct smc_stat_tech *after)
{
	delta->client_handshakes = after->client_handshakes - before->client_handshakes;
	delta->server_handshakes = after->server_handshakes - before->server_handshakes;
	delta->rx_bytes = after->rx_bytes - before->rx_bytes;
	delta->tx_bytes = after->tx_bytes - before->tx_bytes;
	delta->rx_calls = after->rx_calls - before->rx_calls;
	delta->tx_calls = after->tx_calls - before->tx_calls;
}

void smc_stat_delta(struct smc_stat *delta, const struct smc_stat *before,
		    const struct smc_stat *after)
{
	memset(delta, 0, sizeof(*delta));
	tech_delta(&delta->smcr, &before->smcr, &after->smcr);
	tech_delta(&delta->smcd, &before->smcd, &after->smcd);
	delta->client_handshake_errors =
		after->client_handshake_errors - before->client_handshake_errors;
	delta->server_handshake_errors =
		after->server_handshake_errors - before->server_handshake_errors;
	delta->client_fallbacks = after->client_fallbacks - before->client_fallbacks;
	delta->server_fallbacks = after->server_fallbacks - before->server_fallbacks;
	for (unsigned int i = 0; i < after->reason_count; i++) {
		struct smc_stat_reason reason = after->reasons[i];

		reason.count -= smc_stat_reason_count(before, reason.server, reason.code);
		if (reason.count)
			delta->reasons[delta->reason_count++] = reason;
	}
}
