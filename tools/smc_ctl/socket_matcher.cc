// SPDX-License-Identifier: GPL-2.0-only
#include "socket_matcher.hpp"
#include "reason.hpp"

#include <algorithm>
#include <cstdio>

namespace smc_ctl {
namespace {

bool is_in(const Endpoint &endpoint, const Prefix &prefix)
{
	return !endpoint.address.empty() && is_in(parse_prefix(endpoint.address).address, prefix);
}

bool has_reason(const SocketInfo &socket, const std::string &reason)
{
	for (const std::uint32_t code : {socket.reason, socket.peer_reason}) {
		char number[16];

		std::snprintf(number, sizeof(number), "0x%08x", code);
		if (code != 0 &&
		    (reason == number || describe_reason(code).find(reason) != std::string::npos))
			return true;
	}
	return false;
}

} // namespace

SocketMatcher::SocketMatcher(const SocketFilter &filter)
	: filter_(filter), prefix_(filter.address.empty() ? Prefix{} : parse_prefix(filter.address))
{
}

bool SocketMatcher::fits(const SocketInfo &socket, const Owners &owners) const
{
	if (!filter_.state.empty() && socket.state != filter_.state)
		return false;
	if (!filter_.address.empty() && !is_in(socket.local, prefix_) &&
	    !is_in(socket.peer, prefix_))
		return false;
	if (!filter_.reason.empty() && !has_reason(socket, filter_.reason))
		return false;
	if (filter_.process.empty())
		return true;
	const auto [first, last] = owners.equal_range(socket.inode);
	return std::any_of(first, last, [&](const auto &owner) {
		return owner.second.name == filter_.process ||
		       std::to_string(owner.second.pid) == filter_.process;
	});
}

} // namespace smc_ctl
