// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace smc_ctl {

// A control group of version 2.
class Cgroup {
public:
	// @path: in the file system, or as /proc/PID/cgroup has it ("/system.slice/x.service").
	// Throws std::system_error if there is none.
	explicit Cgroup(const std::string &path);
	~Cgroup();
	Cgroup(const Cgroup &) = delete;
	Cgroup &operator=(const Cgroup &) = delete;

	[[nodiscard]] int fd() const { return fd_; }
	// What the kernel calls it.
	[[nodiscard]] std::uint64_t id() const { return id_; }

	// The directory that @path means, whether it is there or not.
	[[nodiscard]] static std::string directory(const std::string &path);
	// The directory of the one in which this process is.
	[[nodiscard]] static std::string own();
	// The directory with this ID, if it is there still.
	[[nodiscard]] static std::optional<std::string> find(std::uint64_t id);

private:
	int fd_ = -1;
	std::uint64_t id_ = 0;
};

} // namespace smc_ctl
