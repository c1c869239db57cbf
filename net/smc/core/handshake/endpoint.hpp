// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>

#include "core/handshake/offer.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/ids.hpp"

namespace smc::handshake {

// Can a connection be made to what the peer says of itself in Accept or Confirm? The decoder has
// seen to it that each field is one that can be; here its RMBE has to lie inside of the address
// space, and its token has to name a connection.
[[nodiscard]] bool usable(const wire::SmcrEndpoint &endpoint);

// Does the peer name the loopback device of this kernel, and a buffer there?
[[nodiscard]] bool usable(const wire::SmcdEndpoint &endpoint, const LocalOffer &offer);

[[nodiscard]] inline wire::QpMtu smaller_mtu(const wire::SmcrEndpoint &a,
					     const wire::SmcrEndpoint &b)
{
	return std::min(a.mtu, b.mtu);
}

} // namespace smc::handshake
