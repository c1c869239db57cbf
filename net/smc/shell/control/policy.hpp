// SPDX-License-Identifier: GPL-2.0-only
//
// Which connections of a network namespace show the SMC option: its administrator's rules, and what
// is remembered of peers (net.smc.plain_peer_time). While that time is 0 nothing is remembered, and
// every peer is treated as a server that may be slow. For some seconds it is remembered in any case
// that no device leads to a peer.
#pragma once

#include "kernel/abi/tcp_peer.h"

namespace smc::control {

class Namespace;

// A connection from @space to @peer may be offered SMC; counts a refusal. Any context.
[[nodiscard]] bool server_is_allowed(Namespace &space, const smc_peer &peer);
// It has shown the option, and was plain TCP. Any context.
[[nodiscard]] bool peer_is_stranger(net *net, const smc_peer &peer);
// It has answered by CLC before. Any context.
[[nodiscard]] bool peer_may_be_slow(net *net, const smc_peer &peer);
// It has just answered by CLC, or failed to. Process.
void note_server(net *net, const smc_peer &peer);
void note_stranger(net *net, const smc_peer &peer);

// No device leads to it, as a connection has just found. Any context.
[[nodiscard]] bool peer_is_elsewhere(Namespace &space, const smc_peer &peer);
// @epoch: Namespace::epoch(), as of before that was looked for. Process.
void note_elsewhere(net *net, const smc_peer &peer, u64 epoch);

// Another namespace of this kernel has its address and listens, and both meet others; but not if a
// connection has just found somebody else there. Any context.
[[nodiscard]] bool peer_may_be_near(Namespace &space, net *net, const smc_peer &peer);
// It has: who answered is not in this kernel. Process.
void note_not_near(net *net, const smc_peer &peer);

} // namespace smc::control
