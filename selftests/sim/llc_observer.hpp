// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "verbs.hpp"

namespace sim {

// CLC has told which queue pairs belong together, and who is the server.
void observe_pair(u32 server_qpn, u32 client_qpn, u8 version, bool first_contact);
// An LLC message is posted, or reaches the software at the other end.
void observe_llc(const smc_ib_link &link, const std::string &message);
void observe_llc_received(const smc_ib_link &link, const std::string &message);
// What is under way from and to its links is lost.
void observe_device_going();
// A DELETE_RKEY of this one has been answered: nobody may write there any more.
[[nodiscard]] bool is_forgotten(u32 rkey);
// A CONFIRM_RKEY of this end of a link has told the peer of it.
[[nodiscard]] bool is_told(u32 qpn, u32 rkey);
[[nodiscard]] u64 observed_llcs();

} // namespace sim
