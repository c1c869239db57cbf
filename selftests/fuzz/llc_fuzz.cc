// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/llc.hpp"
#include "support.hpp"

using namespace smc;
using namespace smc::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const auto decoded = decode_llc(fuzz::input(data, size));
	if (!decoded)
		return 0;
	// The only message that may be longer than those that we send.
	const DeleteRkey *keys = decoded->get<DeleteRkey>();
	if (keys != nullptr && keys->rkeys.size() > DeleteRkey::kV2RkeysMax)
		return 0;
	fuzz::demand_round_trip(*decoded, decode_llc);
	return 0;
}
