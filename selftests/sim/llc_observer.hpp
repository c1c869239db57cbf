// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "verbs.hpp"

namespace sim {

// CLC has named the queue pairs that belong together, and the server.
void observe_pair(u32 server_qpn, u32 client_qpn, u8 version, bool first_contact);
// An LLC message is posted, or reaches the software at the other end.
void observe_llc(const smc_ib_link &link, const std::string &message);
void observe_llc_received(const smc_ib_link &link, const std::string &message);
// Messages under way from and to its links are lost.
void observe_device_going();
// A DELETE_RKEY of this rkey has been answered: nobody may write there any more.
[[nodiscard]] bool is_forgotten(u32 rkey);
// A CONFIRM_RKEY of this end of a link has announced the rkey.
[[nodiscard]] bool is_told(u32 qpn, u32 rkey);
[[nodiscard]] u64 observed_llcs();

} // namespace sim
