// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/policy.hpp"

#include <algorithm>
#include <cerrno>

#include "core/base/elapsed.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp_path.h"
#include "shell/base/random.hpp"
#include "shell/control/device_epoch.hpp"
#include "shell/control/lazy.hpp"
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

PeerMemory::Kind kind_of(net *net, const smc_peer &peer, u64 lasts_ms)
{
	const auto look = [&](const PeerMemory &memory) {
		return memory.kind(to_peer(peer), smc_now_ms(), lasts_ms);
	};

	return Namespace::of(net).peers().look(look, PeerMemory::Kind::kUnknown);
}

// Without memory for the table nothing is remembered.
template <class Note>
void note(net *net, Note &&take_down)
{
	const u64 time_ms = lasts_ms(net);
	auto &peers = Namespace::of(net).peers();

	if (time_ms != 0 && (peers.there() || peers.make(shell::random64())))
		peers.with([&](PeerMemory &memory) { take_down(memory, time_ms); });
}

bool knows(Lazy<Elsewhere> &table, const Namespace &space, const smc_peer &peer)
{
	const auto look = [&](const Elsewhere &hosts) {
		return hosts.has(to_peer(peer), smc_now_ms(), space.epoch());
	};

	return table.look(look, false);
}

// Without memory for the table nothing is remembered.
void note_host(Lazy<Elsewhere> &table, const smc_peer &peer, u64 epoch)
{
	if (table.make(shell::random64()))
		table.with(
			[&](Elsewhere &hosts) { hosts.note(to_peer(peer), smc_now_ms(), epoch); });
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

bool is_allowed(Namespace &space, bool out, const u8 *address, u16 port)
{
	const auto look = [&](const PeerRules &rules) {
		PeerQuestion question{.out = out, .port = port};

		std::copy_n(address, question.address.size(), question.address.begin());
		return rules.allow(question);
	};

	if (space.rules().look(look, true))
		return true;
	smc_count(space.counters(), SMC_STAT_RULED_OUT, 1);
	return false;
}

} // namespace

bool server_is_allowed(Namespace &space, const smc_peer &peer)
{
	return is_allowed(space, /*out=*/true, peer.address, peer.port);
}

bool peer_is_stranger(net *net, const smc_peer &peer)
{
	const u64 time_ms = lasts_ms(net);

	return time_ms != 0 && kind_of(net, peer, time_ms) == PeerMemory::Kind::kStranger;
}

bool peer_may_be_slow(net *net, const smc_peer &peer)
{
	const u64 time_ms = lasts_ms(net);

	return time_ms == 0 || kind_of(net, peer, time_ms) == PeerMemory::Kind::kServer;
}

void note_server(net *net, const smc_peer &peer)
{
	note(net,
	     [&](PeerMemory &memory, u64) { memory.note_server(to_peer(peer), smc_now_ms()); });
}

void note_stranger(net *net, const smc_peer &peer)
{
	note(net, [&](PeerMemory &memory, u64 lasts_ms) {
		memory.note_stranger(to_peer(peer), smc_now_ms(), lasts_ms);
	});
}

bool peer_is_elsewhere(Namespace &space, const smc_peer &peer)
{
	return knows(space.elsewhere(), space, peer);
}

bool peer_may_be_near(Namespace &space, net *net, const smc_peer &peer)
{
	return smc_sysctl_smcd_loopback(net) == SMC_LOOPBACK_KERNEL &&
	       !knows(space.not_near(), space, peer) && smc_addr_is_near(net, peer.address);
}

void note_not_near(net *net, const smc_peer &peer)
{
	Namespace &space = Namespace::of(net);

	note_host(space.not_near(), peer, space.epoch());
}

void note_elsewhere(net *net, const smc_peer &peer, u64 epoch)
{
	note_host(Namespace::of(net).elsewhere(), peer, epoch);
}

} // namespace smc::control

using namespace smc::control;

// ---- For netlink and listeners ------------------------------------------------------------------

void smc_ctl_peers_flush(net *net)
{
	Namespace::of(net).peers().with([](PeerMemory &memory) { memory.clear(); });
}

// Of the initial one others inherit something.
void smc_ctl_reach_changed(net *net)
{
	if (net == smc_init_net())
		DeviceEpoch::begin();
	else
		Namespace::of(net).begin_epoch();
}

int smc_ctl_peer_next(net *net, u64 *cursor, smc_peer_info *out)
{
	const u64 time_ms = lasts_ms(net);
	const auto look = [&](const PeerMemory &memory) {
		while (*cursor < PeerMemory::kRows) {
			const PeerMemory::Row &row = memory.row((*cursor)++);
			const u64 age_ms = smc::elapsed_ms(row.since_ms, smc_now_ms());

			if (row.kind == PeerMemory::Kind::kUnknown || age_ms >= time_ms)
				continue;
			std::copy(row.peer.address.begin(), row.peer.address.end(),
				  out->peer.address);
			out->peer.scope_id = row.peer.scope_id;
			out->peer.port = row.peer.port;
			out->is_server = row.kind == PeerMemory::Kind::kServer;
			out->rest_ms = time_ms - age_ms;
			return 1;
		}
		return 0;
	};

	return Namespace::of(net).peers().look(look, 0);
}

int smc_ctl_rule_add(net *net, const smc_peer_rule *rule)
{
	auto &rules = Namespace::of(net).rules();
	const auto add = [&](PeerRules &there) { return there.add(to_rule(*rule)); };

	if (!rules.make())
		return -ENOMEM;
	switch (rules.look(add, PeerRules::Added::kFull)) {
	case PeerRules::Added::kYes: return 0;
	case PeerRules::Added::kInvalid: return -EINVAL;
	case PeerRules::Added::kFull: return -ENOSPC;
	case PeerRules::Added::kExists: return -EEXIST;
	}
	return -EINVAL;
}

int smc_ctl_rule_del(net *net, const smc_peer_rule *rule)
{
	const auto remove = [&](PeerRules &rules) { return rules.remove(to_rule(*rule)); };

	return Namespace::of(net).rules().look(remove, false) ? 0 : -ENOENT;
}

void smc_ctl_rules_flush(net *net)
{
	Namespace::of(net).rules().with([](PeerRules &rules) { rules.clear(); });
}

int smc_ctl_rule_next(net *net, u64 *cursor, smc_peer_rule *out)
{
	const auto look = [&](const PeerRules &rules) {
		if (*cursor >= rules.size())
			return 0;
		const PeerRule &rule = rules.rule((*cursor)++);

		*out = {
			.allow = rule.allow,
			.out = rule.out,
			.in = rule.in,
			.address = {},
			.prefix_bits = rule.prefix_bits,
			.port_first = rule.port_first,
			.port_last = rule.port_last,
		};
		std::copy(rule.address.begin(), rule.address.end(), out->address);
		return 1;
	};

	return Namespace::of(net).rules().look(look, 0);
}

bool smc_ctl_client_allowed(net *net, const u8 *address, u16 port)
{
	return is_allowed(Namespace::of(net), /*out=*/false, address, port);
}
