// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <functional>

struct nlmsghdr;

namespace smc_ctl {

// Sends a request of sock_diag, and calls @visit for each socket of the answer that has at least
// @least_bytes. Throws NetlinkError, of code ENOENT if nobody answers for the family.
void dump_sockets(const void *request, std::size_t request_bytes, std::size_t least_bytes,
		  const std::function<void(const nlmsghdr &)> &visit);

} // namespace smc_ctl
