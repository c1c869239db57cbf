// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "names.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <cstdio>

namespace smc_ctl {
namespace {

const char *type_name(std::uint64_t type)
{
	switch (type) {
	case 0: return "none";
	case 1: return "single";
	case 2: return "symmetric";
	case 3: return "asymmetric-peer";
	case 4: return "asymmetric-local";
	default: return "unknown";
	}
}

const char *link_state_name(std::uint64_t state)
{
	switch (state) {
	case 0: return "unused";
	case 1: return "inactive";
	case 2: return "activating";
	case 3: return "active";
	default: return "unknown";
	}
}

const char *os_name(std::uint64_t os)
{
	switch (os) {
	case 1: return "z/OS";
	case 2: return "Linux";
	case 3: return "AIX";
	default: return "unknown";
	}
}

void show_group(const Attributes &group)
{
	std::printf("group %08x role %s type %s connections %u", number32(group, SMC_NL_LGR_ID),
		    group.number(SMC_NL_LGR_ROLE) ? "server" : "client",
		    type_name(group.number(SMC_NL_LGR_TYPE)), number32(group, SMC_NL_LGR_CONNS));
	if (group.number(SMC_NL_LGR_VLAN_ID))
		std::printf(" vlan %u", number32(group, SMC_NL_LGR_VLAN_ID));
	if (!group.text(SMC_NL_LGR_PNETID).empty())
		std::printf(" pnet %s", group.text(SMC_NL_LGR_PNETID).c_str());
	std::printf("\n  buffers: send %llu bytes, receive %llu bytes\n",
		    number64(group, SMC_NL_LGR_SNDBUF_ALLOC),
		    number64(group, SMC_NL_LGR_RMB_ALLOC));

	const Attributes common = group.nest(SMC_NL_LGR_V2_COMMON);
	if (!common.has(SMC_NL_LGR_V2_VER))
		return;
	const Attributes v2 = group.nest(SMC_NL_LGR_V2);
	std::printf("  SMCv%u.%u eid %s peer %s (%s)%s at most %u connections on %u links\n",
		    number32(common, SMC_NL_LGR_V2_VER), number32(common, SMC_NL_LGR_V2_REL),
		    common.text(SMC_NL_LGR_V2_NEG_EID).c_str(),
		    common.text(SMC_NL_LGR_V2_PEER_HOST).c_str(),
		    os_name(common.number(SMC_NL_LGR_V2_OS)),
		    v2.number(SMC_NL_LGR_R_V2_DIRECT) ? "" : " by gateway",
		    number32(v2, SMC_NL_LGR_R_V2_MAX_CONNS),
		    number32(v2, SMC_NL_LGR_R_V2_MAX_LINKS));
}

void show_smcd_group(const Attributes &group)
{
	std::printf("group %08x SMC-D connections %u\n", number32(group, SMC_NL_LGR_D_ID),
		    number32(group, SMC_NL_LGR_D_CONNS));
	std::printf("  gid %016llx%016llx peer %016llx%016llx chid %04x\n",
		    number64(group, SMC_NL_LGR_D_GID), number64(group, SMC_NL_LGR_D_EXT_GID),
		    number64(group, SMC_NL_LGR_D_PEER_GID),
		    number64(group, SMC_NL_LGR_D_PEER_EXT_GID), number32(group, SMC_NL_LGR_D_CHID));
	std::printf("  buffers: send %llu bytes, receive %llu bytes\n",
		    number64(group, SMC_NL_LGR_D_SNDBUF_ALLOC),
		    number64(group, SMC_NL_LGR_D_DMB_ALLOC));
}

void show_link(const Attributes &link, std::uint32_t group)
{
	std::printf("group %08x link %u %s device %s port %u netdev %s connections %u\n"
		    "  gid %s peer %s\n",
		    group, number32(link, SMC_NL_LINK_ID),
		    link_state_name(link.number(SMC_NL_LINK_STATE)),
		    link.text(SMC_NL_LINK_IB_DEV).c_str(), number32(link, SMC_NL_LINK_IB_PORT),
		    netdev_name(number32(link, SMC_NL_LINK_NET_DEV)).c_str(),
		    number32(link, SMC_NL_LINK_CONNS), link.text(SMC_NL_LINK_GID).c_str(),
		    link.text(SMC_NL_LINK_PEER_GID).c_str());
}

} // namespace

void groups_show()
{
	Family family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
	family.dump(SMC_NL_GET_LGR_SMCR, [](std::uint8_t, const Attributes &message) {
		show_group(message.nest(SMC_NL_A_LGR_SMCR));
	});
	family.dump(SMC_NL_GET_LGR_SMCD, [](std::uint8_t, const Attributes &message) {
		show_smcd_group(message.nest(SMC_NL_A_LGR_SMCD));
	});
}

void links_show()
{
	// The links follow their group.
	std::uint32_t group = 0;
	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_LINK_SMCR, [&](std::uint8_t, const Attributes &message) {
			if (message.has(SMC_NL_A_LGR_SMCR))
				group = number32(message.nest(SMC_NL_A_LGR_SMCR), SMC_NL_LGR_ID);
			if (message.has(SMC_NL_A_LINK_SMCR))
				show_link(message.nest(SMC_NL_A_LINK_SMCR), group);
		});
}

} // namespace smc_ctl
