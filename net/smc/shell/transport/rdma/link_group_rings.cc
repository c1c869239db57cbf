// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and rings that grow with use. A larger RMB is taken, registered and announced as that
// of a new connection is, then it is offered to the peer in the connection's own messages. The
// worker of the group does all that needs a sleep or the group's lock.
#include <utility>

#include "kernel/abi/stats.h"
#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

void LinkGroup::look_at_rings()
{
	shell::Guard guard(lock_);

	if (state_ >= State::kEnding)
		return;
	rings_due_ = true;
	kick();
}

void LinkGroup::tend_rings()
{
	visit_connections([this](RdmaEndpoint &endpoint) { tend_ring(endpoint); });
}

void LinkGroup::tend_ring(RdmaEndpoint &endpoint)
{
	take_back_left_rmb(endpoint);
	leave_peer_ring(endpoint);
	finish_growth(endpoint);
	bool grows;
	{
		shell::Guard guard(lock_);
		grows = endpoint.growing_rmb_.under(lock_) != nullptr;
	}
	if (grows)
		return;
	if (const auto size = endpoint.next_rmb_size())
		grow_rmb(endpoint, *size);
}

// The peer has written all over it, but will not do so again.
void LinkGroup::take_back_left_rmb(RdmaEndpoint &endpoint)
{
	Buffer *left = endpoint.take_left_rmb();

	if (left == nullptr)
		return;
	{
		shell::Guard guard(lock_);
		left->slab().note_told(lock_);
	}
	free_unless_kept(pool_.give_back(left, left->size().bytes()));
}

// ---- Ours ---------------------------------------------------------------------------------------

Buffer *LinkGroup::announced_rmb(const RdmaEndpoint &endpoint, const shell::SpinLock &lock)
{
	Buffer *growing = endpoint.growing_rmb_.under(lock);

	return growing != nullptr ? growing : endpoint.rmb_buffer_;
}

void LinkGroup::grow_rmb(RdmaEndpoint &endpoint, wire::BufferSize size)
{
	Buffer *rmb = take_mapped(endpoint.sk(), SMC_IB_BUFFER_RMB, size);
	// If it ends meanwhile its RMB goes.
	const u32 now_bytes = endpoint.with_lock(
		[](const connection::Connection &conn) { return conn.rmb_size_bytes(); });
	bool begun = false;

	if (rmb != nullptr && rmb->size().bytes() > now_bytes) {
		shell::Guard guard(lock_);
		// It may have been taken out of the group meanwhile.
		begun = state_ == State::kActive && !endpoint.stranded_.under(lock_) &&
			endpoints_.find(wire::Token{endpoint.token_}) == &endpoint;
		if (begun) {
			endpoint.growing_rmb_.under(lock_) = rmb;
			endpoint.growing_rmb_known_.under(lock_).reset();
			register_buffers(endpoint, AfterRegistration::kAnnounce);
		}
	}
	if (begun)
		return;
	endpoint.put_off_rmb();
	if (rmb != nullptr)
		free_unless_kept(pool_.give_back(rmb, 0));
}

void LinkGroup::tell_of_announcement(RdmaEndpoint &endpoint, bool ok)
{
	if (endpoint.growing_rmb_.under(lock_) == nullptr) {
		tell(&endpoint, ok ? SetupResult::kRkeyAnnounced : SetupResult::kRkeyAnnounceFailed,
		     ok ? wire::DeclineReason::kNone : wire::DeclineReason::kErrRegBuf);
		return;
	}
	endpoint.growing_rmb_known_.under(lock_) = ok;
	rings_due_ = true;
	kick();
}

void LinkGroup::finish_growth(RdmaEndpoint &endpoint)
{
	Buffer *rmb;
	bool known;
	{
		shell::Guard guard(lock_);
		auto &outcome = endpoint.growing_rmb_known_.under(lock_);

		if (!outcome)
			return;
		known = *outcome;
		outcome.reset();
		rmb = std::exchange(endpoint.growing_rmb_.under(lock_), nullptr);
		if (rmb != nullptr)
			rmb->slab().note_told(lock_);
	}
	if (rmb == nullptr || (known && endpoint.offer_rmb(*rmb)))
		return;
	endpoint.put_off_rmb();
	free_unless_kept(pool_.give_back(rmb, 0));
}

// ---- The peer's ---------------------------------------------------------------------------------

void LinkGroup::take_offer(RdmaEndpoint &endpoint, const Link &link, const wire::RingOffer &offer)
{
	const wire::RemoteToken named{offer.rkey, offer.rmb_address};
	std::optional<wire::RemoteToken> rtoken;

	// Each message repeats it.
	if (!endpoint.wants_peer_ring(offer))
		return;
	{
		shell::Guard guard(lock_);
		auto &next = endpoint.next_rtoken_.under(lock_);

		if (next || state_ != State::kActive || !endpoint.rtoken_held_.under(lock_))
			return;
		const u64 end = named.address + u64{offer.size.bytes()} * offer.rmbe_index;
		if (offer.rmbe_index != 0 && end >= named.address)
			next = control_.machine().acquire_known_rtoken(link.index(), named);
		if (next)
			rtoken = control_.machine().rtoken(*next, endpoint.link()->index());
		if (!next) {
			smc_stat_inc(key_.netns, SMC_STAT_VIOLATION);
			smc_stat_inc(key_.netns, SMC_STAT_RMBE_BAD_INDEX);
			return;
		}
	}
	if (rtoken && endpoint.take_peer_ring(offer, *rtoken))
		return;
	shell::Guard guard(lock_);
	if (const auto next = std::exchange(endpoint.next_rtoken_.under(lock_), std::nullopt))
		control_.machine().release_rtoken(*next);
}

void LinkGroup::leave_peer_ring(RdmaEndpoint &endpoint)
{
	shell::Guard guard(lock_);
	auto &next = endpoint.next_rtoken_.under(lock_);

	if (!endpoint.peer_ring_begun() || !next)
		return;
	control_.machine().release_rtoken(
		std::exchange(endpoint.rtoken_.under(lock_), *std::exchange(next, std::nullopt)));
	endpoint.note_peer_ring_left();
}

bool LinkGroup::loses_ring(const RdmaEndpoint &endpoint, const group::RtokensDeleted &deleted) const
{
	const auto &next = endpoint.next_rtoken_.under(lock_);

	if (next && deleted.rtokens.contains(*next))
		return true;
	// It has left this one, and the peer knows.
	if (next && endpoint.peer_ring_begun())
		return false;
	return deleted.rtokens.contains(endpoint.rtoken_.under(lock_));
}

} // namespace smc::transport::rdma
