// SPDX-License-Identifier: GPL-2.0-only
//
// new and delete, for the tests: the core does not allocate.
#include <cstddef>
#include <new>

#include "smc_kunit/bridge.h"

void *operator new(std::size_t size_bytes)
{
	return smc_kunit_alloc(size_bytes);
}

void *operator new[](std::size_t size_bytes)
{
	return smc_kunit_alloc(size_bytes);
}

void operator delete(void *memory) noexcept
{
	smc_kunit_free(memory);
}

void operator delete[](void *memory) noexcept
{
	smc_kunit_free(memory);
}
