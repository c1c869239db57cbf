// SPDX-License-Identifier: GPL-2.0-only
#include "cgroup.hpp"

#include <mntent.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

namespace smc_ctl {
namespace {

namespace fs = std::filesystem;

// Where version 2 is mounted.
std::string root()
{
	const std::unique_ptr<std::FILE, int (*)(std::FILE *)> mounts(
		setmntent("/proc/self/mounts", "re"), endmntent);

	while (mounts != nullptr) {
		const mntent *mount = getmntent(mounts.get());

		if (mount == nullptr)
			break;
		if (std::string(mount->mnt_type) == "cgroup2")
			return mount->mnt_dir;
	}
	throw std::system_error(ENOENT, std::generic_category(), "cgroups of version 2");
}

} // namespace

std::string Cgroup::directory(const std::string &path)
{
	const std::string top = root();
	const bool is_file = path == top || path.starts_with(top + "/");
	std::string directory = fs::path(is_file ? path : top + "/" + path).lexically_normal();

	if (directory.ends_with('/'))
		directory.pop_back();
	return directory;
}

Cgroup::Cgroup(const std::string &path)
{
	struct stat found;

	fd_ = open(directory(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd_ < 0 || fstat(fd_, &found) != 0)
		throw std::system_error(errno, std::generic_category(), "cgroup " + path);
	id_ = found.st_ino;
}

Cgroup::~Cgroup()
{
	close(fd_);
}

std::string Cgroup::own()
{
	std::ifstream file("/proc/self/cgroup");
	std::string line;

	while (std::getline(file, line)) {
		if (line.starts_with("0::"))
			return root() + line.substr(3);
	}
	throw std::system_error(ENOENT, std::generic_category(), "own cgroup of version 2");
}

std::optional<std::string> Cgroup::find(std::uint64_t id)
{
	const auto is_it = [id](const fs::path &path) {
		struct stat found;

		return stat(path.c_str(), &found) == 0 && found.st_ino == id;
	};
	const std::string top = root();

	if (is_it(top))
		return top;
	// They come and go meanwhile.
	std::error_code gone;
	for (auto entry = fs::recursive_directory_iterator(
		     top, fs::directory_options::skip_permission_denied, gone);
	     entry != fs::recursive_directory_iterator(); entry.increment(gone)) {
		if (entry->is_directory(gone) && is_it(entry->path()))
			return entry->path().string();
	}
	return std::nullopt;
}

} // namespace smc_ctl
