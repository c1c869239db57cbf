// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and the registration of connections' buffers. A registration is a work request: it
// waits in the send queue behind messages that the peer may take slowly, or never. So nobody waits
// for it: it is posted, its completion reports its end, and the next step follows then. A
// connection may give up meanwhile; its memory stays until the request has left the queue.
#include "shell/transport/rdma/link_group.hpp"
#include "shell/transport/rdma/rdma_endpoint.hpp"

namespace smc::transport::rdma {

// Under lock_, as all of these. The endpoint has its buffers.
void LinkGroup::register_buffers(RdmaEndpoint &endpoint, AfterRegistration next)
{
	endpoint.after_registration_.under(lock_) = next;
	registering_.push_back(endpoint);
	advance_registrations();
}

// Registrations end in the order in which they began, as in the send queue. Called for each one
// that has ended, and when there is room in the queue.
void LinkGroup::advance_registrations()
{
	RdmaEndpoint *endpoint = nullptr;
	auto last = Registration::kDone;

	while (state_ < State::kEnding && (endpoint = registering_.front()) != nullptr) {
		// An RMB that is announced while a link is added would have no rkey there.
		if (control_.machine().exchange_under_way() &&
		    endpoint->after_registration_.under(lock_) == AfterRegistration::kAnnounce)
			return;
		last = post_registrations(*endpoint);
		if (last == Registration::kNoRoom || last == Registration::kUnderWay)
			break;
		registering_.remove(*endpoint);
		buffers_registered(*endpoint, last == Registration::kDone);
	}
	while (state_ < State::kEnding && endpoint != nullptr && last != Registration::kNoRoom) {
		endpoint = registering_.next(*endpoint);
		if (endpoint != nullptr)
			last = post_registrations(*endpoint);
	}
}

// Of its RMB, on each link that carries data: the connection may move there. If another link than
// its own fails, that is the link's affair.
Registration LinkGroup::post_registrations(RdmaEndpoint &endpoint)
{
	Slab &slab = announced_rmb(endpoint, lock_)->slab();
	auto others = Registration::kDone;

	for (Link &link : links_) {
		if (&link == endpoint.link() ||
		    control_.machine().link_state(link.index()) != group::LinkState::kActive)
			continue;
		const Registration one = slab.enable(link);

		if (one == Registration::kNoRoom || one == Registration::kUnderWay)
			others = one;
	}
	const Registration own = slab.enable(*endpoint.link());

	return own != Registration::kDone ? own : others;
}

void LinkGroup::buffers_registered(RdmaEndpoint &endpoint, bool ok)
{
	const auto reason = ok ? wire::DeclineReason::kNone : wire::DeclineReason::kErrRegBuf;

	switch (endpoint.after_registration_.under(lock_)) {
	case AfterRegistration::kAnnounce: {
		Slab &slab = announced_rmb(endpoint, lock_)->slab();

		if (!ok || peer_knows(slab))
			tell_of_announcement(endpoint, ok);
		else if (slab.announcer(lock_) != 0)
			endpoint.awaits_announcement_.under(lock_) = true;
		else
			announce(endpoint);
		break;
	}
	case AfterRegistration::kConnected:
		tell(&endpoint, ok ? SetupResult::kLinkConnected : SetupResult::kLinkConnectFailed,
		     reason);
		break;
	case AfterRegistration::kActivated: activated(endpoint.link()->index(), ok); break;
	}
}

} // namespace smc::transport::rdma
