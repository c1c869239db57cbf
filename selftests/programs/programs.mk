# SPDX-License-Identifier: GPL-2.0-only
#
# make programs [KERNEL=6.1] [ONLY=regex] [SMC_CARRIER=siw]    Debian's servers and clients, over TCP and by
#                                            smc_run (Documentation/programs.md)

.PHONY: programs
programs: KERNEL ?= 6.12
programs: tools
	@scripts/fetch/install-deps build vm
	@scripts/fetch/fetch-programs
	+@$(MAKE) module KVER=$(KERNEL)
	@$(VM)/run-cases --kernel $(KERNEL) --result programs-$(KERNEL) $(CASE_OPTIONS) \
		$(sort $(wildcard selftests/programs/*.py))
