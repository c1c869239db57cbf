// SPDX-License-Identifier: GPL-2.0-only
//
// Follows the traffic of queue pairs: CDC and LLC messages and the writes between them, with its
// own decoders, and stops the run at the first violation of the protocol.
#pragma once

#include <string>

#include "rmb_book.hpp"
#include "verbs.hpp"

namespace sim {

// An RMB element as a host has announced it in Accept or Confirm.
struct Announced {
	u32 qpn = 0;
	u32 token = 0;
	u32 rkey = 0;
	u64 address = 0; // of the RMB
	u32 element = 0; // of the RMB, from 0
	u32 size_bytes = 0;
};

// A CLC exchange has got to its Confirm: both ends are known.
// At first contact, @capabilities: what they have agreed on beyond the protocol; @max_links: of a
// group.
constexpr u16 kCompactMessages = 1;
constexpr u16 kGrowingRings = 2;
void observe_connection(u64 connection, u8 version, bool first_contact, u16 capabilities,
			u8 max_links, const Announced &server, const Announced &client);

// The Accept of a later contact names this RMB. From its Confirm on the client may write there, so
// the RMB has to stay until the server knows that it will not, or can tell it.
void observe_accept(u64 connection, const Announced &server);
// A connection has had it as its RMB.
[[nodiscard]] bool has_been_used(u32 rkey);
// The server has taken the client's answer, or its FIN, out of the TCP stream.
void observe_answer(u64 connection);
// An RMB ends while its link exists: DELETE_RKEY, or its region is destroyed.
void observe_rmb_going(u32 rkey);

// Says in the post which connection it is for.
void observe_post(const smc_ib_link &link, Post &post);
// The hardware at the other end has it, the software perhaps not yet.
void observe_arrived(const Post &post);
// Immediate data reaches the software at the other end.
void observe_written(const smc_ib_link &link, u32 immediate, const Said &said);
// The message reaches the software at the other end. @said: nothing if it is forged.
void observe_received(const smc_ib_link &link, const std::string &message, const Said &said);
void observe_link_created(const smc_ib_link &link);
void observe_link_broken(const smc_ib_link &link);
// Amounts, for the report.
[[nodiscard]] std::string observed_counts();

} // namespace sim
