// SPDX-License-Identifier: GPL-2.0-only
#include "file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace smc_ctl {

void write_file(const std::string &path, const std::string &text)
{
	errno = 0;
	std::ofstream file(path);

	if (!(file << text) || !file.flush())
		throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path);
}

void replace_file_at_once(const std::string &path, const std::string &text)
{
	write_file(path + ".new", text);
	std::filesystem::rename(path + ".new", path);
}

} // namespace smc_ctl
