// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "json.hpp"
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

Json json_of_group(const Attributes &group)
{
	const Attributes common = group.nest(SMC_NL_LGR_V2_COMMON);
	const Attributes v2 = group.nest(SMC_NL_LGR_V2);
	Json row = {{"group", group.number(SMC_NL_LGR_ID)},
		    {"carrier", "SMC-R"},
		    {"role", group.number(SMC_NL_LGR_ROLE) != 0 ? "server" : "client"},
		    {"type", type_name(group.number(SMC_NL_LGR_TYPE))},
		    {"connections", group.number(SMC_NL_LGR_CONNS)},
		    {"vlan", group.number(SMC_NL_LGR_VLAN_ID)},
		    {"pnet", group.text(SMC_NL_LGR_PNETID)},
		    {"send_buffer_bytes", group.number(SMC_NL_LGR_SNDBUF_ALLOC)},
		    {"receive_buffer_bytes", group.number(SMC_NL_LGR_RMB_ALLOC)}};

	if (!common.has(SMC_NL_LGR_V2_VER))
		return row;
	row["version"] = common.number(SMC_NL_LGR_V2_VER);
	row["release"] = common.number(SMC_NL_LGR_V2_REL);
	row["eid"] = common.text(SMC_NL_LGR_V2_NEG_EID);
	row["peer_host"] = common.text(SMC_NL_LGR_V2_PEER_HOST);
	row["peer_os"] = os_name(common.number(SMC_NL_LGR_V2_OS));
	row["by_gateway"] = v2.number(SMC_NL_LGR_R_V2_DIRECT) == 0;
	row["max_connections"] = v2.number(SMC_NL_LGR_R_V2_MAX_CONNS);
	row["max_links"] = v2.number(SMC_NL_LGR_R_V2_MAX_LINKS);
	return row;
}

std::string hex_gid(std::uint64_t gid, std::uint64_t extension)
{
	char text[2 * 2 * sizeof(std::uint64_t) + 1];

	std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(gid),
		      static_cast<unsigned long long>(extension));
	return text;
}

Json json_of_smcd_group(const Attributes &group)
{
	return {{"group", group.number(SMC_NL_LGR_D_ID)},
		{"carrier", "SMC-D"},
		{"connections", group.number(SMC_NL_LGR_D_CONNS)},
		{"gid",
		 hex_gid(group.number(SMC_NL_LGR_D_GID), group.number(SMC_NL_LGR_D_EXT_GID))},
		{"peer_gid", hex_gid(group.number(SMC_NL_LGR_D_PEER_GID),
				     group.number(SMC_NL_LGR_D_PEER_EXT_GID))},
		{"chid", group.number(SMC_NL_LGR_D_CHID)},
		{"send_buffer_bytes", group.number(SMC_NL_LGR_D_SNDBUF_ALLOC)},
		{"receive_buffer_bytes", group.number(SMC_NL_LGR_D_DMB_ALLOC)}};
}

Json json_of_link(const Attributes &link, std::uint32_t group)
{
	return {{"group", group},
		{"link", link.number(SMC_NL_LINK_ID)},
		{"state", link_state_name(link.number(SMC_NL_LINK_STATE))},
		{"device", link.text(SMC_NL_LINK_IB_DEV)},
		{"port", link.number(SMC_NL_LINK_IB_PORT)},
		{"netdev", netdev_name(number32(link, SMC_NL_LINK_NET_DEV))},
		{"connections", link.number(SMC_NL_LINK_CONNS)},
		{"gid", link.text(SMC_NL_LINK_GID)},
		{"peer_gid", link.text(SMC_NL_LINK_PEER_GID)}};
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

void groups_show(bool json)
{
	const struct {
		std::uint8_t command;
		int attribute;
		void (*show)(const Attributes &group);
		Json (*json_of)(const Attributes &group);
	} kinds[] = {
		{SMC_NL_GET_LGR_SMCR, SMC_NL_A_LGR_SMCR, show_group, json_of_group},
		{SMC_NL_GET_LGR_SMCD, SMC_NL_A_LGR_SMCD, show_smcd_group, json_of_smcd_group},
	};
	Family family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
	Json rows = Json::array();

	for (const auto &kind : kinds)
		family.dump(kind.command, [&](std::uint8_t, const Attributes &message) {
			const Attributes group = message.nest(kind.attribute);

			if (json)
				rows.push_back(kind.json_of(group));
			else
				kind.show(group);
		});
	if (json)
		print(rows);
}

void links_show(bool json)
{
	// The links follow their group.
	std::uint32_t group = 0;
	Json rows = Json::array();

	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_LINK_SMCR, [&](std::uint8_t, const Attributes &message) {
			if (message.has(SMC_NL_A_LGR_SMCR))
				group = number32(message.nest(SMC_NL_A_LGR_SMCR), SMC_NL_LGR_ID);
			if (!message.has(SMC_NL_A_LINK_SMCR))
				return;
			const Attributes link = message.nest(SMC_NL_A_LINK_SMCR);
			if (json)
				rows.push_back(json_of_link(link, group));
			else
				show_link(link, group);
		});
	if (json)
		print(rows);
}

} // namespace smc_ctl
