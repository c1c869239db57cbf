# SPDX-License-Identifier: GPL-2.0-only
#
# make sim SEED=n           one run of the simulator, TRACE=1 with every event; without SEED what
#                           `make check` runs (all cases, and SIM_RUNS seeds: 40, with WHOLE=1 200)
# make sim CASE=name        one case (selftests/sim/*cases.cc)
# make sim-soak MINUTES=m   new seeds until the time is up
# make sim-sweep SEEDS=n    each resource of a small run fails once, on n machines
# make mutants              that the simulator and the unit tests notice faults in the core
#
# core/ and shell/ as they are, on a kernel that is played (selftests/sim), under ASan and UBSan.

SIM_RUNS ?= $(if $(WHOLE),200,40)
MINUTES ?= 5
SEEDS ?= 20
SIM_CXX ?= g++
OBJCOPY ?= objcopy
# Not vptr: that asks for RTTI, which the module is built without.
SIM_SANITIZE ?= -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all
# Lines are what the sanitizers say; more of -g takes a fifth of the time of a build.
SIM_OPTIMIZE ?= -O1 -g1 -fno-omit-frame-pointer
# Where core/ and shell/ come from; a mutant has its own.
SIM_SOURCE ?= net/smc
sim-dir ?= $(BUILD)/sim

# Of the doubles that tests of one thread have, what does not depend on a world of fibers.
sim-doubles := counters
sim-sources := $(shell find $(SIM_SOURCE)/core $(SIM_SOURCE)/shell selftests/sim -name '*.cc' ! -name without_rdma.cc)
sim-objects := $(patsubst $(SIM_SOURCE)/%.cc,$(sim-dir)/module/%.o,$(filter $(SIM_SOURCE)/%,$(sim-sources))) \
	$(patsubst selftests/sim/%.cc,$(sim-dir)/kernel/%.o,$(filter selftests/sim/%,$(sim-sources))) \
	$(sim-doubles:%=$(sim-dir)/doubles/%.o)
# CONFIG_DEBUG_…: room for what the played locks remember (kernel/abi/lock.h).
sim-flags := -std=gnu++20 $(SIM_OPTIMIZE) $(SIM_SANITIZE) -Wall -Wextra -Werror -Wswitch -Wno-missing-field-initializers \
	-Wno-invalid-offsetof -Wno-maybe-uninitialized -DCONFIG_DEBUG_SPINLOCK \
	-I$(SIM_SOURCE) -Iinclude -MMD -MP

# CLC messages in memory are read along, see near_clc.cc.
sim-link := -Wl,--wrap=_ZN3smc5shell10Rendezvous4sendERNS0_7NearClcESt4spanIKSt4byteLm18446744073709551615EE \
	-Wl,--wrap=_ZN3smc5shell10Rendezvous5enterERNS0_7NearClcERKNS0_7NearKeyE

# Calls from one language to the other are counted.
sim-border := $(sim-dir)/border.S $(sim-dir)/services.syms $(sim-dir)/callbacks.syms
$(sim-border) &: selftests/sim/border scripts/check/prototype.py $(wildcard $(SIM_SOURCE)/kernel/abi/*.h $(SIM_SOURCE)/kernel/abi/callbacks/*.h)
	@selftests/sim/border $(SIM_SOURCE)/kernel/abi $(sim-dir)

$(sim-dir)/module/%.o: $(SIM_SOURCE)/%.cc selftests/sim/sim.mk $(sim-dir)/services.syms
	@mkdir -p $(@D)
	@$(SIM_CXX) $(sim-flags) -ffreestanding -fbuiltin -fno-exceptions -fno-rtti \
		-fno-threadsafe-statics -c $< -o $@
	@$(OBJCOPY) --redefine-syms=$(sim-dir)/services.syms $@

$(sim-dir)/kernel/%.o: selftests/sim/%.cc selftests/sim/sim.mk $(sim-dir)/callbacks.syms
	@mkdir -p $(@D)
	@$(SIM_CXX) $(sim-flags) -Iselftests/sim -Iselftests -c $< -o $@
	@$(OBJCOPY) --redefine-syms=$(sim-dir)/callbacks.syms $@

$(sim-dir)/doubles/%.o: selftests/doubles/%.cc
	@mkdir -p $(@D)
	@$(SIM_CXX) $(sim-flags) -Iselftests -c $< -o $@

$(sim-dir)/sim: $(sim-objects) $(sim-dir)/border.S
	@$(SIM_CXX) $(SIM_SANITIZE) $(sim-link) $^ -o $@

-include $(sim-objects:.o=.d)

# Leaks are counted by the simulator itself.
sim-run = ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1 \
	nice $(sim-dir)/sim

.PHONY: sim sim-soak sim-sweep mutants
sim: $(sim-dir)/sim
	@$(sim-run) $(if $(SEED)$(CASE),$(if $(CASE),--case $(CASE),--seed $(SEED)) \
		$(if $(TRACE),--trace),--check $(SIM_RUNS))

sim-soak: $(sim-dir)/sim
	@$(sim-run) --minutes $(MINUTES)

sim-sweep: $(sim-dir)/sim
	@$(sim-run) --sweep 1 $(SEEDS)

mutants:
	@selftests/sim/mutants
