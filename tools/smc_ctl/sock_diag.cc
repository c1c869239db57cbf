// SPDX-License-Identifier: GPL-2.0-only
#include "sock_diag.hpp"
#include "netlink.hpp"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netlink/msg.h>

#include <memory>
#include <new>

namespace smc_ctl {

void dump_sockets(const void *request, std::size_t request_bytes, std::size_t least_bytes,
		  const std::function<void(const nlmsghdr &)> &visit)
{
	const std::unique_ptr<nl_msg, decltype(&nlmsg_free)> message(
		nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP), nlmsg_free);

	if (!message || nlmsg_append(message.get(), const_cast<void *>(request), request_bytes,
				     NLMSG_ALIGNTO) < 0)
		throw std::bad_alloc();
	Socket(NETLINK_SOCK_DIAG).exchange(message.get(), [&](const nlmsghdr &header) {
		if (nlmsg_datalen(&header) >= static_cast<int>(least_bytes))
			visit(header);
	});
}

} // namespace smc_ctl
