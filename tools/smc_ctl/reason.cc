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
};

constexpr Reason kReasons[] = {
	{0x01010000, "out of memory"},
	{0x02010000, "no answer to CONFIRM LINK"},
	{0x02020000, "no answer to ADD LINK"},
	{0x03000000, "configuration error"},
	{0x03010000, "peer does not offer SMC"},
	{0x03020000, "IPsec in use"},
	{0x03030000, "no SMC device for this route"},
	{0x03030001, "no SMC-D device"},
	{0x03030002, "no SMC-R device"},
	{0x03030003, "no SMC-Dv2 here"},
	{0x03030004, "no SMCv2 extension in the proposal"},
	{0x03030005, "no SMC-Dv2 extension in the proposal"},
	{0x03030006, "no system EID"},
	{0x03030007, "no SMC-Dv2 device"},
	{0x03030008, "no common user EID"},
	{0x03030009, "releases do not match"},
	{0x0303000a, "limits of connections do not match"},
	{0x0303000b, "limits of links do not match"},
	{0x03040000, "mode not supported"},
	{0x03050000, "peer wants RMBE eye catchers"},
	{0x03060000, "option or call that only TCP has"},
	{0x03070000, "IP prefixes differ"},
	{0x03080000, "VLAN unknown"},
	{0x03090000, "VLAN not usable on the ISM device"},
	{0x030a0000, "no active link"},
	{0x030b0000, "no link of the server's description"},
	{0x030c0000, "versions do not match"},
	{0x030d0000, "no free DMB"},
	{0x030e0000, "no route to the peer's RDMA address"},
	{0x030f0000, "peer's RDMA address is not behind a gateway"},
	{0x04000000, "link groups out of step"},
	{0x05000000, "peer declined"},
	{0x09990000, "internal error"},
	{0x09990001, "no room for the peer's buffer key"},
	{0x09990002, "link could not be readied"},
	{0x09990003, "buffer could not be registered"},
	{0xffffffff, "other reasons"},
};

} // namespace

std::string describe_reason(std::uint32_t code)
{
	const auto *found = std::find_if(std::begin(kReasons), std::end(kReasons),
					 [&](const Reason &reason) { return reason.code == code; });
	return found == std::end(kReasons) ? "unknown" : found->text;
}

} // namespace smc_ctl
