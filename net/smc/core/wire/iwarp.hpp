// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/base/endian.hpp"
#include "core/wire/ids.hpp"

// What a client shows to its server's connection manager (iWARP, MPA request): private data that
// says which link group's queue pair it is to be joined to. Everything in it but its own QPN comes
// from the server's Accept, which names no other way to the queue pair: the MAC there, which iWARP
// has no use for, is a number drawn for this link, and the PSN is the listener's TCP port.
namespace smc::wire {

struct IwarpHello {
	std::array<std::uint8_t, 4> magic{'S', 'M', 'C', 'W'};
	std::uint8_t version = 1;
	std::uint8_t reserved[3] = {};
	Mac nonce{};
	std::uint8_t reserved2[2] = {};
	Be32 server_qpn{};
	Be32 client_qpn{};
};
static_assert(sizeof(IwarpHello) == 24 && alignof(IwarpHello) == 1);

// The number by which CLC and LLC know such a queue pair: theirs begin at 16, drivers' at 1, and
// none reaches 2^23.
[[nodiscard]] constexpr Qpn iwarp_qpn(std::uint32_t queue_pair)
{
	return Qpn{queue_pair | 0x800000};
}

// The part that the server knows beforehand.
inline constexpr std::size_t kIwarpKeySize = offsetof(IwarpHello, client_qpn);

[[nodiscard]] inline IwarpHello iwarp_hello(const Mac &nonce, Qpn server, Qpn client)
{
	return {.nonce = nonce,
		.server_qpn = Be32::from(server.value()),
		.client_qpn = Be32::from(client.value())};
}

} // namespace smc::wire
