# SPDX-License-Identifier: GPL-2.0-only
#
# What runs in guests. Each part prints TAP and leaves "N passed, N failed" in build/results/<part>.
#
#   make selftest [KERNEL=6.1] [ONLY=regex]        programs and cases on one kernel, or on all
#   make interop [TOPOLOGY=regex] [ONLY=regex]     every pair of modules, both roles
#   make harness-test                              that the harness itself can fail
#   make demo                                      what the module does, shown on real programs

VM := selftests/vm
CASE_OPTIONS = $(if $(ONLY),--only '$(ONLY)') $(if $(TOPOLOGY),--topology '$(TOPOLOGY)')

.PHONY: vm-modules test-programs harness-test selftest interop demo

# One smc.ko for each kernel that guests boot.
vm-modules:
	+@set -e; for kernel in $(KERNELS); do $(MAKE) module KVER=$$kernel; done

test-programs:
	+@$(MAKE) -C selftests/net

harness-test:
	@$(VM)/check-harness

selftest: vm-modules test-programs tools
	@set -e; for kernel in $(or $(KERNEL),$(KERNELS)); do \
		$(VM)/run-cases --kernel $$kernel --result selftest-$$kernel $(CASE_OPTIONS) \
			$(sort $(wildcard selftests/net/cases/*.py $(VM)/cases/*.py)); \
	done

interop: vm-modules test-programs
	@$(VM)/run-cases --result interop $(CASE_OPTIONS) $(sort $(wildcard selftests/interop/*.py))

demo:
	@selftests/demo/demo

