// SPDX-License-Identifier: GPL-2.0-only
//
// A third host, which knows host @claimed's names and pretends to be that host, over a TCP
// connection of its own.
#pragma once

#include "kernel/abi/types.h"

struct net;

namespace sim {

enum class Answer : u8 {
	kFounds, // a group of its own, with its Confirm
	kJoins,  // an existing group
	kDeclined,
};

struct Pretence {
	struct socket *sock;
	Answer answer;
};

// Proposes to @server in the name of @claimed, gets the answer, and is silent. With @name: a name
// that nobody has had.
[[nodiscard]] Pretence pretend(net *from, net *server, net *claimed, u16 name = 0);
// Resets the connection.
void reset(const Pretence &pretence);

// Joins the group of @server with @claimed, and declines as out of sync.
void disown_group(net *from, net *server, net *claimed);

} // namespace sim
