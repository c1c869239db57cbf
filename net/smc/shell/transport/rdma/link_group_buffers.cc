// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and the memory of its connections: a ring and a send buffer for each, and the RMBs that
// the peer has to forget before they can be freed.
#include <utility>

#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/transport/departed.hpp"
#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

namespace {

// The size to ask for: the user's, else the namespace's default.
wire::BufferSize wanted_size(u32 asked_bytes, u32 default_bytes)
{
	return wire::BufferSize::covering(asked_bytes != 0 ? asked_bytes : default_bytes);
}

} // namespace

bool LinkGroup::give_rmb(RdmaEndpoint &endpoint)
{
	struct sock *sk = endpoint.sk();
	Buffer *rmb = take_mapped(
		sk, SMC_IB_BUFFER_RMB,
		wanted_size(smc_sk_asked_rcvbuf_bytes(sk), smc_sysctl_rmem(key_.netns)));

	endpoint.set_rmb(rmb);
	return rmb != nullptr;
}

wire::BufferSize LinkGroup::send_buffer_size(struct sock *sk) const
{
	return wanted_size(smc_sk_asked_sndbuf_bytes(sk), smc_sysctl_wmem(key_.netns));
}

bool LinkGroup::lay_in_reserve()
{
	Buffer *buffer = take_mapped(nullptr, SMC_IB_BUFFER_SEND, wire::BufferSize{0});
	shell::Guard guard(lock_);

	reserve_ = buffer;
	return buffer != nullptr;
}

void LinkGroup::free_reserve()
{
	Buffer *buffer = nullptr;
	{
		shell::Guard guard(lock_);
		if (!reserve_lent_)
			buffer = reserve_;
		reserve_ = nullptr;
	}
	if (buffer == nullptr)
		return;
	if (Slab *slab = pool_.give_back(buffer, 0))
		pool_.drop(slab);
}

EndpointGroup::Lent LinkGroup::lend_send_buffer(struct sock *sk, wire::BufferSize size,
						bool may_borrow)
{
	Lent lent{.buffer = take_mapped(sk, SMC_IB_BUFFER_SEND, size)};
	shell::Guard guard(lock_);

	if (lent.buffer == nullptr && state_ < State::kEnding) {
		starving_ = true;
		if (may_borrow && reserve_ != nullptr && !std::exchange(reserve_lent_, true))
			lent = {.buffer = reserve_, .reserve = true};
	}
	if (lent.buffer != nullptr)
		lent_send_buffers_++;
	collect_soon();
	return lent;
}

// Under lock_.
void LinkGroup::collect_soon()
{
	const u64 at_ms = smc_now_ms() + (starving_ ? kCollectSoon_ms : kCollect_ms);

	if (lent_send_buffers_ == 0 || (collect_ms_ != 0 && collect_ms_ <= at_ms))
		return;
	collect_ms_ = at_ms;
	arm();
}

// A connection that does not send needs no send buffer. Each is asked twice before it loses it,
// unless another one waits.
void LinkGroup::collect_send_buffers()
{
	bool at_once;
	{
		shell::Guard guard(lock_);
		at_once = std::exchange(starving_, false);
	}
	visit_connections([at_once](RdmaEndpoint &endpoint) {
		endpoint.release_unused_send_buffer(at_once);
	});
	shell::Guard guard(lock_);
	collect_soon();
}

// There may be memory for a buffer, but none to map it for the device: bounce buffers and IOMMUs
// have their own limits. Then a smaller one is taken.
Buffer *LinkGroup::take_mapped(struct sock *sk, smc_ib_buffer_kind kind, wire::BufferSize size)
{
	for (;;) {
		Buffer *buffer = pool_.take(sk, kind, size);
		if (buffer == nullptr || buffer->size() != size)
			departed().make_room_for(size.bytes());
		if (buffer == nullptr)
			return nullptr;
		bool over;
		{
			shell::Guard guard(setup_mutex_);
			over = ending();
			if (!over && map(buffer->slab()))
				return buffer;
		}
		size = buffer->size();
		const bool alone = buffer->slab().bytes() == size.bytes();
		free_unless_kept(over ? pool_.give_back(buffer, 0) : pool_.turn_down(buffer));
		if (over || (alone && size.code() == 0))
			return nullptr;
		// The next one is alone.
		if (alone)
			size = wire::BufferSize{static_cast<u8>(size.code() - 1)};
	}
}

// On each link that there is.
bool LinkGroup::map(Slab &slab)
{
	for (Link &link : links_) {
		if (link.handle(setup_mutex_) != nullptr && !slab.map(link, setup_mutex_))
			return false;
	}
	return true;
}

// Once they are registered the lock decides who owns them.
bool LinkGroup::has_rmb(const RdmaEndpoint &endpoint, const shell::SpinLock &)
{
	return endpoint.rmb_buffer_ != nullptr;
}

