// SPDX-License-Identifier: GPL-2.0-only
//
// LoopbackEndpoint: an endpoint whose peer is in this kernel (SMC-D over the loopback device). Its
// send buffer is the peer's ring (DMB) itself: the sender copies from the user to where the
// receiver copies out. There is no CDC message: both ends share one lock, and under it one end
// hands its cursors to the other's Connection.
//
// A ring begins small. If it was full when its writer wanted to go on, and empty when the writer
// came back, a ring of twice the size replaces it, up to the size that TCP would let a receive
// buffer grow to; but not if either end has set the size of its buffer. Nobody copies into or out
// of an empty ring: it is the writer who replaces it, and a reader has found nothing in it.
//
// Life: as any endpoint, but an end whose user has closed does not wait for the other one, which
// has received everything. It takes the DMB with it in which it received, unless the other end's
// user is copying into that; then the DMB goes after the copy. Messages of the other end are
// dropped from then on. The other end's DMB stays, with all that was sent before. A server's end
// waits under its token until the client's end is joined to it; until then it is alone and has no
// Connection.
#pragma once

#include <array>

#include "core/handshake/effect.hpp"
#include "core/wire/clc.hpp"
#include "kernel/abi/control.h"
#include "shell/base/list.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/endpoint.hpp"
#include "shell/transport/loopback/device.hpp"
#include "shell/transport/loopback/dmb.hpp"

namespace smc::transport::loopback {

enum Side : u8 {
	kServer,
	kClient,
};

// Shared by both ends.
class Pair : public shell::RefCounted<Pair> {
public:
	explicit Pair(Device &device) : device_(device) {}

	void last_ref_gone() { shell::Deleter()(this); }

private:
	friend class LoopbackEndpoint;

	Device &device_;
	shell::SpinLock lock_{SMC_LOCK_ENDPOINT};
	std::array<Dmb *, 2> dmbs_ SMC_GUARDED_BY(lock_){};
	// Of each DMB, at most; known when its writer has finished.
	std::array<u32, 2> used_bytes_ SMC_GUARDED_BY(lock_){};
	u32 ends_ SMC_GUARDED_BY(lock_) = 0; // not retired yet
};

class LoopbackEndpoint final : public Endpoint, public WaitingEnd {
public:
	LoopbackEndpoint(shell::Ref<Pair> pair, Side side, Dmb &dmb, struct sock *sk, u64 token);

	[[nodiscard]] const shell::Ref<Pair> &pair() const { return pair_; }
	// Size of the DMB at first, as it was announced.
	[[nodiscard]] wire::BufferSize size() const { return size_; }
	// For Accept and Confirm.
	[[nodiscard]] wire::SmcdEndpoint announced() const;
	// Process. False if the server's end was given up meanwhile.
	[[nodiscard]] static bool join(LoopbackEndpoint &server, LoopbackEndpoint &client);
	// True if the peer's Confirm names the end that was joined to this one.
	[[nodiscard]] bool joined_to(const wire::SmcdEndpoint &peer);

	[[nodiscard]] std::optional<handshake::Event>
	set_up(const handshake::Effect &wanted) override;
	void abandon(bool peer_may_use) override;

private:
	// After a larger ring was refused for want of memory.
	static constexpr u64 kWidenPause_ms = 1000;

	// Endpoint's hooks. send_locked() hands messages over, in both directions, until neither
	// end has one.
	void send_locked() override SMC_REQUIRES(lock_);
	// Doubles the ring that this end fills, if it is empty.
	[[nodiscard]] bool widen() override;
	[[nodiscard]] bool ends_by_reset() const override { return ends_by_reset_; }
	[[nodiscard]] bool awaits_peer() const override { return false; }
	[[nodiscard]] bool released_locked() override SMC_REQUIRES(lock_);
	// Frees the ring that this end filled if the peer has gone, unless the user is copying into
	// it.
	void look_after() override;
	void retire() override;
	void destroy() override;
	void snapshot_transport(smc_sock_info &info) override;

	[[nodiscard]] bool start_locked(const LoopbackEndpoint &peer) SMC_REQUIRES(lock_);
	// True if there was a message.
	bool speak_locked() SMC_REQUIRES(lock_);
	void hear_locked(const connection::Saying &saying) SMC_REQUIRES(lock_);
	// Drops messages for a peer that has gone.
	void speak_to_nobody_locked() SMC_REQUIRES(lock_);
	// How much of the ring that this end fills may hold its bytes.
	[[nodiscard]] u32 written_bytes_locked() const SMC_REQUIRES(lock_);
	// lock_ lies in it, which clang cannot know.
	void holds_lock_of(const Pair &pair [[maybe_unused]]) const SMC_REQUIRES(lock_)
		SMC_ASSERT_HELD(pair.lock_)
	{
	}
	[[nodiscard]] Dmb *&own_dmb_locked() const SMC_REQUIRES(lock_)
	{
		holds_lock_of(*pair_);
		return pair_->dmbs_[side_];
	}
	[[nodiscard]] Dmb *&peer_dmb_locked() const SMC_REQUIRES(lock_)
	{
		holds_lock_of(*pair_);
		return pair_->dmbs_[1 - side_];
	}
	[[nodiscard]] LoopbackEndpoint *peer_locked() const SMC_REQUIRES(lock_)
	{
		return static_cast<LoopbackEndpoint *>(neighbour_);
	}

	shell::Ref<LoopbackEndpoint> transports_; // the transport's reference, until it is retired
	const shell::Ref<Pair> pair_;
	const Side side_;
	const wire::BufferSize size_;
	u64 widen_after_ms_ = 0;     // guarded by the socket lock
	bool ends_by_reset_ = false; // constant once the two ends are joined
	bool joined_ SMC_GUARDED_BY(lock_) = false;
	bool gone_ SMC_GUARDED_BY(lock_) = false; // retired, or about to be
	u64 peer_token_ SMC_GUARDED_BY(lock_) = 0;
	wire::BufferSize peer_size_ SMC_GUARDED_BY(lock_);
};

} // namespace smc::transport::loopback
