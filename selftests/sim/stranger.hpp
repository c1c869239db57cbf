// SPDX-License-Identifier: GPL-2.0-only
//
// A third host, which knows how host @claimed names itself and says that it is this one, over a TCP
// connection of its own.
#pragma once

#include "kernel/abi/types.h"

struct net;

namespace sim {

enum class Answer : u8 {
	kFounds, // a group of its own, with its Confirm
	kJoins,  // one that there is
	kDeclined,
};

struct Pretence {
	struct socket *sock;
	Answer answer;
};

// Proposes to @server in the name of @claimed, has the answer, and says nothing more. With a @name
// it is one that nobody has had yet.
[[nodiscard]] Pretence pretend(net *from, net *server, net *claimed, u16 name = 0);
// Resets the connection.
void reset(const Pretence &pretence);

// Joins the group of @server with @claimed, and declines what it gets, as one who does not know the
// group.
void disown_group(net *from, net *server, net *claimed);

} // namespace sim
