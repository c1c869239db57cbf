// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace smc {

// A precondition of ours. On the host (tests, fuzzers, simulator) a breach traps at once; in the
// kernel it is compiled out, since taking the machine down is worse than the bug. It must never
// guard against what a peer sends: that is a decoder's job, and ends in an error value.
constexpr void expects([[maybe_unused]] bool holds)
{
#ifndef __KERNEL__
	if (!holds)
		__builtin_trap();
#endif
}

} // namespace smc
