// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/loopback/loopback_endpoint.hpp"

#include <algorithm>

#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/control/namespace.hpp"

namespace smc::transport::loopback {

using control::Namespace;
namespace event = connection::event;

LoopbackEndpoint::LoopbackEndpoint(shell::Ref<Pair> pair, Side side, Dmb &dmb, struct sock *sk,
				   u64 token)
	: Endpoint(SMC_TECH_D, sk, &pair->lock_), WaitingEnd(token),
	  transports_(shell::Ref<LoopbackEndpoint>::share(this)), pair_(std::move(pair)),
	  side_(side), size_(dmb.size())
{
	// Both together: the other end may be retired at any moment, and the last one takes the
	// DMBs.
	shell::Guard guard(lock_);
	pair_->dmbs_[side] = &dmb;
	pair_->ends_++;
}

wire::SmcdEndpoint LoopbackEndpoint::announced() const
{
	const Device &device = pair_->device_;

	return {.gid = device.gid(),
		.dmb_token = wire::DmbToken{token_},
		.dmbe_index = 0,
		.dmbe_size = size_,
		.link_id = device.group_id(),
		.chid = wire::kLoopbackChid,
		.gid_extension = device.gid_extension()};
}

bool LoopbackEndpoint::joined_to(const wire::SmcdEndpoint &peer)
{
	shell::Guard guard(lock_);
	return joined_ && peer.dmb_token.value() == peer_token_ && peer.dmbe_size == peer_size_;
}

bool LoopbackEndpoint::start_locked(const LoopbackEndpoint &peer)
{
	const connection::Config config{
		.sndbuf_size_bytes = peer.size_.bytes(),
		.rmb_size_bytes = size_.bytes(),
		.peer_rmb_size_bytes = peer.size_.bytes(),
		.local_token = static_cast<u32>(token_),
		.peer_token = static_cast<u32>(peer.token_),
		.in_place = true,
	};

	holds_lock_of(*pair_);
	set_rings(pair_->dmbs_[peer.side_]->data(), pair_->dmbs_[side_]->data());
	peer_token_ = peer.token_;
	peer_size_ = peer.size_;
	joined_ = conn_.init(config);
	if (joined_)
		Namespace::of(netns()).count_smcd(1, size_.bytes());
	return joined_;
}

bool LoopbackEndpoint::join(LoopbackEndpoint &server, LoopbackEndpoint &client)
{
	const bool by_reset =
		smc_sysctl_end_by_reset(server.netns()) && smc_sysctl_end_by_reset(client.netns());
	{
		shell::Guard guard(server.lock_);
		server.shares_lock_with(client);
		if (server.gone_ || server.joined_ || !server.start_locked(client) ||
		    !client.start_locked(server))
			return false;
		server.ends_by_reset_ = by_reset;
		client.ends_by_reset_ = by_reset;
		server.neighbour_ = &client;
		client.neighbour_ = &server;
	}
	for (const LoopbackEndpoint *end : {&server, &client})
		smc_stat_rx_buf(end->counters(), SMC_TECH_D, end->size_.bytes(), 1);
	return true;
}

void LoopbackEndpoint::hear_locked(const connection::Saying &saying)
{
	note_heard_locked(take_in_locked(conn_.hear(saying)));
	if (conn_.finished())
		note_heard_locked(event::kReleasable);
}

bool LoopbackEndpoint::speak_locked()
{
	bool spoken = false;

	while (const auto saying = conn_.speak()) {
		shares_lock_with(*peer_locked());
		peer_locked()->hear_locked(*saying);
		spoken = true;
	}
	return spoken;
}

// The peer has gone: its messages are dropped, and count as delivered.
void LoopbackEndpoint::speak_to_nobody_locked()
{
	while (conn_.speak()) {}
	if (peer_dmb_locked() != nullptr && !writing_locked())
		look_again_locked();
}

void LoopbackEndpoint::send_locked()
{
	LoopbackEndpoint *speaker = this;

	if (neighbour_ == nullptr && joined_)
		return speak_to_nobody_locked();
	shares_lock_with(*speaker);
	while (speaker->neighbour_ != nullptr && speaker->speak_locked())
		speaker = speaker->peer_locked();
}

// The peer has received everything, so its close() is not awaited.
bool LoopbackEndpoint::released_locked()
{
	if (neighbour_ != nullptr && conn_.all_said())
		conn_.leave();
	return false;
}

bool LoopbackEndpoint::widen()
{
	Pair &pair = *pair_;
	DmbPool &pool = pair.device_.pool();
	shell::Ref<LoopbackEndpoint> reader;
	wire::BufferSize size;
	{
		shell::Guard guard(lock_);
		if (neighbour_ == nullptr)
			return false;
		shares_lock_with(*peer_locked());
		if (!connection::Connection::ring_is_replaceable(conn_, peer_locked()->conn_))
			return false;
		holds_lock_of(pair);
		size = pair.dmbs_[1 - side_]->size();
		// A streaming sender comes here each time its ring is full, long after the ring has
		// grown.
		if (size.code() >= DmbPool::kGrownCodeMax)
			return false;
		reader = shell::Ref<LoopbackEndpoint>::share(peer_locked());
	}
	const wire::BufferSize larger{static_cast<u8>(size.code() + 1)};
	if (smc_sk_asked_sndbuf_bytes(sk()) != 0 ||
	    larger.bytes() > smc_sk_rcvbuf_limit_bytes(reader->sk()))
		return false;
	const u64 now_ms = smc_now_ms();
	if (now_ms < widen_after_ms_)
		return false;
	Dmb *dmb = pool.take_spare(reader->sk(), larger);
	if (dmb == nullptr) {
		widen_after_ms_ = now_ms + kWidenPause_ms;
		return false;
	}
	bool replaced;
	{
		shell::Guard guard(lock_);
		shares_lock_with(*reader);
		holds_lock_of(pair);
		replaced =
			neighbour_ == reader.get() &&
			connection::Connection::replace_ring(conn_, reader->conn_, larger.bytes());
		if (replaced) {
			change_ring_locked(*this, *reader, dmb->data());
			std::swap(dmb, pair.dmbs_[reader->side_]);
			Namespace::of(reader->netns())
				.count_smcd(0, s64{larger.bytes()} - size.bytes());
		}
	}
	if (replaced) {
		smc_stat_inc(netns(), SMC_STAT_RING_GROWN);
		smc_stat_rx_buf(reader->counters(), SMC_TECH_D, size.bytes(), -1);
		smc_stat_rx_buf(reader->counters(), SMC_TECH_D, larger.bytes(), 1);
	}
	pool.give_back(dmb, replaced ? size.bytes() : 0);
	return false;
}

std::optional<handshake::Event> LoopbackEndpoint::set_up(const handshake::Effect &wanted)
{
	const auto *towards = std::get_if<handshake::ConnectDmb>(&wanted);

	if (towards == nullptr) {
		smc_warn_bug("a handshake wants of SMC-D what it cannot do");
		return {};
	}
	if (joined_to(towards->peer))
		return handshake::LinkConnected{};
	return handshake::LinkConnectFailed{wire::DeclineReason::kCnfErr};
}

void LoopbackEndpoint::abandon(bool /*peer_may_use*/)
{
	pair_->device_.forget(*this);
	bool joined;
	{
		shell::Guard guard(lock_);
		joined = joined_;
		gone_ = gone_ || !joined;
	}
	if (!joined) {
		retire();
		return;
	}
	abort();
	release_from_user();
}

u32 LoopbackEndpoint::written_bytes_locked() const
{
	const u32 size_bytes = peer_dmb_locked()->size().bytes();

	return stray_bytes() ? size_bytes
			     : static_cast<u32>(
				       std::min<u64>(conn_.diagnostics().sent_bytes, size_bytes));
}

void LoopbackEndpoint::look_after()
{
	Dmb *dmb;
	u32 used_bytes;
	{
		shell::Guard guard(lock_);
		if (neighbour_ != nullptr || !joined_ || writing_locked() ||
		    peer_dmb_locked() == nullptr)
			return;
		used_bytes = written_bytes_locked();
		dmb = std::exchange(peer_dmb_locked(), nullptr);
		drop_ring_locked(*this);
	}
	pair_->device_.pool().give_back(dmb, used_bytes);
}

void LoopbackEndpoint::retire()
{
	Pair &pair = *pair_;
	std::array<Dmb *, 2> dmbs{};
	std::array<u32, 2> used_bytes{};
	u32 rmb_bytes = 0;

	if (detached())
		return;
	const auto last = std::move(transports_);
	detach();
	{
		shell::Guard guard(lock_);
		holds_lock_of(pair);
		gone_ = true;
		if (joined_) {
			rmb_bytes = own_dmb_locked()->size().bytes();
			if (peer_dmb_locked() != nullptr)
				pair.used_bytes_[1 - side_] = written_bytes_locked();
			Namespace::of(netns()).count_smcd(-1, -s64{rmb_bytes});
		}
		if (LoopbackEndpoint *peer = peer_locked(); peer != nullptr) {
			shares_lock_with(*peer);
			pair.used_bytes_[side_] = peer->written_bytes_locked();
			peer->neighbour_ = nullptr;
			if (!peer->writing_locked()) {
				dmbs[side_] = std::exchange(own_dmb_locked(), nullptr);
				drop_ring_locked(*peer);
			}
		}
		neighbour_ = nullptr;
		if (--pair.ends_ == 0) {
			for (u32 side = 0; side < dmbs.size(); side++) {
				if (dmbs[side] == nullptr)
					dmbs[side] = std::exchange(pair.dmbs_[side], nullptr);
			}
		}
		used_bytes = pair.used_bytes_;
	}
	for (u32 side = 0; side < dmbs.size(); side++) {
		if (dmbs[side] != nullptr)
			pair.device_.pool().give_back(dmbs[side], used_bytes[side]);
	}
	if (rmb_bytes != 0)
		smc_stat_rx_buf(counters(), SMC_TECH_D, rmb_bytes, -1);
}

void LoopbackEndpoint::destroy()
{
	shell::Deleter()(this);
}

void LoopbackEndpoint::snapshot_transport(smc_sock_info &info)
{
	const Device &device = pair_->device_;

	info.mode = SMC_MODE_SMCD;
	info.is_server = side_ == kServer;
	info.has_dmb = true;
	info.dmb.link_id = device.group_id();
	info.dmb.gid = device.gid().value();
	info.dmb.gid_extension = device.gid_extension().value();
	info.dmb.token = token_;
	shell::Guard guard(lock_);
	info.dmb.peer_token = peer_token_;
}

} // namespace smc::transport::loopback
