// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_kunit.ko: the cases of selftests/unit as suites of KUnit. They run as the module is loaded;
 * their results stay in /sys/kernel/debug/kunit/<suite>/results until it is unloaded.
 */

#include <kunit/test.h>
#include <linux/container_of.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/string.h>

#include "smc_kunit/bridge.h"

/*
 * The tests' global objects have constructors, one for each case. KASAN selects the option for
 * them.
 */
#ifndef CONFIG_CONSTRUCTORS
#error "smc_kunit needs a kernel with CONFIG_CONSTRUCTORS, such as one with CONFIG_KASAN"
#endif

/* Suites of this folder fail on purpose: see selftests/kunit/check-kunit. */
#define PROOF "proof."

static bool proof;
module_param(proof, bool, 0);
MODULE_PARM_DESC(proof, "Run the cases that prove that a failure is noticed, and only those");

/* KUnit passes a case only its name; the case itself lies beside the name. */
struct named_case {
	size_t index;
	char name[128];
};

static struct named_case *names;
/* The cases of each suite, each list with an empty one at its end. */
static struct kunit_case *cases;
static struct kunit_suite *suites;
static struct kunit_suite **suite_pointers;
static size_t suites_count;

static void run_case(struct kunit *test)
{
	const struct named_case *found =
		container_of((const void *)test->name, struct named_case, name);

	smc_kunit_run(found->index);
}

static bool wanted(size_t index)
{
	return strstarts(smc_kunit_suite(index), PROOF) == proof;
}

/* The name is also the name of a directory. */
static void name_suite(struct kunit_suite *suite, const char *name)
{
	char *own = (char *)suite->name;

	strscpy(own, name, sizeof(suite->name));
	strreplace(own, '/', '.');
}

static void free_suites(void)
{
	kvfree(names);
	kvfree(cases);
	kvfree(suites);
	kvfree(suite_pointers);
}

static int make_suites(void)
{
	size_t count = smc_kunit_count();
	const char *last_suite = "";
	struct kunit_case *next;
	size_t index;

	/* There are at most as many suites as cases. */
	names = kvcalloc(count, sizeof(*names), GFP_KERNEL);
	cases = kvcalloc(count, 2 * sizeof(*cases), GFP_KERNEL);
	suites = kvcalloc(count, sizeof(*suites), GFP_KERNEL);
	suite_pointers = kvcalloc(count, sizeof(*suite_pointers), GFP_KERNEL);
	if (!names || !cases || !suites || !suite_pointers) {
		free_suites();
		return -ENOMEM;
	}

	next = cases;
	for (index = 0; index < count; index++) {
		if (!wanted(index))
			continue;
		if (strcmp(smc_kunit_suite(index), last_suite) != 0) {
			struct kunit_suite *suite = &suites[suites_count];

			last_suite = smc_kunit_suite(index);
			if (suites_count > 0)
				next++;
			name_suite(suite, last_suite);
			suite->test_cases = next;
			suite_pointers[suites_count++] = suite;
		}
		names[index].index = index;
		strscpy(names[index].name, smc_kunit_name(index), sizeof(names[index].name));
		*next++ = (struct kunit_case){ .run_case = run_case,
					       .name = names[index].name,
					       .module_name = KBUILD_MODNAME };
	}
	return 0;
}

static int __init smc_kunit_init(void)
{
	int error = make_suites();

	if (!error) {
		error = __kunit_test_suites_init(suite_pointers, suites_count);
		if (error)
			free_suites();
	}
	if (error)
		smc_kunit_exit();
	return error;
}
module_init(smc_kunit_init);

static void __exit smc_kunit_end(void)
{
	__kunit_test_suites_exit(suite_pointers, suites_count);
	free_suites();
	smc_kunit_exit();
}
module_exit(smc_kunit_end);

MODULE_DESCRIPTION("Unit tests of the SMC protocol core");
MODULE_LICENSE("GPL");
