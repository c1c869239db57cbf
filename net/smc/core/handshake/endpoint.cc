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

} // namespace smc::handshake
