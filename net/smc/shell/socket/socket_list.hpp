// SPDX-License-Identifier: GPL-2.0-only
//
// SocketList: all SmcSockets, for sock_diag. In shards, so that opening connections does not meet
// at one lock.
//
// Locking: a spinlock for each shard's list (class LEAF), so that opening and closing a socket,
// even one that falls back, costs next to nothing; and a mutex (class SOCKETS) for who looks at a
// socket, which takes other locks: remove() waits for it only if it looks at that one.
#pragma once

#include <array>
#include <atomic>

#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/socket/smc_socket.hpp"

namespace smc::shell {

class SocketList {
public:
	[[nodiscard]] u64 next_serial()
	{
		return serials_.fetch_add(1, std::memory_order_relaxed) + 1;
	}
	void add(SmcSocket &socket);
	void remove(SmcSocket &socket);

	// Calls @f with the socket of @net that comes after the one with @serial (0: the first): 1,
	// or 0 if there is none. Shard by shard, so that a walk past 100,000 sockets, which anybody
	// may ask for, looks at some hundred of them for each. The socket stays while @f runs.
	template <class F>
	int with_next(u64 serial, net *net, F &&f);

private:
	friend class SmcSocket;
	static constexpr std::size_t kShards = 256;

	struct Shard {
		Mutex looking{SMC_LOCK_SOCKETS};
		SpinLock lock{SMC_LOCK_LEAF};
		List<SmcSocket, SocketsTag> sockets SMC_GUARDED_BY(lock);
		const SmcSocket *looked_at SMC_GUARDED_BY(lock) = nullptr;
	};
	// The socket with that serial, which stays until looked_at is reset.
	[[nodiscard]] static SmcSocket *look_at(Shard &shard, u64 serial)
		SMC_REQUIRES(shard.looking);
	[[nodiscard]] Shard &shard_of(u64 serial) { return shards_[serial % kShards]; }

	std::array<Shard, kShards> shards_;
	std::atomic<u64> serials_{0};
};

// Exists between setup and teardown.
[[nodiscard]] SocketList &socket_list();
[[nodiscard]] bool set_up_socket_list();
void tear_down_socket_list();

template <class F>
int SocketList::with_next(u64 serial, net *net, F &&f)
{
	std::size_t at = serial % kShards;

	while (at < kShards) {
		Shard &shard = shards_[at];
		u64 best = ~u64{0};
		{
			Guard guard(shard.lock);
			for (SmcSocket *socket = shard.sockets.front(); socket != nullptr;
			     socket = shard.sockets.next(*socket)) {
				if (socket->serial_ > serial && socket->serial_ < best &&
				    smc_sk_net(socket->sk_) == net)
					best = socket->serial_;
			}
		}
		if (best == ~u64{0}) {
			at++;
			serial = 0;
			continue;
		}
		Guard looking(shard.looking);
		if (SmcSocket *socket = look_at(shard, best)) {
			f(*socket);
			Guard guard(shard.lock);
			shard.looked_at = nullptr;
			return 1;
		}
		// Gone meanwhile: the next one.
		serial = best;
	}
	return 0;
}

} // namespace smc::shell
