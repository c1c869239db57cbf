// SPDX-License-Identifier: GPL-2.0-only
//
// Rendezvous: where the two ends of a TCP connection that is inside this kernel find each other for
// their CLC exchange. Either may be the first and waits here for the other one; who waits lies in
// its handshake, so there are no more of them than handshakes under way.
//
// Locking: one lock for each bucket (class RENDEZVOUS). Two that belong together share the bucket,
// so it guards what is between them as well.
#pragma once

#include <array>

#include "core/base/bytes.hpp"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/socket/near_clc.hpp"

namespace smc::shell {

class Rendezvous {
public:
	enum class Sent : u8 {
		kDelivered, // or its peer has parted, of which TCP tells
		kNotHere,   // there never was a peer: send it over TCP
		kNoRoom,
	};

	Rendezvous() = default;
	Rendezvous(const Rendezvous &) = delete;
	Rendezvous &operator=(const Rendezvous &) = delete;

	// True: its peer was here, and knows. Else @end waits for it. Once for each end, which has
	// to part() before it goes.
	[[nodiscard]] bool enter(NearClc &end, const NearKey &key);
	[[nodiscard]] bool met(NearClc &end);
	// Unless its peer has come already, it will not find it any more.
	void stop_waiting(NearClc &end);
	// From here on its owner is not called. What its peer was sent stays there.
	void part(NearClc &end);

	[[nodiscard]] Sent send(NearClc &from, ByteSpan message);
	// What has come, from its first byte on; stays until consume().
	[[nodiscard]] ByteSpan received(NearClc &end);
	void consume(NearClc &end, std::size_t bytes);

private:
	static constexpr u32 kBuckets = 64;

	struct Bucket {
		SpinLock lock{SMC_LOCK_RENDEZVOUS};
		List<NearClc, NearClcTag> waiting SMC_GUARDED_BY(lock);
	};

	[[nodiscard]] Bucket &bucket(const NearKey &key)
	{
		return buckets_[(key.client_sequence ^ key.server_sequence) % kBuckets];
	}
	[[nodiscard]] static NearClc *find_locked(const Bucket &bucket, const NearClc &end)
		SMC_REQUIRES(bucket.lock);

	std::array<Bucket, kBuckets> buckets_;
};

// Exists between setup and teardown.
[[nodiscard]] Rendezvous &rendezvous();
[[nodiscard]] bool set_up_rendezvous();
void tear_down_rendezvous();

} // namespace smc::shell
