// SPDX-License-Identifier: GPL-2.0-only
#include "address.hpp"
#include "commands.hpp"
#include "names.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <algorithm>
#include <cstdio>

namespace smc_ctl {
namespace {

constexpr unsigned long long kMsPerSecond = 1000;

Family peers_family()
{
	return {SMC_NL_PEERS_FAMILY, SMC_NL_PEERS_VERSION};
}

Address address_of(const Attributes &peer)
{
	Address address{};

	if (const void *bytes = peer.data(SMC_NL_PEER_A_ADDRESS, address.size()))
		std::copy_n(static_cast<const std::uint8_t *>(bytes), address.size(),
			    address.begin());
	return address;
}

std::string endpoint_of(const Attributes &peer)
{
	std::string address = text_of(address_of(peer));
	const unsigned scope = number32(peer, SMC_NL_PEER_A_SCOPE_ID);

	if (scope != 0)
		address += "%" + netdev_name(scope);
	if (address.find(':') != std::string::npos)
		address = "[" + address + "]";
	return address + ":" + std::to_string(peer.number(SMC_NL_PEER_A_PORT));
}

const char *direction_of(unsigned direction)
{
	switch (direction) {
	case SMC_NL_OUT: return "out";
	case SMC_NL_IN: return "in";
	default: return "both";
	}
}

std::string ports_of(const Attributes &rule)
{
	const auto first = rule.number(SMC_NL_PEER_A_PORT);
	const auto last = rule.number(SMC_NL_PEER_A_PORT_LAST);

	if (first == 0 && last == UINT16_MAX)
		return "any";
	if (first == last)
		return std::to_string(first);
	return std::to_string(first) + "-" + std::to_string(last);
}

void change(std::uint8_t command, const Rule &rule)
{
	const Prefix prefix = rule.peer.empty() ? Prefix{} : parse_prefix(rule.peer);
	// Neither is named: both.
	const int direction = rule.out == rule.in ? SMC_NL_OUT | SMC_NL_IN
			      : rule.out          ? SMC_NL_OUT
						  : SMC_NL_IN;

	peers_family().request(command, [&](nl_msg &message) {
		put_bytes(message, SMC_NL_PEER_A_ADDRESS, prefix.address.data(),
			  prefix.address.size());
		put_u16(message, SMC_NL_PEER_A_PORT, rule.port_first);
		put_u16(message, SMC_NL_PEER_A_PORT_LAST, rule.port_last);
		put_u8(message, SMC_NL_PEER_A_PREFIX_BITS, prefix.bits);
		put_u8(message, SMC_NL_PEER_A_ALLOW, rule.allow ? 1 : 0);
		put_u8(message, SMC_NL_PEER_A_DIRECTION, static_cast<std::uint8_t>(direction));
	});
}

} // namespace

void peers_show()
{
	peers_family().dump(SMC_NL_PEERS_GET, [](std::uint8_t, const Attributes &peer) {
		const bool server = peer.number(SMC_NL_PEER_A_IS_SERVER) != 0;

		std::printf("%-8s %s for %llu s\n", server ? "smc" : "plain",
			    endpoint_of(peer).c_str(),
			    number64(peer, SMC_NL_PEER_A_REST_MS) / kMsPerSecond);
	});
}

void peers_flush()
{
	peers_family().request(SMC_NL_PEERS_FLUSH);
}

void rule_add(const Rule &rule)
{
	change(SMC_NL_RULE_ADD, rule);
}

void rule_del(const Rule &rule)
{
	change(SMC_NL_RULE_DEL, rule);
}

void rules_flush()
{
	peers_family().request(SMC_NL_RULES_FLUSH);
}

void rules_show()
{
	peers_family().dump(SMC_NL_RULES_GET, [](std::uint8_t, const Attributes &rule) {
		const Prefix prefix{address_of(rule), static_cast<std::uint8_t>(rule.number(
							      SMC_NL_PEER_A_PREFIX_BITS))};

		std::printf("%-5s %-4s peer %s port %s\n",
			    rule.number(SMC_NL_PEER_A_ALLOW) != 0 ? "allow" : "deny",
			    direction_of(number32(rule, SMC_NL_PEER_A_DIRECTION)),
			    text_of(prefix).c_str(), ports_of(rule).c_str());
	});
}

} // namespace smc_ctl
