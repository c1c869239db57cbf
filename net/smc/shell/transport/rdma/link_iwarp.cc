// SPDX-License-Identifier: GPL-2.0-only
//
// Link and what iWARP needs until it is ready, and to stay so: a connection manager joins the queue
// pair to the peer's (wire/iwarp.hpp), and a message finds a receive there (group::ReceiveCredits).
#include <array>
#include <cerrno>
#include <cstring>

#include "core/wire/credit.hpp"
#include "core/wire/iwarp.hpp"
#include "kernel/abi/mem.h"
#include "shell/transport/rdma/link.hpp"

namespace smc::transport::rdma {

static_assert(sizeof(wire::IwarpHello) == SMC_IB_HELLO_BYTES &&
	      wire::kIwarpKeySize == SMC_IB_HELLO_KEY_BYTES);
// All that is under way, the group's last message, and receives that wait to be posted together.
static_assert(group::ReceiveCredits::kUnderWayMax + 1 + 8 <= SMC_IB_RECEIVES);

group::LinkIdentity Link::identity_of_iwarp(const smc_ib_link *queue_pair) const
{
	wire::Qpn qpn;

	if (queue_pair != nullptr)
		qpn = wire::iwarp_qpn(smc_ib_link_qpn(queue_pair));
	return {nonce_.is_zero() ? port_.wire_mac() : nonce_, port_.wire_gid(), qpn};
}

// The number cannot be guessed: whoever shows it has read the Accept.
int Link::expect(net *netns, smc_ib_link *queue_pair)
{
	u16 listens_at = 0;

	smc_random_bytes(nonce_.bytes.data(), nonce_.bytes.size());
	const wire::IwarpHello hello =
		wire::iwarp_hello(nonce_, wire::iwarp_qpn(smc_ib_link_qpn(queue_pair)), {});
	const int ret = smc_ib_link_expect(queue_pair, netns, port_.gid.raw, &hello, &listens_at);

	psn_ = wire::Psn{listens_at};
	return ret;
}

// A server has expected its client since it was created.
Result<void, wire::DeclineReason> Link::meet_by_manager(const group::LinkEnd &peer, Ready ready,
							const shell::Mutex &setup) const
{
	smc_ib_link *queue_pair = handle(setup);

	if (queue_pair == nullptr || left_)
		return fail(wire::DeclineReason::kErrRdyLnk);
	if (ready == Ready::kToSend)
		return {};
	const wire::IwarpHello hello = wire::iwarp_hello(
		peer.identity.mac, peer.identity.qpn, wire::iwarp_qpn(smc_ib_link_qpn(queue_pair)));

	if (smc_ib_link_connect(queue_pair, netns_, port_.gid.raw, peer.identity.gid.bytes.data(),
				static_cast<u16>(peer.psn.value()), &hello) != 0)
		return fail(wire::DeclineReason::kErrRdyLnk);
	return {};
}

void Link::leave(shell::Mutex &setup)
{
	smc_ib_link *queue_pair;
	{
		shell::Guard guard(setup);
		left_ = true;
		queue_pair = handle(setup);
	}
	if (queue_pair != nullptr)
		smc_ib_link_leave(queue_pair);
}

void Link::on_met(const void *shown, bool client)
{
	wire::IwarpHello hello;

	std::memcpy(&hello, shown, sizeof(hello));
	if (client) {
		// The first message of all is the client's.
		shell::Guard guard(lock_);
		announce_locked();
	}
	met_client_.store(hello.client_qpn.get(), std::memory_order_relaxed);
	met_.store(true, std::memory_order_release);
}

void Link::announce_locked()
{
	std::array<std::byte, wire::kCreditSize> message;
	u64 seq;

	if (dead_)
		return;
	wire::encode(wire::Credit{credits_.taken()}, message);
	const int ret = smc_ib_link_post(link_, nullptr, 0, message.data(), message.size(),
					 SMC_IB_POST_CONTROL, &seq);
	if (ret == 0)
		credits_.announced();
	else if (ret != -EAGAIN)
		dead_ = true;
}

void Link::note_taken()
{
	if (!counts_)
		return;
	shell::Guard guard(lock_);
	credits_.took();
	if (credits_.announcement_due())
		announce_locked();
}

Link::CreditHeard Link::take_credit(ByteSpan message)
{
	if (!counts_)
		return CreditHeard::kNone;
	const auto credit = wire::decode_credit(message);

	if (!credit)
		return CreditHeard::kNone;
	note_heard();
	{
		shell::Guard guard(lock_);
		if (!credits_.heard(credit->taken))
			return CreditHeard::kViolation;
	}
	serve_waiting();
	return CreditHeard::kYes;
}

} // namespace smc::transport::rdma
