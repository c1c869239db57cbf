// SPDX-License-Identifier: GPL-2.0-only
// The one function of the C++ runtime that compiled code refers to. There is no other: no operator
// new or delete, no guards, no unwinding (scripts/check/check-symbols).
#include "kernel/abi/mem.h"

// The compiler gave it its name.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" void __cxa_pure_virtual();

// Reached through the table of an object whose derived part is not there yet or is gone: a bug of
// ours. The call returns, the machine lives on.
void __cxa_pure_virtual()
{
	smc_warn_bug("pure virtual function called");
}
