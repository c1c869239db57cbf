// SPDX-License-Identifier: GPL-2.0-only
//
// Errno: why a call of the kernel failed, as it returned it: -EAGAIN, -ENOMEM and so on.
#pragma once

#include "core/base/result.hpp"

namespace smc::shell {

struct Errno {
	int code; // negative

	friend constexpr bool operator==(Errno, Errno) = default;
};

// Of a call that returns 0 or -errno.
[[nodiscard]] constexpr Result<void, Errno> result_of(int ret)
{
	if (ret != 0)
		return fail(Errno{ret});
	return {};
}

} // namespace smc::shell
