// SPDX-License-Identifier: GPL-2.0-only
//
// RdmaEndpoint and rings that grow with use: its own RMB, the peer's, and the send buffer, which is
// of use as far as the peer's ring can take what is in it.
#include <algorithm>
#include <utility>

#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/transport/endpoint_change.hpp"
#include "shell/transport/rdma/rdma_endpoint.hpp"
#include "shell/transport/rdma/slab.hpp"

namespace smc::transport::rdma {

namespace {

// As large as what is under way on 100 Gbit/s for 40 us.
constexpr u8 kGrownCodeMax = 5; // 512 KiB
// Each step costs an exchange with the peer.
constexpr u8 kStepCodes = 2;
// After memory for one was not to be had, or the peer did not take it.
constexpr u64 kPause_ms = 1000;

} // namespace

// ---- Our ring -----------------------------------------------------------------------------------

void RdmaEndpoint::ring_ran_empty_locked()
{
	if (rmb_wanted_ || detached() || offered_rmb_ != nullptr ||
	    rmb_buffer_->size().code() >= kGrownCodeMax || smc_now_ms() < rmb_wanted_after_ms_)
		return;
	rmb_wanted_ = true;
	group_->look_at_rings();
}

std::optional<wire::BufferSize> RdmaEndpoint::next_rmb_size()
{
	const u32 limit_bytes = smc_sk_rcvbuf_limit_bytes(sk());
	shell::Guard guard(lock_);

	if (!rmb_wanted_ || detached())
		return std::nullopt;
	auto code = static_cast<u8>(rmb_buffer_->size().code() + kStepCodes);

	code = std::min(code, kGrownCodeMax);
	while (code > rmb_buffer_->size().code() && wire::BufferSize{code}.bytes() > limit_bytes)
		code--;
	if (code <= rmb_buffer_->size().code()) {
		put_off_rmb_locked();
		return std::nullopt;
	}
	return wire::BufferSize{code};
}

bool RdmaEndpoint::offer_rmb(Buffer &rmb)
{
	bool offered = false;

	change([&]() -> u16 {
		lock_.assert_held();
		rmb_wanted_ = false;
		offered = !detached() && conn_.offer_ring(rmb.size().bytes());
		if (!offered)
			return 0;
		offered_rmb_ = &rmb;
		send_locked();
		return 0;
	});
	return offered;
}

void RdmaEndpoint::put_off_rmb()
{
	shell::Guard guard(lock_);

	put_off_rmb_locked();
}

void RdmaEndpoint::put_off_rmb_locked()
{
	rmb_wanted_ = false;
	rmb_wanted_after_ms_ = smc_now_ms() + kPause_ms;
}

wire::RingOffer RdmaEndpoint::offer_on(const Link &link) const
{
	const struct smc_ib_region_info &rmb = offered_rmb_->slab().on(link.index());

	return {.rkey = wire::Rkey{rmb.remote_key},
		.rmb_address = rmb.address,
		.rmbe_index = offered_rmb_->rmbe_index(),
		.size = offered_rmb_->size()};
}

void RdmaEndpoint::enter_ring_locked()
{
	left_rmb_ = std::exchange(rmb_buffer_, std::exchange(offered_rmb_, nullptr));
	set_rmb_memory_locked(rmb_buffer_->data());
	// What messages announce that have waited for the end of a link is visible already.
	if (heard_link() != nullptr && carrier_ == heard_link())
		hear_by(*heard_link());
	smc_stat_inc(netns(), SMC_STAT_RING_GROWN);
	smc_stat_rx_buf(counters(), SMC_TECH_R, left_rmb_->size().bytes(), -1);
	smc_stat_rx_buf(counters(), SMC_TECH_R, rmb_buffer_->size().bytes(), 1);
	group_->look_at_rings();
}

Buffer *RdmaEndpoint::take_left_rmb()
{
	shell::Guard guard(lock_);

	return std::exchange(left_rmb_, nullptr);
}

Buffer *RdmaEndpoint::take_offered_rmb()
{
	shell::Guard guard(lock_);

	return std::exchange(offered_rmb_, nullptr);
}

// ---- The peer's ring ----------------------------------------------------------------------------

bool RdmaEndpoint::wants_peer_ring(const wire::RingOffer &offer)
{
	shell::Guard guard(lock_);

	return !peer_ring_begun() && conn_.wants_peer_ring(offer.size.bytes());
}

bool RdmaEndpoint::take_peer_ring(const wire::RingOffer &offer, const wire::RemoteToken &rtoken)
{
	bool taken = false;

	change([&]() -> u16 {
		lock_.assert_held();
		taken = !detached() && !peer_ring_begun() &&
			conn_.wants_peer_ring(offer.size.bytes());
		if (!taken)
			return 0;
		next_peer_ring_ = {.address = rtoken.address,
				   .element_offset =
					   u64{offer.size.bytes()} * (offer.rmbe_index - 1U),
				   .rkey = rtoken.rkey.value()};
		conn_.take_peer_ring(offer.size.bytes());
		send_locked();
		return 0;
	});
	return taken;
}

void RdmaEndpoint::change_peer_ring_locked()
{
	conn_.change_peer_ring();
	element_offset_ = next_peer_ring_.element_offset;
	peer_address_ = next_peer_ring_.address + element_offset_;
	peer_rkey_ = next_peer_ring_.rkey;
	peer_ring_begun_.store(true, std::memory_order_release);
	group_->look_at_rings();
}

// ---- The send buffer ----------------------------------------------------------------------------

void RdmaEndpoint::put_off_widening()
{
	widen_after_ms_ = smc_now_ms() + kPause_ms;
}

// The send buffer has been full. What is in it cannot be moved, so the writer waits until all of it
// has gone: once for each size.
bool RdmaEndpoint::widen()
{
	const u32 limit_bytes = smc_sk_sndbuf_limit_bytes(sk());
	Buffer *before = nullptr;
	bool wait = false;

	change([&]() -> u16 {
		lock_.assert_held();
		auto size = wire::BufferSize::covering(std::min(
			conn_.peer_rmb_size_bytes(), wire::BufferSize{kGrownCodeMax}.bytes()));

		if (send_buffer_ == nullptr || size <= send_buffer_->size() ||
		    conn_.send_status() != connection::SendStatus::kOpen ||
		    size.bytes() > limit_bytes || smc_now_ms() < widen_after_ms_)
			return 0;
		if (!conn_.send_buffer_is_idle()) {
			wait = conn_.await_idle_send_buffer();
			send_locked();
			return 0;
		}
		grown_size_ = size;
		before = leave_send_buffer_locked();
		return 0;
	});
	if (before != nullptr)
		group_->take_back_send_buffer(*before, /*idle=*/true);
	return wait;
}

} // namespace smc::transport::rdma
