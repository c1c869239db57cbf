/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GoogleTest's macros on top of KUnit, as far as selftests/unit uses them. In the kernel's build
 * this is <gtest/gtest.h>; on the host the same cases use GoogleTest itself.
 */
#ifndef SMC_KUNIT_GTEST_H
#define SMC_KUNIT_GTEST_H

#include "smc_kunit/expect.hpp"
#include "smc_kunit/param.hpp"
#include "smc_kunit/test.hpp"
#include "smc_kunit/trace.hpp"

#endif
