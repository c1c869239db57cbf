// SPDX-License-Identifier: GPL-2.0-only
#include "setting.hpp"
#include "file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace smc_ctl::setting {
namespace {

namespace fs = std::filesystem;

const fs::path kDirectory = "/proc/sys/net/smc";
// tcp2smc and tcp2smc_mark: smc_ctl select.
constexpr const char *kSelection = "tcp2smc";

} // namespace

std::map<std::string, std::uint32_t> all()
{
	std::map<std::string, std::uint32_t> settings;
	std::error_code none;

	for (const fs::directory_entry &entry : fs::directory_iterator(kDirectory, none)) {
		const std::string name = entry.path().filename();
		std::ifstream file(entry.path());
		std::uint32_t value = 0;

		if (!name.starts_with(kSelection) && file >> value)
			settings.emplace(name, value);
	}
	return settings;
}

void set(const std::string &name, std::uint32_t value)
{
	write_file(kDirectory / name, std::to_string(value) + "\n");
}

} // namespace smc_ctl::setting
