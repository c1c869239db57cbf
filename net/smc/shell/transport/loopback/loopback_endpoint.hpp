// SPDX-License-Identifier: GPL-2.0-only
//
// LoopbackEndpoint: an endpoint whose peer sits in this kernel (SMC-D over the loopback device).
// Its send buffer is the peer's ring (DMB) itself: the sender copies from the user straight to
// where the receiver copies out. There is no CDC message: both ends share one lock, and under it
// the one hands its cursors to the other's Connection.
//
// A ring begins small. One that was full when its writer wanted to go on, and empty when he came
// back, is replaced by one of twice the size, as far as TCP would let a receive buffer grow; but
// not if either end has set the size of its buffer. Nobody copies into or out of an empty ring:
// the writer is the one who replaces it, and a reader has found nothing there.
//
// Life: as any endpoint, but one whose user has closed does not wait for the other one: what it had
// to say has been heard. It takes its DMB with it, unless the other one's user is copying into
// that at the moment; then it goes when he is through. What the other one still says, nobody hears.
// Its own DMB stays, with all that was sent before. A server's end waits under its
// token for the client's to be joined to it; until then it is alone and has no Connection.
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

// What two ends share.
class Pair : public shell::RefCounted<Pair> {
public:
	explicit Pair(Device &device) : device_(device) {}

	void last_ref_gone() { shell::Deleter()(this); }

private:
	friend class LoopbackEndpoint;

	Device &device_;
	shell::SpinLock lock_{SMC_LOCK_ENDPOINT};
	std::array<Dmb *, 2> dmbs_ SMC_GUARDED_BY(lock_){};
	// Of each DMB, at most; known when its writer is done.
	std::array<u32, 2> used_bytes_ SMC_GUARDED_BY(lock_){};
	u32 ends_ SMC_GUARDED_BY(lock_) = 0; // that are not retired
};

class LoopbackEndpoint final : public Endpoint, public WaitingEnd {
public:
	LoopbackEndpoint(shell::Ref<Pair> pair, Side side, Dmb &dmb, struct sock *sk, u64 token);

	[[nodiscard]] const shell::Ref<Pair> &pair() const { return pair_; }
	// Of the DMB at first, as it was announced.
	[[nodiscard]] wire::BufferSize size() const { return size_; }
	// What Accept and Confirm say of it.
	[[nodiscard]] wire::SmcdEndpoint announced() const;
	// Process. False if the server's end was given up meanwhile.
	[[nodiscard]] static bool join(LoopbackEndpoint &server, LoopbackEndpoint &client);
	// The peer's Confirm names the end that was joined to this one.
	[[nodiscard]] bool joined_to(const wire::SmcdEndpoint &peer);

	[[nodiscard]] std::optional<handshake::Event>
	set_up(const handshake::Effect &wanted) override;
	void abandon(bool peer_may_use) override;

private:
	// After the reader's cgroup, or the host, had no memory for a larger ring.
	static constexpr u64 kWidenPause_ms = 1000;

	// Endpoint's hooks. send_locked() says what there is to say, and lets the peer answer,
	// until both are done.
	void send_locked() override SMC_REQUIRES(lock_);
	[[nodiscard]] bool pass_locked(u32 bytes) override SMC_REQUIRES(lock_);
	// Doubles the ring that this end fills, if it is empty.
	void widen() override;
	[[nodiscard]] bool released_locked() override SMC_REQUIRES(lock_);
	// Frees the ring that this end filled if the peer has gone, unless the user is copying into
	// it.
	void look_after() override;
	void retire() override;
	void destroy() override;
	void snapshot_transport(smc_sock_info &info) override;

	[[nodiscard]] bool start_locked(const LoopbackEndpoint &peer) SMC_REQUIRES(lock_);
	// True if anything was said.
	bool speak_locked() SMC_REQUIRES(lock_);
	void hear_locked(const connection::Saying &saying) SMC_REQUIRES(lock_);
	// What is owed to a peer that has gone.
	void speak_to_nobody_locked() SMC_REQUIRES(lock_);
	// How much of the ring that this end fills may hold its bytes.
	[[nodiscard]] u32 written_bytes_locked() const SMC_REQUIRES(lock_);
	// lock_ lies there, which clang cannot know.
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

	shell::Ref<LoopbackEndpoint> transports_; // reference, until it is retired
	const shell::Ref<Pair> pair_;
	const Side side_;
	const wire::BufferSize size_;
	u64 widen_after_ms_ = 0; // guarded by the socket lock
	bool joined_ SMC_GUARDED_BY(lock_) = false;
	bool gone_ SMC_GUARDED_BY(lock_) = false; // retired, or on its way
	u64 peer_token_ SMC_GUARDED_BY(lock_) = 0;
	wire::BufferSize peer_size_ SMC_GUARDED_BY(lock_);
};

} // namespace smc::transport::loopback
