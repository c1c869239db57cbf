// SPDX-License-Identifier: GPL-2.0-only
#include "tcp_children.hpp"
#include "netlink.hpp"
#include "sock_diag.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

namespace smc_ctl {
namespace {

// Of a connection, between its establishment and its end.
constexpr std::uint32_t kStates = 1U << TCP_ESTABLISHED | 1U << TCP_FIN_WAIT1 |
				  1U << TCP_FIN_WAIT2 | 1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK |
				  1U << TCP_CLOSING;

Endpoint endpoint_of(int family, const __be32 (&address)[4], __be16 port)
{
	char text[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(family, address, text, sizeof(text));
	return {text, ntohs(port)};
}

SocketInfo info_of(const inet_diag_msg &socket)
{
	SocketInfo info;

	info.state = socket.idiag_state == TCP_ESTABLISHED ? "active" : "closing";
	info.local = endpoint_of(socket.idiag_family, socket.id.idiag_src, socket.id.idiag_sport);
	info.peer = endpoint_of(socket.idiag_family, socket.id.idiag_dst, socket.id.idiag_dport);
	info.uid = socket.idiag_uid;
	info.inode = socket.idiag_inode;
	info.carrier = Carrier::kTcp;
	info.accepted = true;
	return info;
}

void ask(int family, std::vector<SocketInfo> &found)
{
	inet_diag_req_v2 request{};
	request.sdiag_family = static_cast<__u8>(family);
	request.sdiag_protocol = IPPROTO_TCP;
	request.idiag_states = kStates;

	try {
		dump_sockets(&request, sizeof(request), sizeof(inet_diag_msg),
			     [&](const nlmsghdr &header) {
				     inet_diag_msg socket;

				     std::memcpy(&socket, nlmsg_data(&header), sizeof(socket));
				     found.push_back(info_of(socket));
			     });
	} catch (const NetlinkError &error) {
		if (error.code() != ENOENT)
			throw;
	}
}

using Ends = std::pair<std::string, std::string>;

Ends ends_of(const SocketInfo &socket)
{
	return {text_of(socket.local), text_of(socket.peer)};
}

} // namespace

std::vector<SocketInfo> tcp_children(const std::vector<SocketInfo> &sockets)
{
	std::set<std::uint16_t> listening;
	std::set<Ends> known;
	std::vector<SocketInfo> found;

	for (const SocketInfo &socket : sockets) {
		if (socket.state == "listen")
			listening.insert(socket.local.port);
		else
			known.insert(ends_of(socket));
	}
	if (listening.empty())
		return found;
	ask(AF_INET, found);
	ask(AF_INET6, found);
	std::erase_if(found, [&](const SocketInfo &child) {
		// Nobody has an open file of one with inode 0.
		return child.inode == 0 || !listening.contains(child.local.port) ||
		       known.contains(ends_of(child));
	});
	return found;
}

} // namespace smc_ctl
