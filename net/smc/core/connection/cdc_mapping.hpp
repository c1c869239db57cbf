// SPDX-License-Identifier: GPL-2.0-only
//
// The edge between the connection's CursorMessage and the wire's CDC types. Flags that the protocol
// does not know are dropped on the way in.
#pragma once

#include "core/connection/message.hpp"
#include "core/ring/cursor.hpp"
#include "core/wire/cdc.hpp"
#include "core/wire/ids.hpp"

namespace smc::connection {

[[nodiscard]] constexpr ring::Cursor from_wire(const wire::CdcCursor &cursor)
{
	return {cursor.wrap, cursor.count};
}

[[nodiscard]] constexpr wire::CdcCursor to_wire(const ring::Cursor &cursor)
{
	return {cursor.wrap, cursor.count};
}

// SMC-R.
[[nodiscard]] constexpr CursorMessage from_wire(const wire::Cdc &cdc)
{
	return {.sequence = cdc.sequence,
		.token = cdc.token.value(),
		.producer = from_wire(cdc.producer),
		.consumer = from_wire(cdc.consumer),
		.producer_flags = cdc.producer_flags.to_byte(),
		.state_flags = cdc.state_flags.to_byte(),
		.ring = cdc.ring,
		.offers_ring = cdc.offer.has_value()};
}

[[nodiscard]] constexpr wire::Cdc to_wire(const CursorMessage &message)
{
	return {.sequence = message.sequence,
		.token = wire::Token{message.token},
		.producer = to_wire(message.producer),
		.consumer = to_wire(message.consumer),
		.producer_flags = wire::ProducerFlags::from_byte(message.producer_flags),
		.state_flags = wire::StateFlags::from_byte(message.state_flags),
		.ring = message.ring,
		.offer = {}};
}

} // namespace smc::connection
