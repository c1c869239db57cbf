/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the cases, in C++, and the module around them, in C.
 */
#ifndef SMC_KUNIT_BRIDGE_H
#define SMC_KUNIT_BRIDGE_H

#ifdef __cplusplus
#include <cstddef>
using std::size_t;
extern "C" {
#else
#include <linux/types.h>
#endif

/* --- cases.cc: all cases, those of a suite side by side */

size_t smc_kunit_count(void);
/* "<folder of selftests/unit>.<suite>" and "<case>", as GoogleTest writes them on the host. */
const char *smc_kunit_suite(size_t index);
const char *smc_kunit_name(size_t index);
void smc_kunit_run(size_t index);

/* --- exit.cc */

/* Destroys the global C++ objects at the end. */
void smc_kunit_exit(void);

/* --- current.c: the KUnit case that runs in this thread */

void smc_kunit_fail(const char *text);
bool smc_kunit_has_failed(void);
void smc_kunit_skip(const char *why);
/* Ends the case and its thread; nothing is unwound. */
void __attribute__((noreturn)) smc_kunit_abort(const char *why);

/* Of any size; never NULL: a case that gets no memory is aborted. May sleep. */
void *smc_kunit_alloc(size_t size_bytes);
void smc_kunit_free(const void *memory);

/* --- thread.c */

struct smc_kunit_thread;

struct smc_kunit_thread *smc_kunit_thread_start(void (*run)(void *argument), void *argument);
void smc_kunit_thread_join(struct smc_kunit_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
