// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>

#include "core/handshake/offer.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/ids.hpp"

namespace smc::handshake {

// True if a connection can use the peer's endpoint in Accept or Confirm. The decoder has checked
// each field by itself; here the RMBE has to lie inside the address space, and the token has to
// name a connection.
[[nodiscard]] bool usable(const wire::SmcrEndpoint &endpoint);

// True if the peer names this kernel's loopback device, and a buffer there.
[[nodiscard]] bool usable(const wire::SmcdEndpoint &endpoint, const LocalOffer &offer);

[[nodiscard]] inline wire::QpMtu smaller_mtu(const wire::SmcrEndpoint &a,
					     const wire::SmcrEndpoint &b)
{
	return std::min(a.mtu, b.mtu);
}

} // namespace smc::handshake
