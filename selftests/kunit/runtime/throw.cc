// SPDX-License-Identifier: GPL-2.0-only
//
// Called by the library instead of throwing: ends the case.
#include <cstdlib>

#include "smc_kunit/bridge.h"

namespace std {

void __throw_bad_alloc()
{
	smc_kunit_abort("std::bad_alloc");
}

void __throw_bad_array_new_length()
{
	smc_kunit_abort("std::bad_array_new_length");
}

void __throw_bad_function_call()
{
	smc_kunit_abort("std::bad_function_call");
}

void __throw_length_error(const char *what)
{
	smc_kunit_abort(what);
}

void __throw_logic_error(const char *what)
{
	smc_kunit_abort(what);
}

void __throw_out_of_range(const char *what)
{
	smc_kunit_abort(what);
}

void __throw_out_of_range_fmt(const char *what, ...)
{
	smc_kunit_abort(what);
}

} // namespace std

// std::optional::value() and std::get() of the wrong alternative, without exceptions.
void abort() noexcept
{
	smc_kunit_abort("abort()");
}

extern "C" void __cxa_pure_virtual()
{
	smc_kunit_abort("a pure virtual function was called");
}
