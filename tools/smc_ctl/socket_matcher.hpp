// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "address.hpp"
#include "commands.hpp"
#include "processes.hpp"
#include "sockets.hpp"

namespace smc_ctl {

// The sockets that a filter, which has to outlive it, lets through. Throws if its prefix is none.
class SocketMatcher {
public:
	explicit SocketMatcher(const SocketFilter &filter);

	[[nodiscard]] bool fits(const SocketInfo &socket, const Owners &owners) const;

private:
	const SocketFilter &filter_;
	Prefix prefix_;
};

} // namespace smc_ctl
