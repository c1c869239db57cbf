// SPDX-License-Identifier: GPL-2.0-only
/*
 * The KUnit case that runs in this thread, and memory, for C++.
 */

#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/bug.h>
#include <linux/mm.h>

#include "smc_kunit/bridge.h"

void smc_kunit_fail(const char *text)
{
	struct kunit *test = kunit_get_current_test();

	/* A global object of a test, as the module is loaded. */
	if (WARN(!test, "%s", text))
		return;
	kunit_set_failure(test);
	kunit_err(test, "%s\n", text);
}

bool smc_kunit_has_failed(void)
{
	struct kunit *test = kunit_get_current_test();

	return test && READ_ONCE(test->status) == KUNIT_FAILURE;
}

void smc_kunit_skip(const char *why)
{
	struct kunit *test = kunit_get_current_test();

	if (!WARN_ON(!test))
		kunit_mark_skipped(test, "%s", why);
}

void smc_kunit_abort(const char *why)
{
	struct kunit *test = kunit_get_current_test();

	/* No case is running and the module is not loaded yet: there is nothing to return to. */
	BUG_ON(!test);
	smc_kunit_fail(why);
	__kunit_abort(test);
}

void *smc_kunit_alloc(size_t size_bytes)
{
	void *memory = kvmalloc(size_bytes, GFP_KERNEL);

	if (!memory)
		smc_kunit_abort("out of memory");
	return memory;
}

void smc_kunit_free(const void *memory)
{
	kvfree(memory);
}
