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
namespace {

constexpr u32 kPortMax = 65535;

} // namespace

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
int Link::expect(smc_ib_link *queue_pair)
{
	u16 listens_at = 0;

	smc_random_bytes(nonce_.bytes.data(), nonce_.bytes.size());
	const wire::IwarpHello hello =
		wire::iwarp_hello(nonce_, wire::iwarp_qpn(smc_ib_link_qpn(queue_pair)), {});
	const int ret = smc_ib_link_expect(queue_pair, netns_, port_.gid.raw, &hello, &listens_at);

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
	if (peer.psn.value() > kPortMax)
		return fail(wire::DeclineReason::kErrRdyLnk);
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
		queue_pair = handle_to_leave(setup);
	}
	if (queue_pair != nullptr)
		smc_ib_link_leave(queue_pair);
}

void Link::on_met(const void *shown, bool client)
{
	wire::IwarpHello hello;

	std::memcpy(&hello, shown, sizeof(hello));
	met_client_.store(hello.client_qpn.get(), std::memory_order_relaxed);
	// The answer to a client's first message may come at once.
	met_.fetch_or(kAccepted, std::memory_order_release);
	if (client)
		greet_again();
}

// Soft-iWARP's server replies before it has the queue pair look at the connection, and sees no
// message that comes in between until the next one does.
void Link::greet_again()
{
	shell::Guard guard(lock_);

	announce_locked();
	greeted_ms_ = smc_now_ms();
	greetings_++;
}

std::optional<u64> Link::greets_again_ms()
{
	if (!counts_)
		return std::nullopt;
	shell::Guard guard(lock_);
	if (dead_ || greeted_ms_ == 0 || greetings_ == kGreetingsMax)
		return std::nullopt;
	return greeted_ms_ + kGreetAgain_ms;
}

void Link::announce_locked()
{
	std::array<std::byte, wire::kCreditSize> message;
	u64 seq;

	if (dead_)
		return;
	const wire::Credit credit = credits_.announcement();
	wire::encode(credit, message);
	const int ret = smc_ib_link_post(link_, nullptr, 0, message.data(), message.size(),
					 SMC_IB_POST_CONTROL, &seq);
	if (ret == 0 && credit.question)
		asked_ms_ = smc_now_ms();
	if (ret == 0)
		credits_.announced(credit, seq);
	else if (ret != -EAGAIN)
		dead_ = true;
}

void Link::await_arrival_locked(u64 seq)
{
	credits_.await(seq);
	announce_if_due_locked();
}

u64 Link::asked_ms()
{
	if (!may_move_)
		return 0;
	shell::Guard guard(lock_);
	return !dead_ && credits_.question_under_way() ? asked_ms_ : 0;
}

bool Link::has_arrived(u64 seq)
{
	shell::Guard guard(lock_);

	if (dead_)
		return true;
	if (!counts_)
		return seq <= sent_up_to_;
	if (seq > credits_.arrived_up_to())
		await_arrival_locked(seq);
	return seq <= credits_.arrived_up_to();
}

void Link::note_taken()
{
	if (!counts_)
		return;
	shell::Guard guard(lock_);
	greeted_ms_ = 0;
	credits_.took();
	announce_if_due_locked();
}

void Link::note_kept()
{
	if (!counts_)
		return;
	shell::Guard guard(lock_);
	greeted_ms_ = 0;
	credits_.kept();
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
		if (!credits_.heard(*credit))
			return CreditHeard::kViolation;
	}
	if ((met_.load(std::memory_order_relaxed) & kHeard) == 0)
		met_.fetch_or(kHeard, std::memory_order_release);
	tell_of_done(std::nullopt);
	serve_waiting();
	return CreditHeard::kYes;
}

} // namespace smc::transport::rdma
