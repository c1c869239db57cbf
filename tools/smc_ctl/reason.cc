// SPDX-License-Identifier: GPL-2.0-only
#include "reason.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace smc_ctl {
namespace {

struct Reason {
	std::uint32_t code;
	const char *text;
	const char *advice = nullptr; // what can be done about it
};

constexpr Reason kReasons[] = {
	{0x01010000, "out of memory",
	 "see \"memory\" in /proc/net/smc_stat, net.ipv4.tcp_mem, and the limit of the program's "
	 "cgroup"},
	{0x02010000, "no answer to CONFIRM LINK",
	 "RDMA packets do not get through: open UDP port 4791 in firewalls between and on both "
	 "hosts, and compare the MTU of both devices"},
	{0x02020000, "no answer to ADD LINK", "the same, on the way of the second link"},
	{0x03000000, "configuration error"},
	{0x03010000, "peer does not offer SMC",
	 "load smc.ko on the other host and make its program an SMC server (smc_run, smc_ctl "
	 "select); a firewall between that removes TCP option 254 has the same effect"},
	{0x03020000, "IPsec in use",
	 "exempt the peer from IPsec, or leave it at TCP: RDMA would not be encrypted"},
	{0x03030000, "no SMC device for this route",
	 "smc_ctl doctor on both hosts; a route over a device without RDMA needs a PNET ID "
	 "(smc_ctl pnet add)"},
	{0x03030001, "no SMC-D device"},
	{0x03030002, "no SMC-R device",
	 "smc_ctl doctor on both hosts; a route over a device without RDMA needs a PNET ID "
	 "(smc_ctl pnet add)"},
	{0x03030003, "no SMC-Dv2 here"},
	{0x03030004, "no SMCv2 extension in the proposal",
	 "the peer speaks version 1 only, or has no EID: smcr ueid add, or smc_ctl eid add, there"},
	{0x03030005, "no SMC-Dv2 extension in the proposal"},
	{0x03030006, "no system EID"},
	{0x03030007, "no SMC-Dv2 device"},
	{0x03030008, "no common user EID",
	 "give both hosts an EID in common: smc_ctl eid add, or smcr ueid add"},
	{0x03030009, "releases do not match"},
	{0x0303000a, "limits of connections do not match"},
	{0x0303000b, "limits of links do not match"},
	{0x03040000, "mode not supported"},
	{0x03050000, "peer wants RMBE eye catchers"},
	{0x03060000, "option or call that only TCP has",
	 "the program wants what only TCP has, such as Fast Open or TCP_REPAIR"},
	{0x03070000, "IP prefixes differ",
	 "version 1 needs both hosts in one subnet; give both an EID for version 2"},
	{0x03080000, "VLAN unknown"},
	{0x03090000, "VLAN not usable on the ISM device"},
	{0x030a0000, "no active link"},
	{0x030b0000, "no link of the server's description"},
	{0x030c0000, "versions do not match"},
	{0x030d0000, "no free DMB"},
	{0x030e0000, "no route to the peer's RDMA address",
	 "add a route to the network of the peer's RDMA device"},
	{0x030f0000, "peer's RDMA address is not behind a gateway"},
	{0x04000000, "link groups out of step"},
	{0x05000000, "peer declined", "smc_ctl fallback on the peer says why"},
	{0x09990000, "internal error"},
	{0x09990001, "no room for the peer's buffer key"},
	{0x09990002, "link could not be readied"},
	{0x09990003, "buffer could not be registered"},
	{0xffffffff, "other reasons"},
};

const Reason *find(std::uint32_t code)
{
	const auto *found = std::find_if(std::begin(kReasons), std::end(kReasons),
					 [&](const Reason &reason) { return reason.code == code; });
	return found == std::end(kReasons) ? nullptr : found;
}

} // namespace

std::string describe_reason(std::uint32_t code)
{
	const Reason *reason = find(code);

	return reason ? reason->text : "unknown";
}

std::string advise_about(std::uint32_t code)
{
	const Reason *reason = find(code);

	return reason && reason->advice ? reason->advice : "";
}

} // namespace smc_ctl
