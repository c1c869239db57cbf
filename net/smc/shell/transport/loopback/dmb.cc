// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/loopback/dmb.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/abi/stats.h"

namespace smc::transport::loopback {

namespace {

constexpr u32 kRun = SMC_STAT_OF(SMC_TECH_D, SMC_TS_RX_BUF);

} // namespace

Dmb *DmbPool::take_kept(struct sock *sk, wire::BufferSize size)
{
	const net *net = smc_sk_net(sk);
	const u64 group = smc_ring_group(sk);

	if (size.code() > kKeptCodeMax)
		return nullptr;
	shell::Guard guard(lock_);
	auto &kept = kept_[size.code()];
	for (Dmb *dmb = kept.front(); dmb != nullptr; dmb = kept.next(*dmb)) {
		if (dmb->netns(lock_) == net && dmb->group() == group) {
			kept.remove(*dmb);
			lent_.push_back(*dmb);
			return dmb;
		}
	}
	return nullptr;
}

Dmb *DmbPool::create(struct sock *sk, wire::BufferSize size, bool spare)
{
	net *net = smc_sk_net(sk);
	auto *data = static_cast<std::byte *>(smc_ring_alloc(sk, size.bytes(), spare));

	if (data == nullptr)
		return nullptr;
	auto dmb = shell::make<Dmb>(net, smc_ring_group(sk), data, size);
	if (!dmb) {
		smc_ring_free(data, size.bytes());
		return nullptr;
	}
	smc_stat_inc(net, SMC_STAT_BUF_NEW);
	shell::Guard guard(lock_);
	lent_.push_back(*dmb);
	return dmb.release();
}

Dmb *DmbPool::take_one(struct sock *sk, wire::BufferSize size, bool spare)
{
	net *net = smc_sk_net(sk);
	Dmb *dmb = take_kept(sk, size);

	if (dmb != nullptr) {
		smc_stat_inc(net, kRun + SMC_BUF_REUSE);
		return dmb;
	}
	dmb = create(sk, size, spare);
	// Kept buffers may have taken the memory.
	if (dmb == nullptr && !spare && free_kept(nullptr))
		dmb = create(sk, size, spare);
	if (dmb != nullptr)
		smc_stat_inc(net, kRun + SMC_BUF_ALLOC);
	return dmb;
}

Dmb *DmbPool::take(struct sock *sk, wire::BufferSize asked)
{
	for (int code = std::min(asked.code(), kCodeMax); code >= 0; code--) {
		const wire::BufferSize size{static_cast<u8>(code)};
		Dmb *dmb = take_one(sk, size, false);

		if (dmb == nullptr)
			continue;
		if (size != asked)
			smc_stat_inc(smc_sk_net(sk), kRun + SMC_BUF_DOWNGRADE);
		return dmb;
	}
	return nullptr;
}

Dmb *DmbPool::take_spare(struct sock *sk, wire::BufferSize size)
{
	return take_one(sk, size, true);
}

void DmbPool::disown_locked(Dmb &dmb)
{
	net *net = dmb.netns(lock_);

	if (net != nullptr)
		smc_stat_inc(net, SMC_STAT_BUF_FREE);
	dmb.disown(lock_);
}

void DmbPool::give_back(Dmb *dmb, u32 used_bytes)
{
	const bool keepable = dmb->size().code() <= kKeptCodeMax && !smc_rings_are_many();

	if (keepable)
		std::memset(dmb->data(), 0, std::min(used_bytes, dmb->size().bytes()));
	{
		shell::Guard guard(lock_);
		lent_.remove(*dmb);
		if (keepable && dmb->netns(lock_) != nullptr) {
			auto &kept = kept_[dmb->size().code()];
			kept.push_back(*dmb);
			if (kept.size() <= kKeepMax)
				return;
			dmb = kept.pop_front();
		}
		disown_locked(*dmb);
	}
	shell::Deleter()(dmb);
}

Dmb *DmbPool::take_unused_locked(Dmbs &kept, const net *net)
{
	Dmb *dmb = kept.front();

	while (dmb != nullptr && net != nullptr && dmb->netns(lock_) != net)
		dmb = kept.next(*dmb);
	if (dmb != nullptr) {
		kept.remove(*dmb);
		disown_locked(*dmb);
	}
	return dmb;
}

bool DmbPool::free_kept(const net *net)
{
	bool any = false;

	for (u32 code = 0; code <= kKeptCodeMax; code++) {
		for (;;) {
			Dmb *dmb;
			{
				shell::Guard guard(lock_);
				dmb = take_unused_locked(kept_[code], net);
			}
			if (dmb == nullptr)
				break;
			shell::Deleter()(dmb);
			any = true;
		}
	}
	return any;
}

void DmbPool::drop(const net *net)
{
	{
		// First: a buffer that comes back while others are freed below must not be kept.
		shell::Guard guard(lock_);
		for (Dmb *dmb = lent_.front(); dmb != nullptr; dmb = lent_.next(*dmb)) {
			if (dmb->netns(lock_) == net)
				disown_locked(*dmb);
		}
	}
	(void)free_kept(net);
}

} // namespace smc::transport::loopback
