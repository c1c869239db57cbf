// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/places.hpp"

#include <utility>

#include "kernel/abi/ring_memory.h"
#include "kernel/abi/stats.h"
#include "shell/base/alloc.hpp"

namespace smc::transport::rdma {

namespace {

constexpr group::TcpAddress kAnywhere{};

} // namespace

u64 Places::most()
{
	return smc_ring_pressure_bytes() / kGroup_bytes;
}

Places::Shares &Places::bucket_of_locked(const group::TcpAddress &from)
{
	u32 hash = 0;

	for (const u8 byte : from)
		hash = hash * 31 + byte;
	return shares_[hash % kBuckets];
}

Places::Share *Places::find_locked(net *net, const group::TcpAddress &from)
{
	Shares &bucket = bucket_of_locked(from);
	Share *share = bucket.front();

	while (share != nullptr && (share->netns != net || share->from != from))
		share = bucket.next(*share);
	return share;
}

Places::Place Places::take(net *net, const group::TcpAddress &from)
{
	auto first_from_there = shell::make<Share>(net, from);
	auto first_in_namespace = shell::make<Share>(net, kAnywhere);

	if (!first_from_there || !first_in_namespace)
		return {};
	shell::Guard guard(lock_);
	Share *own = find_locked(net, from);
	Share *beside = find_locked(net, kAnywhere);

	if (own == nullptr)
		own = first_from_there.get();
	if (beside == nullptr)
		beside = first_in_namespace.get();
	if (forming_ >= limits_.forming || beside->forming >= limits_.forming_namespace ||
	    own->forming >= limits_.forming_address) {
		smc_stat_inc(net, SMC_STAT_FORMING_LIMITED);
		return {};
	}
	if (groups_ >= most() || beside->groups >= most_in_namespace() ||
	    own->groups >= most_from_there(*own)) {
		smc_stat_inc(net, SMC_STAT_GROUP_LIMITED);
		return {};
	}
	if (own == first_from_there.get())
		bucket_of_locked(from).push_back(*first_from_there.release());
	if (beside == first_in_namespace.get())
		bucket_of_locked(kAnywhere).push_back(*first_in_namespace.release());
	for (Share *share : {own, beside}) {
		share->groups++;
		share->forming++;
	}
	groups_++;
	forming_++;
	return {*this, *own, *beside};
}

Places::Crowd Places::crowd(net *net, const group::TcpAddress &from)
{
	shell::Guard guard(lock_);
	const Share *own = find_locked(net, from);
	const Share *beside = find_locked(net, kAnywhere);

	if (beside != nullptr && (groups_ >= most() - most() / 4 ||
				  beside->groups >= most_in_namespace() - most_in_namespace() / 4))
		return Crowd::kOfNamespace;
	if (own != nullptr && own->groups >= most_from_there(*own) - limits_.address / 4)
		return Crowd::kOfAddress;
	return Crowd::kNone;
}

void Places::Place::end_forming_locked()
{
	if (!std::exchange(forming_, false))
		return;
	own_->forming--;
	beside_->forming--;
	places_->forming_--;
}

void Places::drop_if_empty_locked(Share &share)
{
	if (share.groups != 0)
		return;
	bucket_of_locked(share.from).remove(share);
	shell::Deleter()(&share);
}

Places::Place::Place(Place &&other) noexcept
	: places_(std::exchange(other.places_, nullptr)), own_(other.own_), beside_(other.beside_),
	  forming_(other.forming_), connections_(other.connections_)
{
}

void Places::Place::confirm()
{
	if (places_ == nullptr)
		return;
	shell::Guard guard(places_->lock_);
	end_forming_locked();
}

void Places::Place::join()
{
	if (places_ == nullptr)
		return;
	shell::Guard guard(places_->lock_);
	connections_++;
	own_->connections++;
}

void Places::Place::leave()
{
	if (places_ == nullptr)
		return;
	shell::Guard guard(places_->lock_);
	connections_--;
	own_->connections--;
}

void Places::Place::give_back()
{
	if (places_ == nullptr)
		return;
	shell::Guard guard(places_->lock_);
	end_forming_locked();
	places_->groups_--;
	own_->connections -= connections_;
	own_->groups--;
	beside_->groups--;
	places_->drop_if_empty_locked(*own_);
	places_->drop_if_empty_locked(*beside_);
	places_ = nullptr;
}

} // namespace smc::transport::rdma
