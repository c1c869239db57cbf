// SPDX-License-Identifier: GPL-2.0-only
#include "json.hpp"

#include <cstdio>

namespace smc_ctl {

void print(const Json &json)
{
	// Names may be in any encoding; nobody is helped by an exception.
	const auto replace = nlohmann::detail::error_handler_t::replace;

	std::printf("%s\n", json.dump(2, ' ', false, replace).c_str());
}

} // namespace smc_ctl
