// SPDX-License-Identifier: GPL-2.0-only
//
// SocketList: all sockets of ours (ListedSocket), for sock_diag. In shards, so that opening
// connections does not meet at one lock.
//
// Locking: a spinlock for each shard's list (class LEAF), so that opening and closing a socket,
// even one that falls back, costs next to nothing; and a mutex (class SOCKETS) for who looks at a
// socket, which takes other locks: remove() waits for it only if it looks at that one.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "kernel/abi/sock.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"

namespace smc::shell {

struct SocketsTag;

// What the list knows of a socket.
class ListedSocket : public ListNode<SocketsTag> {
public:
	[[nodiscard]] struct sock *sk() const { return sk_; }
	// Its place in a walk.
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
	// Does nothing if it is not in the list any more.
	void remove(ListedSocket &socket);

	// Calls @f with the socket of @net that comes after the one with @serial (0: the first).
	// Its serial; none if there is none. Shard by shard, so that a walk past 100,000 sockets,
	// which anybody may ask for, looks at some hundred of them for each. The socket stays while
	// @f runs.
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
	// The socket with that serial, which stays until looked_at is reset.
	[[nodiscard]] static ListedSocket *look_at(Shard &shard, u64 serial)
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
