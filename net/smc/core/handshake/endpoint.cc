// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/endpoint.hpp"

#include <cstdint>

namespace smc::handshake {

bool usable(const wire::SmcrEndpoint &endpoint)
{
	// At most 255 * 512 MiB: no overflow in the product.
	const std::uint64_t size = std::uint64_t{endpoint.rmbe_size.bytes()} * endpoint.rmbe_index;

	return !endpoint.token.is_zero() && endpoint.rmb_address <= UINT64_MAX - size;
}

bool usable(const wire::SmcdEndpoint &endpoint, const LocalOffer &offer)
{
	return endpoint.chid == wire::kLoopbackChid && endpoint.gid == offer.smcd_gid &&
	       endpoint.gid_extension == offer.smcd_gid_extension && endpoint.dmbe_index == 0 &&
	       !endpoint.dmb_token.is_zero();
}

} // namespace smc::handshake
