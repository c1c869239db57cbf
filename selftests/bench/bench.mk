# SPDX-License-Identifier: GPL-2.0-only
#
# make bench                     TCP, the kernel's own smc.ko and this one between two guests; then this one
#                                over soft-RoCE and over soft-iWARP, and against the kernel's own
# make bench BENCH_OPTIONS=…     options that selftests/bench/bench, carriers and mixed all take

.PHONY: bench
bench: test-programs
	+@$(MAKE) module KVER=6.12
	@selftests/bench/bench $(BENCH_OPTIONS)
	@selftests/bench/carriers $(BENCH_OPTIONS)
	@selftests/bench/mixed $(BENCH_OPTIONS)

# make bench-count               what connections cost in one guest, in instructions
.PHONY: bench-count
bench-count: test-programs
	+@$(MAKE) module KVER=6.12
	@selftests/bench/count $(BENCH_OPTIONS)

# make bench-applications        Debian's programs in one guest, over TCP and over SMC-D
.PHONY: bench-applications
bench-applications: tools
	@scripts/fetch/install-deps build vm
	@scripts/fetch/fetch-programs
	+@$(MAKE) module KVER=6.12
	@selftests/bench/applications $(BENCH_OPTIONS)