void LinkGroup::take_back_buffers(RdmaEndpoint &endpoint, bool peer_is_done)
{
	if (endpoint.started() && endpoint.rmb_buffer_ != nullptr)
		smc_stat_rx_buf(counters_, SMC_TECH_R, endpoint.rmb_buffer_->size().bytes(), -1);
	Buffer *rmb;
	bool rmb_in_doubt;
	{
		// activate() checks that it is there.
		shell::Guard guard(lock_);
		rmb = std::exchange(endpoint.rmb_buffer_, nullptr);
		rmb_in_doubt = endpoint.rmb_in_doubt_.under(lock_);
	}
	endpoint.release_send_buffer();
	take_back_other_rmbs(endpoint, peer_is_done);
	if (rmb == nullptr)
		return;
	if (rmb_in_doubt) {
		pool_.set_aside(rmb);
		return;
	}
	if (!peer_is_done) {
		free_unless_kept(pool_.doubt(rmb));
		return;
	}
	free_unless_kept(pool_.give_back(rmb, endpoint.with_lock([](connection::Connection &conn) {
		return conn.high_water_bytes();
	})));
}

// Of a ring that grew: the one before, and the one on offer.
void LinkGroup::take_back_other_rmbs(RdmaEndpoint &endpoint, bool peer_is_done)
{
	take_back_left_rmb(endpoint);
	Buffer *offered = endpoint.take_offered_rmb();
	if (offered == nullptr)
		return;
	free_unless_kept(peer_is_done ? pool_.give_back(offered, offered->size().bytes())
				      : pool_.doubt(offered));
}

void LinkGroup::take_back_send_buffer(Buffer &buffer, bool idle)
{
	{
		shell::Guard guard(lock_);
		lent_send_buffers_--;
		if (&buffer == reserve_) {
			reserve_lent_ = false;
			if (idle)
				return;
			reserve_ = nullptr;
		}
	}
	// Work requests may still read it.
	Slab *slab = idle ? pool_.give_back(&buffer, 0) : pool_.doubt(&buffer);

	if (slab == nullptr)
		return;
	// Only this host's users read a send buffer: the next one overwrites what it sends.
	if (idle)
		pool_.drop(slab);
	else if (!pool_.quarantine(slab))
		end(wire::DeleteLinkReason::kProgram);
}

void LinkGroup::free_unless_kept(Slab *slab)
{
	if (slab == nullptr)
		return;
	bool told;
	{
		shell::Guard guard(lock_);
		told = slab->told(lock_);
	}
	// The peer may still write to one that is not kept.
	if (!told)
		pool_.drop(slab);
	else if (!delete_slab(slab) && !pool_.keep(slab) && !pool_.quarantine(slab))
		end(wire::DeleteLinkReason::kProgram);
}

// The peer is told first: until it has forgotten the rkey it may write there, and its table of our
// rkeys must not fill up with dead ones. False if that is not possible.
bool LinkGroup::delete_slab(Slab *slab)
{
	shell::Guard guard(lock_);
	return delete_slab_locked(slab);
}

bool LinkGroup::delete_slab_locked(Slab *slab)
{
	// One that the peer does not know goes without a message.
	const bool told = slab->told(lock_);

	if (state_ != State::kActive || !deletions_.add(slab, told))
		return false;
	if (!told) {
		free_due_ = true;
		kick();
	}
	ask_for_deletions();
	return true;
}

// Under lock_.
void LinkGroup::ask_for_deletions()
{
	std::size_t from = 0;

	while (state_ == State::kActive) {
		const auto request = deletions_.request(from);

		if (!request)
			return;
		from = request->next;
		control_.step(group::DeleteRkey{.flow = request->flow,
						.rkeys = rkeys_of(*request->slab)});
	}
}

// Under lock_. The peer, Linux for one, may have only as many places as connections. The pool keeps
// some of each size; RMBs of sizes that are not wanted now make way.
void LinkGroup::delete_surplus()
{
	while (state_ == State::kActive && !deletions_.full()) {
		Slab *slab = pool_.take_surplus(
			static_cast<u32>(group::kRtokensMax + deletions_.size()));

		if (slab == nullptr || !delete_slab_locked(slab))
			return;
	}
}

// Under lock_. The peer writes to the slab no more, so no message for its connections is on its
// way. True if the group was full before.
bool LinkGroup::free_slots_of(Slab &slab)
{
	const bool was_full = full();

	slab.take_retired_slots(lock_, [this](std::size_t slot) {
		lock_.assert_held();
		endpoints_.free_retired(slot);
	});
	return state_ == State::kActive && was_full && !full();
}

void LinkGroup::free_deleted()
{
	for (;;) {
		std::optional<Deletions::Over> over;
		bool opens = false;
		{
			shell::Guard guard(lock_);
			over = deletions_.take(/*all=*/state_ == State::kEnded);
			if (!over)
				ask_for_deletions();
			else if (over->answered)
				opens = free_slots_of(*over->slab);
		}
		if (!over)
			return;
		if (opens)
			table_.reopen(*this);
		if (over->answered)
			pool_.drop(over->slab);
		else if (!pool_.quarantine(over->slab)) // The peer may still write to it.
			end(wire::DeleteLinkReason::kProgram);
	}
}

} // namespace smc::transport::rdma
