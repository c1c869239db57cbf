// SPDX-License-Identifier: GPL-2.0-only
//
// A third host, which knows how host @claimed names itself and says that it is this one, over a TCP
// connection of its own.
#pragma once

#include "kernel/abi/types.h"

struct net;

namespace sim {

// Joins the group of @server with @claimed, and declines what it gets, as one who does not know the
// group.
void disown_group(net *from, net *server, net *claimed);

} // namespace sim
