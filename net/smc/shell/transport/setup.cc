// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/setup.hpp"

#include <algorithm>
#include <utility>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "shell/transport/transports.hpp"

namespace smc::transport {

namespace {

static_assert(SMC_PATH_PREFIXES == handshake::kIpv4PrefixesMax);
static_assert(SMC_PATH_PREFIXES == wire::kClcIpv6PrefixesMax);

} // namespace

Setup::Setup(struct sock *sk, bool server, SetupObserver &observer)
	: seeker_{.sk = sk,
		  .netns = smc_sk_net(sk),
		  .server = server,
		  .path = &path_,
		  .observer = &observer}
{
}

handshake::LocalOffer Setup::offer()
{
	handshake::LocalOffer offer;

	smc_hostname(offer.host_name.data());
	if (!smc_tcp_path(seeker_.sk, &path_)) {
		offer.unavailable = wire::DeclineReason::kNoRoute;
		return offer;
	}
	if (path_.ipsec) {
		offer.unavailable = wire::DeclineReason::kIpsec;
		return offer;
	}
	for (Transport *transport : transports())
		transport->offer(seeker_, offer);
	add_prefixes(offer);
	return offer;
}

// A client sends the prefixes of its own netdev; a server accepts clients in any subnet of the
// device.
void Setup::add_prefixes(handshake::LocalOffer &offer) const
{
	const u8 prefixes = seeker_.server ? path_.prefix4_count : path_.prefix4_own;

	for (u8 i = 0; i < prefixes; i++) {
		wire::Ipv4Prefix prefix{};
		std::copy_n(path_.prefix4[i], 4, prefix.network.begin());
		prefix.length = path_.prefix4_len[i];
		if (!offer.ipv4_prefixes.push_back(prefix))
			break;
	}
	for (u32 i = 0; i < path_.prefix6_count; i++) {
		wire::Ipv6Prefix prefix{};
		std::copy_n(path_.prefix6[i], 16, prefix.network.begin());
		prefix.length = path_.prefix6_len[i];
		if (!offer.ipv6_prefixes.push_back(prefix))
			break;
	}
}

Setup::Answer Setup::perform(const handshake::Effect &wanted)
{
	if (const auto *release = std::get_if<handshake::ReleaseLink>(&wanted)) {
		give_back(release->peer_may_use);
		return {};
	}
	if (std::get_if<handshake::TerminateGroup>(&wanted) != nullptr) {
		if (endpoint_)
			endpoint_->disown_group(seeker_.from());
		return {};
	}
	for (Transport *transport : transports()) {
		if (transport->acquires(wanted))
			return acquire(*transport, wanted);
	}
	return endpoint_->set_up(wanted);
}

Setup::Answer Setup::acquire(Transport &from, const handshake::Effect &wanted)
{
	auto acquired = from.acquire(wanted, seeker_);

	if (!acquired)
		return handshake::LinkFailed{acquired.error()};
	if (acquired->endpoint) {
		endpoint_ = std::move(acquired->endpoint);
		return acquired->answer;
	}
	awaited_ = acquired->awaited;
	asked_ = &from;
	wanted_ = wanted;
	return {};
}

Setup::Answer Setup::ask_again()
{
	// The handshake has ended before.
	if (awaited_ == nullptr)
		return {};
	std::exchange(awaited_, nullptr)->stop_waiting(*seeker_.observer);
	const handshake::Effect wanted = wanted_;
	return acquire(*asked_, wanted);
}

void Setup::established(const handshake::Agreement &agreement)
{
	endpoint_->established(agreement);
	endpoint_->unobserve(*seeker_.observer);
}

void Setup::give_back(bool peer_may_use)
{
	if (awaited_ != nullptr)
		std::exchange(awaited_, nullptr)->stop_waiting(*seeker_.observer);
	if (endpoint_) {
		endpoint_->unobserve(*seeker_.observer);
		endpoint_->abandon(peer_may_use);
		endpoint_.reset();
	}
}

void Setup::drop()
{
	if (!endpoint_)
		return;
	endpoint_->unobserve(*seeker_.observer);
	endpoint_->abort();
	endpoint_->release_from_user();
	endpoint_.reset();
}

} // namespace smc::transport
