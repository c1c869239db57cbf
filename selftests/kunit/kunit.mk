# SPDX-License-Identifier: GPL-2.0-only
#
#   make kunit             the unit tests of the core inside the debug kernel, by KUnit
#   make kunit-module      smc_kunit.ko, for that kernel

KUNIT := selftests/kunit
kunit-build = $(abspath $(BUILD))/kunit
kunit-kernel = $(shell scripts/fetch/fetch-kernel --path debug)

.PHONY: kunit kunit-module check-kunit check-kunit-proof

kunit-module:
	@mkdir -p $(kunit-build)
	@printf 'SMC_ROOT := %s\ninclude $$(SMC_ROOT)/$(KUNIT)/Kbuild\n' '$(CURDIR)' \
		>$(kunit-build)/Kbuild.new
	@cmp -s $(kunit-build)/Kbuild.new $(kunit-build)/Kbuild || \
		cp $(kunit-build)/Kbuild.new $(kunit-build)/Kbuild
	+@flock $(kunit-build)/.lock $(MAKE) -C $(kunit-kernel)/build M=$(kunit-build) modules

kunit: debug-kernel
	@scripts/check/run check-kunit-proof check-kunit

check-kunit-proof: kunit-module
	@$(KUNIT)/check-kunit --proof

# The host's programs say which cases there are.
check-kunit: kunit-module
	@selftests/unit/run --build
	@$(KUNIT)/check-kunit
