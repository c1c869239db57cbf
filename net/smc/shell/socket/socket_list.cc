// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/socket_list.hpp"

#include "shell/base/alloc.hpp"

namespace smc::shell {

SocketList *the_socket_list;

bool set_up_socket_list()
{
	return make_single(the_socket_list);
}

void tear_down_socket_list()
{
	free_single(the_socket_list);
}

void SocketList::add(ListedSocket &socket)
{
	Shard &shard = shard_of(socket.serial());
	Guard guard(shard.lock);
	shard.sockets.push_back(socket);
}

void SocketList::remove(ListedSocket &socket)
{
	Shard &shard = shard_of(socket.serial());
	bool looked_at;
	{
		Guard guard(shard.lock);
		shard.sockets.remove(socket);
		looked_at = shard.looked_at == &socket;
	}
	if (looked_at)
		Guard wait(shard.looking);
}

ListedSocket *SocketList::look_at(Shard &shard, u64 serial)
{
	Guard guard(shard.lock);
	for (ListedSocket *socket = shard.sockets.front(); socket != nullptr;
	     socket = shard.sockets.next(*socket)) {
		if (socket->serial() == serial) {
			shard.looked_at = socket;
			return socket;
		}
	}
	return nullptr;
}

} // namespace smc::shell
