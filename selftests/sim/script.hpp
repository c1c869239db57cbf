// SPDX-License-Identifier: GPL-2.0-only
//
// Scripts of cases: both ends of a connection in the hands of one process, for faults that one sees
// only while everybody stands still.
#pragma once

#include "kernel/abi/types.h"

struct net;

namespace sim {

// So narrow a send queue that a handful of connections fills it.
inline constexpr u32 kNarrowSendQueue = 24;

// Each in a process, without faults, where nobody is interrupted. From host @from to @to over a
// narrow send queue.
void play_crowd(net *from, net *to);
void play_broken_contract(net *from, net *to);
void play_cork(net *from, net *to);
void play_last_word(net *from, net *to);
void play_closed_and_left(net *from, net *to);
void play_orphans(net *from, net *to);
void play_sips(net *from, net *to);
void play_slow_reader(net *from, net *to);
// Within a host whose loopback device is on.
void play_full_ring(net *host);
void play_half_ring(net *host);

} // namespace sim
