// SPDX-License-Identifier: GPL-2.0-only
/* Ends the TCP connection under a socket, by SOCK_DESTROY of sock_diag, as `ss -K` does. */
#include "step.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct order {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

static void fill_address(__be32 *words, __be16 *port, const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

		memcpy(words, &in6->sin6_addr, sizeof(in6->sin6_addr));
		*port = in6->sin6_port;
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)address;

		words[0] = in->sin_addr.s_addr;
		*port = in->sin_port;
	}
}

static bool make_order(int fd, struct order *order)
{
	struct inet_diag_sockid *id = &order->body.id;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	socklen_t local_length = sizeof(local);
	socklen_t peer_length = sizeof(peer);

	if (getsockname(fd, (struct sockaddr *)&local, &local_length) < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_length) < 0)
		return false;
	*order = (struct order){
		.header = { .nlmsg_len = sizeof(*order), .nlmsg_type = SOCK_DESTROY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.body = { .sdiag_family = (__u8)local.ss_family, .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0u },
	};
	fill_address(id->idiag_src, &id->idiag_sport, &local);
	fill_address(id->idiag_dst, &id->idiag_dport, &peer);
	id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return true;
}

void step_kill_tcp(const struct request *request, struct reply *reply)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	struct order order;
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (netlink < 0 || !make_order(request->fd, &order) ||
	    send(netlink, &order, sizeof(order), 0) < 0 ||
	    recv(netlink, &answer, sizeof(answer), 0) < 0) {
		reply->error = errno;
	} else if (answer.header.nlmsg_type == NLMSG_ERROR) {
		reply->error = -answer.error.error;
		reply->ret = reply->error ? -1 : 0;
	}
	if (netlink >= 0)
		close(netlink);
}
