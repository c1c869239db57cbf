// SPDX-License-Identifier: GPL-2.0-only
#include "netlink.hpp"
#include "sock_diag.hpp"
#include "sockets.hpp"

#include <smc/genl.h>

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace smc_ctl {
namespace {

constexpr std::uint8_t kAfSmc = 43;

const char *state_name(unsigned state)
{
	switch (state) {
	case 1: return "active";
	case 2: return "init";
	case 7: return "closed";
	case 10: return "listen";
	case 20: return "peer-close-wait-1";
	case 21: return "peer-close-wait-2";
	case 22: return "app-close-wait-1";
	case 23: return "app-close-wait-2";
	case 24: return "app-fin-close-wait";
	case 25: return "peer-fin-close-wait";
	case 26: return "peer-abort-wait";
	case 27: return "process-abort";
	default: return "unknown";
	}
}

// The three words behind an IPv4 address are zero.
Endpoint endpoint_of(const __be32 (&address)[4], __be16 port)
{
	const bool v4 = address[1] == 0 && address[2] == 0 && address[3] == 0;
	char text[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(v4 ? AF_INET : AF_INET6, address, text, sizeof(text));
	return {text, ntohs(port)};
}

void add_carrier(unsigned mode, const Attributes &extra, SocketInfo &info)
{
	const auto *fallback = static_cast<const smc_diag_fallback *>(
		extra.data(SMC_DIAG_FALLBACK, sizeof(smc_diag_fallback)));
	const auto *group = static_cast<const smc_diag_lgrinfo *>(
		extra.data(SMC_DIAG_LGRINFO, sizeof(smc_diag_lgrinfo)));
	// The kernel's may be longer, or shorter by the halves of GIDs that came last.
	const auto *dmb = static_cast<const smcd_diag_dmbinfo *>(
		extra.data(SMC_DIAG_DMBINFO, offsetof(smcd_diag_dmbinfo, peer_token) +
						     sizeof(smcd_diag_dmbinfo::peer_token)));

	if (mode == SMC_DIAG_MODE_SMCD) {
		info.carrier = Carrier::kSmcD;
		if (dmb) {
			info.group = dmb->linkid;
			info.token = dmb->token;
			info.peer_token = dmb->peer_token;
		}
	} else if (mode == SMC_DIAG_MODE_FALLBACK_TCP) {
		info.carrier = Carrier::kTcp;
		if (fallback) {
			info.reason = fallback->reason;
			info.peer_reason = fallback->peer_diagnosis;
		}
	} else if (group) {
		// The mode of a socket that is not connected, too.
		const smc_diag_linkinfo &link = group->lnk[0];
		const auto *name = reinterpret_cast<const char *>(link.ibname);

		info.carrier = Carrier::kSmcR;
		info.device.assign(name, strnlen(name, sizeof(link.ibname)));
		info.port = link.ibport;
		info.link = link.link_id;
	}
}

SocketInfo info_of(const nlmsghdr &header)
{
	smc_diag_msg socket;
	std::memcpy(&socket, nlmsg_data(&header), sizeof(socket));
	const Attributes extra(nlmsg_attrdata(&header, sizeof(socket)),
			       nlmsg_attrlen(&header, sizeof(socket)));
	SocketInfo info;

	info.state = state_name(socket.diag_state);
	info.local = endpoint_of(socket.id.idiag_src, socket.id.idiag_sport);
	if (socket.id.idiag_dport)
		info.peer = endpoint_of(socket.id.idiag_dst, socket.id.idiag_dport);
	info.uid = socket.diag_uid;
	info.inode = socket.diag_inode;
	add_carrier(socket.diag_mode, extra, info);
	smc_diag_traffic traffic{};
	if (extra.copy(SMC_DIAG_TRAFFIC, traffic))
		info.traffic = traffic;
	return info;
}

std::vector<SocketInfo> ask_for_sockets()
{
	std::vector<SocketInfo> found;
	smc_diag_req request{};
	request.diag_family = kAfSmc;
	request.diag_ext = 1 << (SMC_DIAG_LGRINFO - 1) | 1 << (SMC_DIAG_DMBINFO - 1);

	dump_sockets(&request, sizeof(request), sizeof(smc_diag_msg),
		     [&](const nlmsghdr &header) { found.push_back(info_of(header)); });
	return found;
}

} // namespace

std::vector<SocketInfo> sockets()
{
	try {
		return ask_for_sockets();
	} catch (const NetlinkError &error) {
		// Nobody answers for the family. sock_diag does not load smc.ko for that.
		if (error.code() != ENOENT)
			throw;
	}
	// Generic netlink does, or this throws that it is not there.
	const Family loaded(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
	return ask_for_sockets();
}

std::string text_of(const Endpoint &endpoint)
{
	const std::string port = ":" + std::to_string(endpoint.port);

	if (endpoint.address.find(':') == std::string::npos)
		return endpoint.address + port;
	return "[" + endpoint.address + "]" + port;
}

Json json_of(const Endpoint &endpoint)
{
	return {{"address", endpoint.address}, {"port", endpoint.port}};
}

} // namespace smc_ctl
