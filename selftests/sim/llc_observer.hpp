// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "rmb_book.hpp"
#include "verbs.hpp"

namespace sim {

// CLC has named the queue pairs that belong together, and the server. At first contact they are a
// group's first link.
void observe_pair(u32 server_qpn, u32 client_qpn, u8 version, bool first_contact, u8 max_links);
// An LLC message is posted, or reaches the software at the other end.
void observe_llc(const smc_ib_link &link, const std::string &message);
void observe_llc_received(const smc_ib_link &link, const std::string &message);
// Messages under way from and to its links are lost.
void observe_device_going();
// One end of a group, of which the queue pair is a link. 0: of none.
[[nodiscard]] u64 side_of(u32 qpn);
// This end has taken part in the link's CONFIRM_LINK; or it has begun.
[[nodiscard]] bool is_confirmed(u32 qpn);
[[nodiscard]] bool is_being_confirmed(u32 qpn);
// Another link of that end of its group may carry on.
[[nodiscard]] bool has_live_sibling(u32 qpn);
// A CONFIRM_RKEY of this end of a group has announced the rkey.
[[nodiscard]] bool is_told(u32 qpn, u32 rkey);
[[nodiscard]] u64 observed_llcs();
// Links beside the groups' first ones.
[[nodiscard]] u64 observed_links();

} // namespace sim
