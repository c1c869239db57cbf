// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <unistd.h>

namespace smc_ctl {

// A descriptor that is closed at the end.
class Fd {
public:
	explicit Fd(int fd) : fd_(fd) {}
	~Fd()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;
	[[nodiscard]] int get() const { return fd_; }

private:
	int fd_;
};

} // namespace smc_ctl
