// SPDX-License-Identifier: GPL-2.0-only
#include "capture_filter.hpp"
#include "address.hpp"

namespace smc_ctl {
namespace {

constexpr const char *kRoce = "udp dst port 4791 or ether proto 0x8915";

// "SMCR" and "SMCD" in EBCDIC, of which one is at the beginning of a CLC message and one at its
// end. Messages that have to be divided are divided into two segments, so each of these has one.
std::string has_eyecatcher(const std::string &place)
{
	return place + " = 0xe2d4c3d9 or " + place + " = 0xe2d4c3c4";
}

// libpcap reads TCP's fields by name with IPv4 only, so places are counted from where IP begins.
// FIN, SYN and RST come first: looking behind the end of a packet is the end of the filter.
std::string handshake(const std::string &is_tcp, const std::string &ip, const std::string &header,
		      const std::string &ip_bytes)
{
	const std::string flags = ip + "[" + header + " + 13]";
	const std::string tcp_bytes = "((" + ip + "[" + header + " + 12] & 0xf0) >> 2)";
	const std::string begin = ip + "[" + header + " + " + tcp_bytes + ":4]";
	const std::string end = ip + "[" + ip_bytes + " - 4:4]";

	return is_tcp + " and (" + flags + " & 7 != 0 or " + has_eyecatcher(begin) + " or " +
	       has_eyecatcher(end) + ")";
}

std::string wanted_tcp(const TcpFilter &tcp)
{
	std::string text = "tcp";

	if (tcp.host.empty() && tcp.port == 0)
		return "(" +
		       handshake("ip proto 6 and ip[6:2] & 0x1fff = 0", "ip",
				 "((ip[0] & 0xf) << 2)", "ip[2:2]") +
		       ") or (" + handshake("ip6[6] = 6", "ip6", "40", "(ip6[4:2] + 40)") + ")";
	if (const Prefix prefix = tcp.host.empty() ? Prefix{} : parse_prefix(tcp.host);
	    prefix.bits != 0)
		text += " and net " + text_of(prefix);
	if (tcp.port != 0)
		text += " and port " + std::to_string(tcp.port);
	return text;
}

} // namespace

std::string filter_of_netdev(const TcpFilter &tcp, bool has_vlans)
{
	const std::string untagged = std::string(kRoce) + " or (" + wanted_tcp(tcp) + ")";

	// Whatever follows the word vlan is looked for inside of the VLAN.
	return has_vlans ? untagged + " or (vlan and (" + untagged + "))" : untagged;
}

std::string filter_of_rdma_device()
{
	return std::string(kRoce) + " or (vlan and (" + kRoce + "))";
}

} // namespace smc_ctl
