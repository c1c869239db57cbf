// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

#include "world.hpp"

namespace sim {

// Follows the messages of both ends of one TCP connection.
class ClcObserver {
public:
	virtual ~ClcObserver() = default;
	// @side: 0 the client, 1 the server.
	virtual void sent(unsigned side, const std::string &bytes) = 0;
	// @side has taken a message of the other side out of the stream, or has seen its FIN.
	virtual void taken(unsigned side) = 0;
	[[nodiscard]] virtual bool has_spoken(unsigned side) const = 0;
};

[[nodiscard]] std::shared_ptr<ClcObserver> observe_clc(u64 connection, net *client, net *server);

} // namespace sim
