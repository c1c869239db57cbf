// SPDX-License-Identifier: GPL-2.0-only
#include "sockets.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "processes.hpp"
#include "reason.hpp"
#include "socket_matcher.hpp"
#include "tcp_children.hpp"

#include <cstdio>

namespace smc_ctl {
namespace {

void show_carrier(const SocketInfo &socket)
{
	switch (socket.carrier) {
	case Carrier::kNone: break;
	case Carrier::kSmcR:
		std::printf(" SMC-R device %s port %u link %u", socket.device.c_str(), socket.port,
			    socket.link);
		break;
	case Carrier::kSmcD:
		std::printf(" SMC-D");
		if (socket.group != 0)
			std::printf(" group %08x token %016llx peer %016llx", socket.group,
				    static_cast<unsigned long long>(socket.token),
				    static_cast<unsigned long long>(socket.peer_token));
		break;
	case Carrier::kTcp:
		std::printf(socket.accepted ? " TCP: accepted so" : " TCP");
		if (socket.reason != 0)
			std::printf(": %s", describe_reason(socket.reason).c_str());
		if (socket.peer_reason != 0)
			std::printf(" (%s)", describe_reason(socket.peer_reason).c_str());
		break;
	}
}

void show_traffic(const smc_diag_traffic &traffic)
{
	const auto number = [](__u64 value) { return static_cast<unsigned long long>(value); };

	std::printf(" sent %llu received %llu messages %llu stale %llu full %llu peer-full %llu"
		    " corked %llu queue-full %llu repeated %llu",
		    number(traffic.sent_bytes), number(traffic.received_bytes),
		    number(traffic.sent_messages), number(traffic.stale_messages),
		    number(traffic.sends_without_room), number(traffic.sends_without_window),
		    number(traffic.sends_behind_cork), number(traffic.messages_without_room),
		    number(traffic.repeated_bytes));
}

void show(const SocketInfo &socket, const Owners &owners, const SocketFilter &filter)
{
	std::printf("%-12s %s", socket.state.c_str(), text_of(socket.local).c_str());
	if (!socket.peer.address.empty())
		std::printf(" %s", text_of(socket.peer).c_str());
	std::printf(" uid %u inode %llu", socket.uid,
		    static_cast<unsigned long long>(socket.inode));
	show_carrier(socket);
	if (filter.traffic && socket.traffic)
		show_traffic(*socket.traffic);
	std::printf("%s\n", filter.processes ? text_of(owners, socket.inode).c_str() : "");
}

Json reason_of(std::uint32_t code)
{
	return {{"code", code}, {"text", describe_reason(code)}};
}

Json json_of(const SocketInfo &socket, const Owners &owners)
{
	Json json = {{"state", socket.state},
		     {"local", json_of(socket.local)},
		     {"uid", socket.uid},
		     {"inode", socket.inode}};
	if (!socket.peer.address.empty())
		json["peer"] = json_of(socket.peer);
	switch (socket.carrier) {
	case Carrier::kNone: break;
	case Carrier::kSmcR:
		json["carrier"] = "SMC-R";
		json["device"] = socket.device;
		json["port"] = socket.port;
		json["link"] = socket.link;
		break;
	case Carrier::kSmcD:
		json["carrier"] = "SMC-D";
		json["group"] = socket.group;
		json["token"] = socket.token;
		json["peer_token"] = socket.peer_token;
		break;
	case Carrier::kTcp:
		json["carrier"] = "TCP";
		json["accepted"] = socket.accepted;
		if (!socket.accepted)
			json["reason"] = reason_of(socket.reason);
		if (socket.peer_reason != 0)
			json["peer_reason"] = reason_of(socket.peer_reason);
		break;
	}
	if (socket.traffic)
		json["traffic"] = {{"sent_bytes", socket.traffic->sent_bytes},
				   {"received_bytes", socket.traffic->received_bytes},
				   {"sent_messages", socket.traffic->sent_messages},
				   {"stale_messages", socket.traffic->stale_messages},
				   {"sends_without_room", socket.traffic->sends_without_room},
				   {"sends_without_window", socket.traffic->sends_without_window},
				   {"sends_behind_cork", socket.traffic->sends_behind_cork},
				   {"messages_without_room", socket.traffic->messages_without_room},
				   {"repeated_bytes", socket.traffic->repeated_bytes}};
	json["processes"] = json_of(owners, socket.inode);
	return json;
}

} // namespace

void sockets_show(const SocketFilter &filter)
{
	const bool wants_owners = filter.processes || filter.json || !filter.process.empty();
	const Owners owners = wants_owners ? owners_of_sockets() : Owners();
	const SocketMatcher matcher(filter);
	Json rows = Json::array();

	std::vector<SocketInfo> found = sockets();
	const std::vector<SocketInfo> children = tcp_children(found);

	found.insert(found.end(), children.begin(), children.end());
	for (const SocketInfo &socket : found) {
		if (!matcher.fits(socket, owners))
			continue;
		if (filter.json)
			rows.push_back(json_of(socket, owners));
		else
			show(socket, owners, filter);
	}
	if (filter.json)
		std::printf("%s\n", rows.dump(2).c_str());
}

} // namespace smc_ctl
