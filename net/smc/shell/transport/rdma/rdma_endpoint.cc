// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/rdma_endpoint.hpp"

#include <utility>

#include "core/connection/cdc_mapping.hpp"
#include "core/wire/cdc.hpp"
#include "core/wire/compact.hpp"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/transport/endpoint_change.hpp"
#include "shell/transport/rdma/slab.hpp"

namespace smc::transport::rdma {

RdmaEndpoint::RdmaEndpoint(EndpointGroup &group, struct sock *sk)
	: LinkUser(sk), group_(shell::Ref<EndpointGroup>::share(&group))
{
}

bool RdmaEndpoint::start_towards(const wire::SmcrEndpoint &peer, const wire::RemoteToken &rtoken,
				 bool elsewhere)
{
	element_offset_ = u64{peer.rmbe_size.bytes()} * (peer.rmbe_index - 1U);

	// The first element has index 1 (RFC 7609, 4.4.2); a peer's 0 must not become -1.
	if (peer.rmbe_index == 0 || peer.token.is_zero() ||
	    peer.rmb_address + element_offset_ + peer.rmbe_size.bytes() < peer.rmb_address) {
		smc_stat_inc(netns(), SMC_STAT_VIOLATION);
		smc_stat_inc(netns(), SMC_STAT_RMBE_BAD_INDEX);
		return false;
	}
	set_rings(nullptr, rmb_buffer_->data());
	const connection::Config config{
		.sndbuf_size_bytes = group_->send_buffer_size(sk()).bytes(),
		.rmb_size_bytes = rmb_buffer_->size().bytes(),
		.peer_rmb_size_bytes = peer.rmbe_size.bytes(),
		.autocorking_size_bytes = smc_sysctl_autocorking_size(netns()),
		.local_token = token_,
		.peer_token = peer.token.value(),
		.compact = group_->speaks_compactly(),
		.growing = group_->grows_rings(),
	};
	bool begun = false;

	change([&]() -> u16 {
		lock_.assert_held();
		if (lost_early_ || !conn_.init(config))
			return 0;
		begun = true;
		point_to(*link(), rtoken);
		smc_stat_rx_buf(counters(), SMC_TECH_R, rmb_buffer_->size().bytes(), 1);
		const u16 events = begin_messages_locked(elsewhere);

		return elsewhere ? events | send_again_locked() : events;
	});
	return begun;
}

// Messages by another link wait until that of the handshake is drained.
u16 RdmaEndpoint::begin_messages_locked(bool elsewhere)
{
	const bool takes_early = early_link_ == link() || elsewhere;
	const Link *carrier = early_link_ != nullptr && takes_early ? early_link_ : link();
	u16 events;

	if (elsewhere)
		conn_.expect_repeats();
	if (!takes_early) {
		events = begin_locked({}, carrier);
	} else {
		any_link_ = elsewhere && early_link_ == nullptr;
		early_link_ = nullptr;
		events = begin_locked(std::exchange(early_, {}),
				      any_link_ ? static_cast<void *>(this) : carrier);
	}
	// Not before: what early messages announce is visible.
	hear_by(*carrier);
	return events;
}

void RdmaEndpoint::point_to(Link &to, const wire::RemoteToken &rtoken)
{
	link_.store(&to, std::memory_order_relaxed);
	peer_address_ = rtoken.address + element_offset_;
	peer_rkey_ = rtoken.rkey.value();
}

// For the one who sets carrier_ to the same.
void RdmaEndpoint::hear_by(const Link &carrier)
{
	heard_link_.store(&carrier, std::memory_order_relaxed);
	// A message may come when it has given its ring back.
	arrivals_need_sync_ = rmb_buffer_ != nullptr && rmb_buffer_->must_sync(carrier.index());
}

bool RdmaEndpoint::move_to(Link &to, const std::optional<wire::RemoteToken> &rtoken,
			   const std::optional<wire::RemoteToken> &next)
{
	bool known = false;

	change([&]() -> u16 {
		lock_.assert_held();
		const auto &current = peer_ring_begun() ? next : rtoken;

		known = current.has_value();
		if (!known)
			return 0;
		point_to(to, *current);
		if (next) {
			next_peer_ring_.address = next->address;
			next_peer_ring_.rkey = next->rkey.value();
		} else {
			conn_.drop_peer_ring();
		}
		return send_again_locked();
	});
	return known;
}

void RdmaEndpoint::hear_without(const Link &lost)
{
	change([&]() -> u16 {
		lock_.assert_held();
		// Its RMB may be given back meanwhile.
		if (detached())
			return 0;
		// Of those that wait some may have come by it, too.
		if (early_link_ == &lost)
			early_link_ = nullptr;
		if (carrier_ != &lost)
			return 0;
		const Link *next = std::exchange(early_link_, nullptr);

		any_link_ = next == nullptr;
		carrier_ = any_link_ ? static_cast<void *>(this) : next;
		arrivals_need_sync_ = false;
		conn_.expect_repeats();
		const u16 events = hear_again_locked(std::exchange(early_, {}));
		if (next != nullptr)
			hear_by(*next);
		return events;
	});
}

// What it announces is made visible at once: when it is heard its link may be lost, and the ring's
// mapping with it.
void RdmaEndpoint::keep_early_locked(const connection::CursorMessage &message, const Link &by)
{
	const bool has_cursors =
		(message.producer_flags & connection::producer_flag::kFailoverValidation) == 0;
	const Buffer *rmb = rmb_of_locked(message.ring);

	if (has_cursors && rmb != nullptr && rmb->must_sync(by.index())) {
		const ring::Cursor from = early_.newest() ? early_.newest()->producer
							  : conn_.diagnostics().rx_producer;
		const ring::Segments arrived =
			ring::between(from, message.producer, rmb->size().bytes());

		rmb->sync_for_cpu(by.index(), arrived);
	}
	early_.keep(message);
	early_link_ = &by;
}

bool RdmaEndpoint::admit_locked(const connection::CursorMessage &message, const void *carrier)
{
	const auto *link = static_cast<const Link *>(carrier);

	if (std::exchange(any_link_, false)) {
		carrier_ = carrier;
		hear_by(*link);
		return true;
	}
	keep_early_locked(message, *link);
	return false;
}

std::optional<handshake::Event> RdmaEndpoint::set_up(const handshake::Effect &wanted)
{
	if (const auto *towards = std::get_if<handshake::ConnectLink>(&wanted)) {
		const auto connected = group_->connect(*this, *towards);

		if (!connected)
			return handshake::LinkConnectFailed{connected.error()};
		if (*connected == EndpointGroup::Connected::kNow)
			return handshake::LinkConnected{};
		return {};
	}
	if (std::get_if<handshake::AnnounceRkey>(&wanted) != nullptr) {
		if (group_->announce_rkey(*this) == EndpointGroup::Announced::kNow)
			return handshake::RkeyAnnounced{};
		return {};
	}
	if (std::get_if<handshake::ConfirmLink>(&wanted) != nullptr)
		group_->confirm_link(*this);
	else
		smc_warn_bug("a handshake wants of SMC-R what it cannot do");
	return {};
}

void RdmaEndpoint::established(const handshake::Agreement &agreement)
{
	group_->complete(*this);
	if (first_contact_)
		group_->know_peer(agreement);
}

void RdmaEndpoint::unobserve(SetupObserver &observer)
{
	group_->unobserve(*this, observer);
}

void RdmaEndpoint::abandon(bool peer_may_use)
{
	group_->abandon(*this, peer_may_use);
}

void RdmaEndpoint::disown_group(const group::TcpAddress &from)
{
	group_->disown(from);
}

// It waits together with the message that it is relative to. If that is not known the connection
// cannot begin, or go on.
bool RdmaEndpoint::admit_locked(const connection::CompactMessage &message, const void *carrier)
{
	if (carrier_ != nullptr && early_link_ == carrier && early_.newest()) {
		if (const auto full = conn_.in_full(message, *early_.newest())) {
			keep_early_locked(*full, *early_link_);
			return false;
		}
	}
	if (carrier_ != nullptr) {
		refuse_message_locked();
		return false;
	}
	lost_early_ = true;
	smc_stat_inc(netns(), SMC_STAT_VIOLATION);
	smc_stat_inc(netns(), SMC_STAT_CDC_BAD_SEQUENCE);
	return false;
}

bool RdmaEndpoint::take_send_buffer()
{
	bool may_borrow;
	{
		shell::Guard guard(lock_);
		may_borrow = conn_.may_borrow();
		if (std::exchange(rested_, false))
			grown_size_.reset();
	}
	const wire::BufferSize size = grown_size_.value_or(group_->send_buffer_size(sk()));
	const EndpointGroup::Lent lent = group_->lend_send_buffer(sk(), size, may_borrow);
	Buffer *const buffer = lent.buffer;

	if (buffer != nullptr && buffer->size() < size)
		put_off_widening();
	bool taken = false;

	change([&]() -> u16 {
		lock_.assert_held();
		if (buffer == nullptr) {
			if (!may_borrow)
				conn_.await_peer_room();
			note_send_buffer_lacks_locked();
			return 0;
		}
		const bool lacked = !conn_.writable_for_poll();
		if (detached() || send_buffer_ != nullptr ||
		    !conn_.replace_send_buffer(buffer->size().bytes(), lent.reserve))
			return 0;
		send_buffer_ = buffer;
		set_send_buffer_locked(buffer->data());
		noted_bytes_ = conn_.appended_bytes();
		smc_stat_tx_buf(counters(), SMC_TECH_R, buffer->size().bytes(), 1);
		taken = true;
		// Others may sleep since they have found none: run() wakes them no more.
		return lacked ? connection::event::kWritable : u16{0};
	});
	if (buffer != nullptr && !taken)
		group_->take_back_send_buffer(*buffer, /*idle=*/true);
	return taken;
}

Buffer *RdmaEndpoint::leave_send_buffer_locked()
{
	if (send_buffer_ == nullptr)
		return nullptr;
	smc_stat_tx_buf(counters(), SMC_TECH_R, send_buffer_->size().bytes(), -1);
	drop_send_buffer_locked();
	return std::exchange(send_buffer_, nullptr);
}

// What has not been sent yet, or is read by a work request, stays.
Buffer *RdmaEndpoint::unused_send_buffer_locked(bool at_once)
{
	if (send_buffer_ == nullptr || writing_locked())
		return nullptr;
	const u64 before_bytes = std::exchange(noted_bytes_, conn_.appended_bytes());
	if (before_bytes != noted_bytes_ && !at_once)
		return nullptr;
	if (conn_.send_buffer_is_idle()) {
		rested_ = true;
		return leave_send_buffer_locked();
	}
	conn_.request_completion();
	if (!detached())
		send_locked();
	return nullptr;
}

void RdmaEndpoint::release_unused_send_buffer(bool at_once)
{
	Buffer *buffer = nullptr;

	change([&]() -> u16 {
		lock_.assert_held();
		buffer = unused_send_buffer_locked(at_once);
		return 0;
	});
	if (buffer != nullptr)
		group_->take_back_send_buffer(*buffer, /*idle=*/true);
}

void RdmaEndpoint::release_send_buffer()
{
	Buffer *buffer;
	bool idle;
	{
		shell::Guard guard(lock_);
		buffer = leave_send_buffer_locked();
		idle = conn_.transmit_idle();
	}
	if (buffer != nullptr)
		group_->take_back_send_buffer(*buffer, idle);
}

void RdmaEndpoint::send_locked()
{
	connection::TransmitPlan plan;

	if (conn_.ring_change_due()) [[unlikely]]
		change_peer_ring_locked();
	while (conn_.plan_transmit(plan)) {
		if (!post_plan(plan)) [[unlikely]] {
			note_full_queue_locked();
			return;
		}
		conn_.commit_transmit(plan);
	}
}

smc_ib_write RdmaEndpoint::write_of(const connection::WriteSegment &segment) const
{
	return {
		.local = send_buffer_->slab().region(link()->index()),
		.offset_bytes = segment.sndbuf_offset_bytes,
		.length_bytes = segment.length_bytes,
		.data = sndbuf() + segment.sndbuf_offset_bytes,
		.remote_address = peer_address_ + segment.peer_offset_bytes,
		.remote_key = peer_rkey_,
	};
}

bool RdmaEndpoint::post_quickly_locked(const connection::QuickPlan &plan)
{
	const smc_ib_write write = write_of(plan.write);
	const Link::Notice notice{
		.message = {},
		.immediate = wire::encode(wire::Compact{.slot = static_cast<u8>(conn_.peer_token()),
							.wrapped = false,
							.write_blocked = false,
							.consumed_bytes = plan.consumed_bytes})};

	if (!link()->post(*this, lock_.held(), {&write, 1}, notice, plan.signal, plan.marker))
		return false;
	smc_count_call(counters(), SMC_STAT_COMPACT_TX, SMC_STAT_RDMA_WRITES,
		       SMC_STAT_RDMA_WRITE_BYTES, plan.write.length_bytes);
	return true;
}

bool RdmaEndpoint::post_plan(const connection::TransmitPlan &plan)
{
	std::array<smc_ib_write, connection::TransmitPlan::kMaxWrites> writes;
	std::array<std::byte, wire::kCdcSize> message;
	u32 n = 0;

	for (const connection::WriteSegment &segment : plan.write_segments())
		writes[n++] = write_of(segment);
	Link::Notice notice;
	if (plan.compact) {
		notice.immediate =
			wire::encode(wire::Compact{.slot = static_cast<u8>(plan.message.token),
						   .wrapped = plan.brief.wrapped,
						   .write_blocked = plan.brief.write_blocked,
						   .consumed_bytes = plan.brief.consumed_bytes});
	} else {
		wire::Cdc cdc = connection::to_wire(plan.message);

		if (plan.message.offers_ring) [[unlikely]]
			cdc.offer = offer_on(*link());
		wire::encode(cdc, message);
		notice.message = message;
	}
	if (!link()->post(*this, lock_.held(), {writes.data(), n}, notice, plan.signal,
			  plan.marker)) {
		smc_stat_inc(netns(), SMC_STAT_SQ_FULL);
		return false;
	}
	if (n == 0) {
		smc_count(counters(), SMC_STAT_CDC_TX, 1);
		smc_count(counters(), SMC_STAT_CURSOR_UPDATES, 1);
		return true;
	}
	smc_count_call(counters(), plan.compact ? SMC_STAT_COMPACT_TX : SMC_STAT_CDC_TX,
		       SMC_STAT_RDMA_WRITES, SMC_STAT_RDMA_WRITE_BYTES, plan.write_bytes);
	if (n > 1)
		smc_stat_add(netns(), SMC_STAT_RDMA_WRITES, n - 1);
	return true;
}

void RdmaEndpoint::sync_arrived_locked(const ring::Segments &arrived)
{
	rmb_buffer_->sync_for_cpu(heard_link()->index(), arrived);
}

// ---- An end of file that is withheld ------------------------------------------------------------

std::optional<RdmaEndpoint::WithheldEnd> RdmaEndpoint::withheld_end_locked() const
{
	const auto at_bytes = conn_.withheld_at_bytes();

	if (!at_bytes || detached() || heard_link() != link())
		return std::nullopt;
	return WithheldEnd{.link = link()->index(), .at_bytes = *at_bytes};
}

std::optional<RdmaEndpoint::WithheldEnd> RdmaEndpoint::withheld_end()
{
	shell::Guard guard(lock_);

	return withheld_end_locked();
}

// Once for each time that the ring runs empty: a message without bytes changes nothing. The peer is
// asked later, behind the message that this call ends with.
void RdmaEndpoint::end_is_doubtful_locked()
{
	const u64 at_bytes = conn_.received_bytes();

	if (end_doubted_at_bytes_ == at_bytes)
		return;
	end_doubted_at_bytes_ = at_bytes;
	group_->look_at_ends();
}

void RdmaEndpoint::end_here(const WithheldEnd &end)
{
	change([&]() -> u16 {
		lock_.assert_held();
		if (withheld_end_locked() != end)
			return 0;
		conn_.give_up_withheld_data();
		smc_stat_inc(netns(), SMC_STAT_END_ANSWERED);
		return connection::event::kReadable | connection::event::kEndSeen;
	});
}

void RdmaEndpoint::retire()
{
	group_->remove(*this);
}

void RdmaEndpoint::destroy()
{
	shell::Deleter()(this);
}

void RdmaEndpoint::snapshot_transport(smc_sock_info &info)
{
	info.mode = SMC_MODE_SMCR;
	group_->snapshot(*this, info);
}

} // namespace smc::transport::rdma
