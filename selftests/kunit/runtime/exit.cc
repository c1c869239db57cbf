// SPDX-License-Identifier: GPL-2.0-only
//
// Destructors of global objects. The kernel runs their constructors when it loads the module
// (CONFIG_CONSTRUCTORS), but not their destructors.
#include <new>

#include "smc_kunit/bridge.h"

namespace {

struct AtExit {
	void (*function)(void *);
	void *object;
	AtExit *earlier;
};

AtExit *latest = nullptr;

} // namespace

extern "C" {

void *__dso_handle = nullptr;

int __cxa_atexit(void (*function)(void *), void *object, void *)
{
	latest = new AtExit{function, object, latest};
	return 0;
}

} // extern "C"

void smc_kunit_exit()
{
	while (latest != nullptr) {
		AtExit *const now = latest;

		latest = now->earlier;
		now->function(now->object);
		delete now;
	}
}
