// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/stream.hpp"
#include "kernel/abi/callbacks/socket.h"

#include <algorithm>

#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "shell/socket/locked_connection.hpp"

namespace smc::shell::stream {

using connection::Connection;
using connection::SendStatus;

namespace {

// Not inlined, so that the usual call need not save what this one uses.
[[gnu::noinline]] u32 poll_in_steps(struct sock *sk, Endpoint &endpoint, bool shut_rcv)
{
	struct Facts {
		u32 readable, ring_size;
		bool reset, peer_done, urgent, writable;
		SendStatus status;
	};
	const auto look = [sk, &endpoint] {
		return endpoint.with_lock([sk](const Connection &conn) -> Facts {
			return {conn.readable_bytes(smc_sk_urgent_inline(sk)),
				conn.rmb_size_bytes(),
				conn.reset(),
				conn.peer_finished_sending() && !conn.eof_withheld(),
				conn.urgent_for_poll(),
				conn.writable_for_poll(),
				conn.send_status()};
		});
	};
	const Facts facts = look();
	smc_poll_options options;
	u32 mask = 0;

	smc_sk_poll_options(sk, &options);
	const bool dead = facts.status == SendStatus::kAborted || facts.reset || options.died;
	const bool rcv_shut = shut_rcv || facts.peer_done || dead;
	const bool snd_shut = facts.status != SendStatus::kOpen || dead;

	// To TCP's poll(), a peer that has closed can still be sent to.
	if ((rcv_shut && facts.status == SendStatus::kShutdown) || dead)
		mask |= SMC_POLL_HUP;
	if (rcv_shut)
		mask |= SMC_POLL_IN | SMC_POLL_RDHUP;
	// At most half of the ring: a sender may never fill all of it. (TCP caps SO_RCVLOWAT in the
	// same way.)
	const size_t lowat = std::min<size_t>(options.low_water_bytes, facts.ring_size / 2);
	if (facts.readable != 0 && facts.readable >= lowat)
		mask |= SMC_POLL_IN;
	if (facts.urgent)
		mask |= SMC_POLL_PRI;
	if (snd_shut || facts.writable) {
		mask |= SMC_POLL_OUT;
	} else {
		smc_sk_set_nospace(sk);
		// Room may have come just before.
		if (look().writable)
			mask |= SMC_POLL_OUT;
	}
	if (options.error)
		mask |= SMC_POLL_ERR;
	return mask;
}

} // namespace

u32 poll(struct sock *sk, Endpoint &endpoint, bool shut_rcv)
{
	const auto ready =
		endpoint.with_lock([](const Connection &conn) { return conn.ready_quickly(); });
	smc_poll_options options;

	smc_sk_poll_options(sk, &options);
	if (!ready.usual || !ready.writable || options.died || shut_rcv ||
	    (ready.readable_bytes != 0 && ready.readable_bytes < options.low_water_bytes))
		[[unlikely]]
		return poll_in_steps(sk, endpoint, shut_rcv);
	return SMC_POLL_OUT | (ready.readable_bytes != 0 ? SMC_POLL_IN : 0) |
	       (options.error ? SMC_POLL_ERR : 0);
}

int ioctl(struct sock *sk, Endpoint &endpoint, unsigned int cmd, unsigned long arg, bool *handled)
{
	const bool urgent_inline = smc_sk_urgent_inline(sk);
	u32 value = 0;

	*handled = true;
	switch (cmd) {
	case SMC_SIOCINQ:
		value = endpoint.with_lock([urgent_inline](const Connection &conn) {
			return conn.inquired_bytes(urgent_inline);
		});
		break;
	case SMC_SIOCOUTQ:
		value = endpoint.with_lock([](Connection &conn) {
			conn.request_completion();
			return conn.queued_bytes();
		});
		if (value != 0)
			endpoint.transmit();
		break;
	case SMC_SIOCOUTQNSD:
		value = endpoint.with_lock(
			[](Connection &conn) { return conn.queued_unsent_bytes(); });
		break;
	case SMC_SIOCATMARK:
		value = endpoint.with_lock(
			[](Connection &conn) { return conn.at_mark() ? 1U : 0U; });
		break;
	default: *handled = false; return 0;
	}
	return smc_put_user_int(static_cast<int>(value), arg);
}

void option_changed(struct sock *sk, Endpoint &endpoint, smc_option option)
{
	// Under the lock, so that two calls at once leave the later one's value.
	smc_sk_lock(sk);
	const bool corked = smc_sk_corked(sk);
	const bool nodelay = smc_sk_nodelay(sk);

	if (option == SMC_OPTION_NODELAY && nodelay)
		endpoint.count(SMC_TS_NODELAY);
	if (option == SMC_OPTION_CORK && !corked)
		endpoint.count(SMC_TS_CORK);
	endpoint.set_corked(corked, nodelay);
	smc_sk_unlock(sk);
}

void push(struct sock *sk, Endpoint &endpoint)
{
	smc_sk_lock(sk);
	endpoint.set_corked(smc_sk_corked(sk), smc_sk_nodelay(sk));
	smc_sk_unlock(sk);
}

} // namespace smc::shell::stream
