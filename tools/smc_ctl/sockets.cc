// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "netlink.hpp"
#include "reason.hpp"

#include <smc/genl.h>

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>

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
std::string endpoint(const __be32 (&address)[4], __be16 port)
{
	const bool v4 = address[1] == 0 && address[2] == 0 && address[3] == 0;
	char text[INET6_ADDRSTRLEN];
	if (!inet_ntop(v4 ? AF_INET : AF_INET6, address, text, sizeof(text)))
		return "?";
	const std::string number = std::to_string(ntohs(port));
	return v4 ? std::string(text) + ":" + number : "[" + std::string(text) + "]:" + number;
}

void show_mode(const smc_diag_msg &socket, const Attributes &extra)
{
	const auto *fallback = static_cast<const smc_diag_fallback *>(
		extra.data(SMC_DIAG_FALLBACK, sizeof(smc_diag_fallback)));
	const auto *group = static_cast<const smc_diag_lgrinfo *>(
		extra.data(SMC_DIAG_LGRINFO, sizeof(smc_diag_lgrinfo)));
	// The kernel's may be longer, or shorter by the halves of GIDs that came last.
	const auto *dmb = static_cast<const smcd_diag_dmbinfo *>(
		extra.data(SMC_DIAG_DMBINFO, offsetof(smcd_diag_dmbinfo, peer_token) +
						     sizeof(smcd_diag_dmbinfo::peer_token)));

	if (socket.diag_mode == SMC_DIAG_MODE_SMCD) {
		std::printf(" SMC-D");
		if (dmb)
			std::printf(" group %08x token %016llx peer %016llx", dmb->linkid,
				    static_cast<unsigned long long>(dmb->token),
				    static_cast<unsigned long long>(dmb->peer_token));
	} else if (socket.diag_mode != SMC_DIAG_MODE_FALLBACK_TCP) {
		// The mode of a socket that is not connected, too.
		if (group)
			std::printf(" SMC-R device %.*s port %u link %u",
				    static_cast<int>(sizeof(group->lnk[0].ibname)),
				    reinterpret_cast<const char *>(group->lnk[0].ibname),
				    group->lnk[0].ibport, group->lnk[0].link_id);
	} else {
		std::printf(" TCP");
		if (fallback)
			std::printf(": %s", describe_reason(fallback->reason).c_str());
		if (fallback && fallback->peer_diagnosis)
			std::printf(" (%s)", describe_reason(fallback->peer_diagnosis).c_str());
	}
}

void show_socket(const nlmsghdr &header)
{
	if (nlmsg_datalen(&header) < static_cast<int>(sizeof(smc_diag_msg)))
		return;
	smc_diag_msg socket;
	std::memcpy(&socket, nlmsg_data(&header), sizeof(socket));
	const Attributes extra(nlmsg_attrdata(&header, sizeof(socket)),
			       nlmsg_attrlen(&header, sizeof(socket)));

	std::printf("%-12s %s", state_name(socket.diag_state),
		    endpoint(socket.id.idiag_src, socket.id.idiag_sport).c_str());
	if (socket.id.idiag_dport)
		std::printf(" %s", endpoint(socket.id.idiag_dst, socket.id.idiag_dport).c_str());
	std::printf(" uid %u inode %llu", socket.diag_uid,
		    static_cast<unsigned long long>(socket.diag_inode));
	show_mode(socket, extra);
	std::printf("\n");
}

void ask_for_sockets()
{
	smc_diag_req request{};
	request.diag_family = kAfSmc;
	request.diag_ext = 1 << (SMC_DIAG_LGRINFO - 1) | 1 << (SMC_DIAG_DMBINFO - 1);

	const std::unique_ptr<nl_msg, decltype(&nlmsg_free)> message(
		nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP), nlmsg_free);
	if (!message || nlmsg_append(message.get(), &request, sizeof(request), NLMSG_ALIGNTO) < 0)
		throw std::bad_alloc();
	Socket(NETLINK_SOCK_DIAG).exchange(message.get(), show_socket);
}

} // namespace

void sockets_show()
{
	try {
		ask_for_sockets();
		return;
	} catch (const NetlinkError &error) {
		// Nobody answers for the family. sock_diag does not load smc.ko for that.
		if (error.code() != ENOENT)
			throw;
	}
	// Generic netlink does, or this throws that it is not there.
	const Family loaded(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
	ask_for_sockets();
}

} // namespace smc_ctl
