// SPDX-License-Identifier: GPL-2.0-only
//
// Rendezvous: where the two ends of a TCP connection inside this kernel find each other for their
// CLC exchange. Either may be first, and waits here for the other one. Each entry lies in its
// handshake, so there are no more of them than handshakes. But a server's waits for a peer that may
// be anywhere, and say nothing: strangers may leave many here, of which no other handshake is to
// pass more than a few.
//
// Locking: one lock for each bucket (class RENDEZVOUS). Two ends that belong together share the
// bucket, so its lock also guards the links between them.
#pragma once

#include <array>

#include "core/base/bytes.hpp"
#include "kernel/abi/mem.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/socket/near_clc.hpp"

namespace smc::shell {

class Rendezvous {
public:
	enum class Sent : u8 {
		kDelivered, // or its peer has parted, which TCP will show
		kNotHere,   // there never was a peer: send it over TCP
		kNoRoom,
	};

	Rendezvous() { smc_random_bytes(&secret_, sizeof(secret_)); }
	Rendezvous(const Rendezvous &) = delete;
	Rendezvous &operator=(const Rendezvous &) = delete;

	// True: its peer was here, and what that has left for it is received. Otherwise @end waits
	// for it. Once for each end, which has to part() before it is freed.
	[[nodiscard]] bool enter(NearClc &end, const NearKey &key);
	[[nodiscard]] static bool met(const NearClc &end)
	{
		return end.met_.load(std::memory_order_acquire);
	}
	// While @from waits: its peer gets the message when it comes. False: it has come already,
	// or will not find @from any more; send().
	[[nodiscard]] bool leave(NearClc &from, ByteSpan message);
	// Unless its peer has come already, the peer will not find it any more. Returns what was
	// left for it, which @end may consume().
	[[nodiscard]] ByteSpan stop_waiting(NearClc &end);
	// Its owner is not called any more. Messages that its peer has received stay there.
	void part(NearClc &end);

	[[nodiscard]] Sent send(NearClc &from, ByteSpan message);
	// The received bytes, from the first one on; they stay until consume().
	[[nodiscard]] static ByteSpan received(const NearClc &end)
	{
		// Else they are its own.
		return met(end) ? received_or_left(end) : ByteSpan{};
	}
	void consume(NearClc &end, std::size_t bytes);
	// Room for a look into TCP's stream, until the next one. TCP has something to show: a peer
	// that was not here by then has gone that way, and is not waited for any more. Then a whole
	// message has room. A peer that is here sends none by TCP, so what comes need not be seen
	// to its end.
	[[nodiscard]] MutableByteSpan room_for_tcp(NearClc &end);

private:
	static constexpr u32 kBuckets = 4096;

	struct Bucket {
		SpinLock lock{SMC_LOCK_RENDEZVOUS};
		List<NearClc, NearClcTag> waiting SMC_GUARDED_BY(lock);
	};

	[[nodiscard]] Bucket &bucket(const NearClc &end) { return buckets_[end.bucket_]; }
	[[nodiscard]] u32 bucket_of(const NearKey &key) const;
	[[nodiscard]] static NearClc *find_locked(const Bucket &bucket, const NearClc &end)
		SMC_REQUIRES(bucket.lock);
	// False: it has no room there.
	[[nodiscard]] static bool add(NearClc &to, const SpinLock &lock, ByteSpan message)
		SMC_REQUIRES(lock);
	// The first so many.
	static void remove(NearClc &from, const SpinLock &lock, std::size_t bytes)
		SMC_REQUIRES(lock);
	[[nodiscard]] static ByteSpan received_or_left(const NearClc &end)
	{
		return ByteSpan{end.bytes_}.first(
			end.length_bytes_.load(std::memory_order_acquire));
	}

	std::array<Bucket, kBuckets> buckets_;
	smc_hash_key secret_;
};

// Exists between setup and teardown.
[[nodiscard]] Rendezvous &rendezvous();
[[nodiscard]] bool set_up_rendezvous();
void tear_down_rendezvous();

} // namespace smc::shell
