// SPDX-License-Identifier: GPL-2.0-only
//
// SocketList: all our sockets (ListedSocket), for sock_diag. In shards, so that opening connections
// in parallel does not contend for one lock.
//
// Locking: a spinlock for each shard's list (class LEAF), so that opening and closing a socket,
// even one that falls back, costs next to nothing; and a mutex (class SOCKETS) for a walk that
// looks at a socket, which takes other locks: remove() waits for it only if the walk looks at that
// socket.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "kernel/abi/sock.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::shell {

struct SocketsTag;

// The list's part of a socket.
class ListedSocket : public ListNode<SocketsTag> {
public:
	[[nodiscard]] struct sock *sk() const { return sk_; }
	// Its position in walks.
	[[nodiscard]] u64 serial() const { return serial_; }

protected:
	ListedSocket(struct sock *sk, u64 serial) : sk_(sk), serial_(serial) {}
	~ListedSocket() = default;

	struct sock *const sk_;

private:
	const u64 serial_;
};

class SocketList {
public:
	[[nodiscard]] u64 next_serial()
	{
		return serials_.fetch_add(1, std::memory_order_relaxed) + 1;
	}
	void add(ListedSocket &socket);
	// Does nothing if it was removed before.
	void remove(ListedSocket &socket);

	// Calls @f with the next socket of @net after @serial (0: the first). Returns its serial;
	// none if there is none. Works shard by shard, so that a walk over 100,000 sockets, which
	// any user may ask for, looks at some hundred for each. The socket stays while @f runs.
	template <class F>
	[[nodiscard]] std::optional<u64> with_next(u64 serial, net *net, F &&f);

private:
	static constexpr std::size_t kShards = 256;

	struct Shard {
		Mutex looking{SMC_LOCK_SOCKETS};
		SpinLock lock{SMC_LOCK_LEAF};
		List<ListedSocket, SocketsTag> sockets SMC_GUARDED_BY(lock);
		const ListedSocket *looked_at SMC_GUARDED_BY(lock) = nullptr;
	};
	// The socket with that serial; it stays until looked_at is reset.
	[[nodiscard]] static ListedSocket *look_at(Shard &shard, u64 serial)
		SMC_REQUIRES(shard.looking);
	[[nodiscard]] Shard &shard_of(u64 serial) { return shards_[serial % kShards]; }

	std::array<Shard, kShards> shards_;
	std::atomic<u64> serials_{0};
};

// Exists between setup and teardown.
extern SocketList *the_socket_list;
[[nodiscard]] inline SocketList &socket_list()
{
	return *the_socket_list;
}
[[nodiscard]] bool set_up_socket_list();
void tear_down_socket_list();

template <class F>
std::optional<u64> SocketList::with_next(u64 serial, net *net, F &&f)
{
	std::size_t at = serial % kShards;

	while (at < kShards) {
		Shard &shard = shards_[at];
		u64 best = ~u64{0};
		{
			Guard guard(shard.lock);
			for (ListedSocket *socket = shard.sockets.front(); socket != nullptr;
			     socket = shard.sockets.next(*socket)) {
				if (socket->serial() > serial && socket->serial() < best &&
				    smc_sk_net(socket->sk()) == net)
					best = socket->serial();
			}
		}
		if (best == ~u64{0}) {
			at++;
			serial = 0;
			continue;
		}
		Guard looking(shard.looking);
		if (ListedSocket *socket = look_at(shard, best)) {
			f(*socket);
			Guard guard(shard.lock);
			shard.looked_at = nullptr;
			return best;
		}
		// Gone meanwhile: the next one.
		serial = best;
	}
	return std::nullopt;
}

} // namespace smc::shell
