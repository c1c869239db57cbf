// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdio>
#include <cstdlib>

namespace doubles {

// The code under test has broken a rule of the kernel. Ends the program, since later results would
// mean nothing.
[[noreturn]] inline void broken(const char *what)
{
	std::fprintf(stderr, "broken: %s\n", what);
	std::abort();
}

} // namespace doubles
