// SPDX-License-Identifier: GPL-2.0-only
#include "file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace smc_ctl {

namespace fs = std::filesystem;

std::string first_line(const std::string &path)
{
	std::ifstream file(path);
	std::string line;

	std::getline(file, line);
	return line;
}

void write_file(const std::string &path, const std::string &text)
{
	errno = 0;
	std::ofstream file(path);

	if (!(file << text) || !file.flush())
		throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path);
}

void replace_file(const std::string &path, const std::string &text, bool keep_old)
{
	const std::string fresh = path + ".new";

	write_file(fresh, text);
	if (keep_old && fs::exists(path))
		fs::copy_file(path, path + ".old", fs::copy_options::overwrite_existing);
	fs::rename(fresh, path);
}

} // namespace smc_ctl
