# SPDX-License-Identifier: GPL-2.0-only
#
# make fuzz       each fuzzer for FUZZ_SECONDS (60), FUZZ="clc llc" for some of them only
#
# Starts from selftests/fuzz/corpus/<name>. What a run adds to that goes to
# build/fuzz/corpus/<name>, an input that fails to build/fuzz/<name>/crash-…: run
# build/fuzz/<name>_fuzz <file> on it, then make a unit test of it.

FUZZ_SECONDS ?= 60
FUZZ ?= $(patsubst selftests/fuzz/%_fuzz.cc,%,$(wildcard selftests/fuzz/*_fuzz.cc))
FUZZ_CXX ?= clang++

fuzz-dir := $(BUILD)/fuzz
fuzz-flags := -std=gnu++20 -O1 -g -fno-omit-frame-pointer \
	-Wall -Wextra -Werror -Wno-missing-field-initializers \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Inet/smc -Iinclude -Iselftests/fuzz
fuzz-core = $(shell find net/smc/core -name '*.cc')
fuzz-headers = $(shell find net/smc/core selftests/fuzz -name '*.hpp')

$(fuzz-dir)/%_fuzz: selftests/fuzz/%_fuzz.cc $(fuzz-core) $(fuzz-headers)
	@mkdir -p $(@D)
	$(FUZZ_CXX) $(fuzz-flags) $< $(fuzz-core) -o $@

.PHONY: fuzz $(FUZZ:%=fuzz-run-%)
fuzz: $(FUZZ:%=fuzz-run-%)

$(FUZZ:%=fuzz-run-%): fuzz-run-%: $(fuzz-dir)/%_fuzz
	@mkdir -p $(fuzz-dir)/corpus/$* $(fuzz-dir)/$*
	$< -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
		-artifact_prefix=$(fuzz-dir)/$*/ $(fuzz-dir)/corpus/$* $(wildcard selftests/fuzz/corpus/$*)
