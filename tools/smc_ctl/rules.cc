// SPDX-License-Identifier: GPL-2.0-only
#include "address.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "netlink.hpp"
#include "peers_family.hpp"

#include <smc/genl.h>

#include <charconv>
#include <cstdio>

namespace smc_ctl {
namespace {

std::string ports_of(const Rule &rule)
{
	if (rule.port_first == 0 && rule.port_last == UINT16_MAX)
		return "any";
	if (rule.port_first == rule.port_last)
		return std::to_string(rule.port_first);
	return std::to_string(rule.port_first) + "-" + std::to_string(rule.port_last);
}

std::uint16_t parse_port(const std::string &text)
{
	const char *end = text.data() + text.size();
	std::uint16_t port = 0;
	const auto [rest, error] = std::from_chars(text.data(), end, port);

	if (error != std::errc() || rest != end)
		throw NetlinkError("\"" + text + "\" is no port", 0);
	return port;
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

void parse_ports(const std::string &ports, Rule &rule)
{
	const std::size_t dash = ports.find('-');

	if (ports.empty())
		return;
	rule.port_first = parse_port(ports.substr(0, dash));
	rule.port_last =
		dash == std::string::npos ? rule.port_first : parse_port(ports.substr(dash + 1));
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

std::vector<Rule> rules()
{
	std::vector<Rule> found;

	peers_family().dump(SMC_NL_RULES_GET, [&](std::uint8_t, const Attributes &rule) {
		const Prefix prefix{peer_address(rule), static_cast<std::uint8_t>(rule.number(
								SMC_NL_PEER_A_PREFIX_BITS))};
		const auto direction = rule.number(SMC_NL_PEER_A_DIRECTION);

		found.push_back({
			.allow = rule.number(SMC_NL_PEER_A_ALLOW) != 0,
			.peer = prefix.bits == 0 ? "" : text_of(prefix),
			.port_first = static_cast<std::uint16_t>(rule.number(SMC_NL_PEER_A_PORT)),
			.port_last =
				static_cast<std::uint16_t>(rule.number(SMC_NL_PEER_A_PORT_LAST)),
			.out = (direction & SMC_NL_OUT) != 0,
			.in = (direction & SMC_NL_IN) != 0,
		});
	});
	return found;
}

std::string text_of(const Rule &rule)
{
	std::string text = rule.allow ? "allow" : "deny";

	if (!rule.peer.empty())
		text += " peer " + text_of(parse_prefix(rule.peer));
	if (ports_of(rule) != "any")
		text += " port " + ports_of(rule);
	if (rule.out != rule.in)
		text += rule.out ? " out" : " in";
	return text;
}

namespace {

// Without a peer: any.
Json json_of(const Rule &rule)
{
	Json row = {{"allow", rule.allow}};

	if (!rule.peer.empty())
		row["peer"] = rule.peer;
	row["port_first"] = rule.port_first;
	row["port_last"] = rule.port_last;
	row["out"] = rule.out || !rule.in;
	row["in"] = rule.in || !rule.out;
	return row;
}

} // namespace

void rules_show(bool json)
{
	Json rows = Json::array();

	for (const Rule &rule : rules()) {
		if (json) {
			rows.push_back(json_of(rule));
			continue;
		}
		std::printf("%-5s %-4s peer %s port %s\n", rule.allow ? "allow" : "deny",
			    rule.out == rule.in ? "both"
			    : rule.out          ? "out"
						: "in",
			    rule.peer.empty() ? "any" : rule.peer.c_str(), ports_of(rule).c_str());
	}
	if (json)
		print(rows);
}

} // namespace smc_ctl
