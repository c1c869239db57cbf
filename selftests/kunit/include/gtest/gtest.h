/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GoogleTest's vocabulary over KUnit, as far as selftests/unit speaks it. In the kernel's build
 * this file is what <gtest/gtest.h> finds; the same cases see GoogleTest itself on the host.
 */
#ifndef SMC_KUNIT_GTEST_H
#define SMC_KUNIT_GTEST_H

#include "smc_kunit/expect.hpp"
#include "smc_kunit/param.hpp"
#include "smc_kunit/test.hpp"
#include "smc_kunit/trace.hpp"

#endif
