// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "core/wire/ids.hpp"

namespace smc::group {

// One end of a link, as Accept or Confirm or ADD_LINK describe it, and CONFIRM_LINK once more.
struct LinkIdentity {
	wire::Mac mac;
	wire::Gid gid;
	wire::Qpn qpn;
};

// The same with what a queue pair needs to get ready.
struct LinkEnd {
	LinkIdentity identity;
	wire::Psn psn;
	wire::QpMtu mtu; // of its port, or the smaller one of both ends
};

} // namespace smc::group
