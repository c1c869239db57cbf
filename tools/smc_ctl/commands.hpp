// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// The subcommands of smc_ctl. All throw NetlinkError.
namespace smc_ctl {

void eid_add(const std::string &eid);
void eid_del(const std::string &eid);
void eid_flush();
void eid_show();

struct PnetDevice {
	std::string eth; // empty: none
	std::string ib;  // empty: none
	std::uint8_t ib_port = 1;
};
void pnet_add(const std::string &id, const PnetDevice &device);
void pnet_del(const std::string &id);
void pnet_flush();
// @id empty: all entries.
void pnet_show(const std::string &id);

void groups_show();
void links_show();
void devices_show();
void sockets_show();
void stats_show();
void fallback_show();
void info_show();

} // namespace smc_ctl
