// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/endpoint.hpp"

#include <cstdint>

namespace smc::handshake {

bool usable(const wire::SmcrEndpoint &endpoint)
{
	// At most 255 * 512 MiB: no overflow in the product.
	const std::uint64_t end = std::uint64_t{endpoint.rmbe_size.bytes()} * endpoint.rmbe_index;

	return endpoint.rmbe_index != 0 && endpoint.mtu.is_known() && !endpoint.qpn.is_zero() &&
	       !endpoint.token.is_zero() && endpoint.rmb_address <= UINT64_MAX - end;
}

} // namespace smc::handshake
