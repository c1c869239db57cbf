// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdio>
#include <cstdlib>

namespace doubles {

// The code under test has called the kernel in a way that it must not. Ends the program: what comes
// after that says nothing.
[[noreturn]] inline void broken(const char *what)
{
	std::fprintf(stderr, "broken: %s\n", what);
	std::abort();
}

} // namespace doubles
