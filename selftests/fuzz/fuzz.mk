# SPDX-License-Identifier: GPL-2.0-only
#
# make fuzz          each fuzzer for FUZZ_SECONDS (60), FUZZ="clc llc" for some of them only
# make fuzz-check    each on the stored corpus, then FUZZ_CHECK_SECONDS (5) of new inputs
#
# Starts from selftests/fuzz/corpus/<name>, which selftests/fuzz/seeds made from messages off the
# wire. What a run adds to that goes to build/fuzz/corpus/<name>, an input that fails to
# build/fuzz/<name>/crash-…: run build/fuzz/<name>_fuzz <file> on it, then make a unit test of it.

FUZZ_SECONDS ?= 60
FUZZ_CHECK_SECONDS ?= 5
FUZZ ?= $(patsubst selftests/fuzz/%_fuzz.cc,%,$(wildcard selftests/fuzz/*_fuzz.cc))
FUZZ_CXX ?= clang++

fuzz-dir ?= $(BUILD)/fuzz
fuzz-sanitize ?= -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz-flags := -std=gnu++20 -O1 -g -fno-omit-frame-pointer \
	-Wall -Wextra -Werror -Wno-missing-field-initializers \
	$(fuzz-sanitize) -Inet/smc -Iinclude -Iselftests -Iselftests/fuzz -MMD -MP
fuzz-objects := $(patsubst net/smc/%.cc,$(fuzz-dir)/objects/%.o,$(shell find net/smc/core -name '*.cc'))
fuzz-doubles := $(patsubst selftests/%.cc,$(fuzz-dir)/objects/%.o,$(wildcard selftests/doubles/*.cc))
fuzz-mains := $(patsubst selftests/fuzz/%.cc,$(fuzz-dir)/objects/%.o,$(wildcard selftests/fuzz/*_fuzz.cc))
fuzz-limits := -timeout=10 -rss_limit_mb=1024

$(fuzz-dir)/objects/%.o: net/smc/%.cc
	@mkdir -p $(@D)
	@$(FUZZ_CXX) $(fuzz-flags) -c $< -o $@

$(fuzz-dir)/objects/doubles/%.o: selftests/doubles/%.cc
	@mkdir -p $(@D)
	@$(FUZZ_CXX) $(fuzz-flags) -c $< -o $@

$(fuzz-dir)/objects/%.o: selftests/fuzz/%.cc
	@mkdir -p $(@D)
	@$(FUZZ_CXX) $(fuzz-flags) -c $< -o $@

# An archive: of the kernel's doubles each fuzzer has those that it calls.
$(fuzz-dir)/doubles.a: $(fuzz-doubles)
	@rm -f $@
	@$(AR) rcs $@ $^

$(fuzz-dir)/%_fuzz: $(fuzz-dir)/objects/%_fuzz.o $(fuzz-objects) $(fuzz-dir)/doubles.a
	@$(FUZZ_CXX) $(fuzz-flags) $^ -o $@

-include $(fuzz-objects:.o=.d) $(fuzz-doubles:.o=.d) $(fuzz-mains:.o=.d)

.PHONY: fuzz fuzz-check $(FUZZ:%=fuzz-run-%)
.SECONDARY: $(fuzz-mains) $(fuzz-objects) $(fuzz-doubles)
fuzz: $(FUZZ:%=fuzz-run-%)

$(FUZZ:%=fuzz-run-%): fuzz-run-%: $(fuzz-dir)/%_fuzz
	@mkdir -p $(fuzz-dir)/corpus/$* $(fuzz-dir)/$*
	$< -max_total_time=$(FUZZ_SECONDS) $(fuzz-limits) -print_final_stats=1 \
		-artifact_prefix=$(fuzz-dir)/$*/ $(fuzz-dir)/corpus/$* $(wildcard selftests/fuzz/corpus/$*)

fuzz-check: $(FUZZ:%=$(fuzz-dir)/%_fuzz)
	@FUZZ_LIMITS="$(fuzz-limits)" selftests/fuzz/check $(FUZZ_CHECK_SECONDS) $(FUZZ)
