// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/cdc.hpp"
#include "core/wire/tcp_option.hpp"
#include "support.hpp"

using namespace smc;
using namespace smc::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const ByteSpan bytes = fuzz::input(data, size);
	if (const auto decoded = decode_cdc(bytes)) {
		std::array<std::byte, kCdcSize> space;
		encode(*decoded, space);
		const auto again = decode_cdc(space);
		fuzz::demand(again.has_value() && *again == *decoded);
	}
	if (const auto at = find_tcp_option(bytes))
		fuzz::demand(*at + kTcpOptionSize <= size);
	return 0;
}
