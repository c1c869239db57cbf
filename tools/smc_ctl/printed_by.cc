// SPDX-License-Identifier: GPL-2.0-only
#include "printed_by.hpp"

#include <cstdio>
#include <memory>

namespace smc_ctl {

std::optional<std::string> printed_by(const std::string &command)
{
	const std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(
		popen(command.c_str(), "re"), [](std::FILE *file) { return pclose(file); });
	std::string text;
	char buffer[4096];

	if (!pipe)
		return std::nullopt;
	for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe.get())) > 0;)
		text.append(buffer, n);
	return text;
}

} // namespace smc_ctl
