// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/policy.hpp"

#include <algorithm>
#include <cerrno>

#include "core/base/elapsed.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "shell/control/namespace.hpp"

namespace smc::control {
namespace {

constexpr u64 kMsPerSecond = 1000;

u64 lasts_ms(net *net)
{
	return u64{smc_sysctl_plain_peer_time_s(net)} * kMsPerSecond;
}

Peer to_peer(const smc_peer &peer)
{
	Peer result{.scope_id = peer.scope_id, .port = peer.port};

	std::copy(std::begin(peer.address), std::end(peer.address), result.address.begin());
	return result;
}

void note(net *net, const smc_peer &peer, PeerMemory::Kind kind)
{
	if (const u64 time_ms = lasts_ms(net))
		Namespace::of(net).peers().note(to_peer(peer), kind, time_ms);
}

PeerRule to_rule(const smc_peer_rule &rule)
{
	PeerRule result{
		.allow = rule.allow,
		.out = rule.out,
		.in = rule.in,
		.prefix_bits = rule.prefix_bits,
		.port_first = rule.port_first,
		.port_last = rule.port_last,
	};

	std::copy(std::begin(rule.address), std::end(rule.address), result.address.begin());
	return result;
}

bool is_allowed(net *net, bool out, const u8 *address, u16 port)
{
	PeerQuestion question{.out = out, .port = port};

	std::copy_n(address, question.address.size(), question.address.begin());
	if (Namespace::of(net).rules().allow(question))
		return true;
	smc_stat_inc(net, SMC_STAT_RULED_OUT);
	return false;
}

} // namespace

bool server_is_allowed(net *net, const smc_peer &peer)
{
	return is_allowed(net, /*out=*/true, peer.address, peer.port);
}

bool peer_is_stranger(net *net, const smc_peer &peer)
{
	const u64 time_ms = lasts_ms(net);

	return time_ms != 0 && Namespace::of(net).peers().kind(to_peer(peer), time_ms) ==
				       PeerMemory::Kind::kStranger;
}

bool peer_may_be_slow(net *net, const smc_peer &peer)
{
	const u64 time_ms = lasts_ms(net);

	return time_ms == 0 ||
	       Namespace::of(net).peers().kind(to_peer(peer), time_ms) == PeerMemory::Kind::kServer;
}

void note_server(net *net, const smc_peer &peer)
{
	note(net, peer, PeerMemory::Kind::kServer);
}

void note_stranger(net *net, const smc_peer &peer)
{
	note(net, peer, PeerMemory::Kind::kStranger);
}

} // namespace smc::control

using namespace smc::control;

// ---- For netlink and listeners ------------------------------------------------------------------

void smc_ctl_peers_flush(net *net)
{
	Namespace::of(net).peers().forget_all();
}

int smc_ctl_peer_next(net *net, u64 *cursor, smc_peer_info *out)
{
	const u64 time_ms = lasts_ms(net);

	while (const auto row = Namespace::of(net).peers().next(*cursor)) {
		const u64 age_ms = smc::elapsed_ms(row->since_ms, smc_now_ms());

		if (age_ms >= time_ms)
			continue;
		std::copy(row->peer.address.begin(), row->peer.address.end(), out->peer.address);
		out->peer.scope_id = row->peer.scope_id;
		out->peer.port = row->peer.port;
		out->is_server = row->kind == PeerMemory::Kind::kServer;
		out->rest_ms = time_ms - age_ms;
		return 1;
	}
	return 0;
}

int smc_ctl_rule_add(net *net, const smc_peer_rule *rule)
{
	return Namespace::of(net).rules().add(to_rule(*rule));
}

int smc_ctl_rule_del(net *net, const smc_peer_rule *rule)
{
	return Namespace::of(net).rules().remove(to_rule(*rule)) ? 0 : -ENOENT;
}

void smc_ctl_rules_flush(net *net)
{
	Namespace::of(net).rules().remove_all();
}

int smc_ctl_rule_next(net *net, u64 *cursor, smc_peer_rule *out)
{
	const auto rule = Namespace::of(net).rules().rule(*cursor);

	if (!rule)
		return 0;
	++*cursor;
	*out = {
		.allow = rule->allow,
		.out = rule->out,
		.in = rule->in,
		.address = {},
		.prefix_bits = rule->prefix_bits,
		.port_first = rule->port_first,
		.port_last = rule->port_last,
	};
	std::copy(rule->address.begin(), rule->address.end(), out->address);
	return 1;
}

bool smc_ctl_client_allowed(net *net, const u8 *address, u16 port)
{
	return is_allowed(net, /*out=*/false, address, port);
}
