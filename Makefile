# SPDX-License-Identifier: GPL-2.0-only
#
# make            builds smc.ko for the running kernel (or the newest 6.12 of Debian) and the tools
# make help       lists the other targets

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DEFAULT_GOAL := all
SHELL := /bin/bash

ifneq ($(words $(CURDIR)),1)
$(error neither make nor Kbuild can cope with the blank in "$(CURDIR)": move the sources)
endif

BUILD := build
# Kernel series that `make check` builds for and that the documentation promises.
KERNELS := 6.12 6.1 7.2 5.10

# Which kernel: KDIR=<kernel build folder>, or KVER=<series or release>, fetched if it is not here; for
# another machine with ARCH=arm64, or KVER=6.12-arm64.
# Without either, the running kernel if its headers are here, else the first of KERNELS.
# What is installed is for the running kernel or for one that was asked for: nobody wants another.
running := $(shell uname -r)
kernel-asked := $(KDIR)$(KVER)
ifndef KDIR
ifndef KVER
ifdef ARCH
KVER := $(firstword $(KERNELS))
else ifneq ($(wildcard /lib/modules/$(running)/build/Makefile),)
KDIR := /lib/modules/$(running)/build
else ifneq ($(filter install,$(MAKECMDGOALS)),)
$(error no headers of the running kernel: install linux-headers-$(running), or say for which one \
	by KDIR=<kernel build folder> or KVER=<series or release>)
else
KVER := $(firstword $(KERNELS))
endif
endif
endif
# Both are looked up when first used: targets that need no kernel do not fetch one.
ifndef KDIR
KDIR = $(eval KDIR := $$(fetched-kernel))$(KDIR)
endif
fetched-kernel = $(or $(shell scripts/fetch/fetch-kernel --path $(KVER)$(ARCH:%=-%)),$(error no kernel $(KVER)))/build
KREL = $(eval KREL := $$(kernel-release))$(KREL)
kernel-release = $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h),$(error $(KDIR) is no kernel build folder))

# Objects and module of one kernel, apart from the sources and from other kernels.
KBUILD = $(abspath $(BUILD))/$(KREL)

.PHONY: all help module tools
all: module tools

help:
	@echo 'Building'
	@echo '  make                    smc.ko and the tools (KVER=6.12, KVER=6.1 or KDIR=<folder> choose the kernel)'
	@echo '  make module | tools     one of them'
	@echo '  make install            module under updates/, modprobe.d/smc.conf, depmod; for one kernel release'
	@echo '                          (INSTALL_MOD_PATH=<root>, INSTALL_MOD_STRIP=1 as with the kernel'"'"'s modules)'
	@echo '  make install-modprobe   modprobe.d/smc.conf alone, for a module that DKMS installs'
	@echo '  make uninstall          takes them away again, for the running kernel, KVER or KDIR'
	@echo '  make install-tools      tools and man pages below PREFIX (/usr/local); uninstall-tools'
	@echo '  make deb                packages for Debian: smc-dkms and smc-utils'
	@echo '  make rpm                the same two for distributions with rpm'
	@echo '  make dist | release     the sources as an archive | checked, and what to tag it with'
	@echo '  make clean              removes $(BUILD)/'
	@echo 'Trying'
	@echo '  make demo               two guests, programs over SMC-R, and fallback to TCP'
	@echo '  make bench              TCP, the kernel'"'"'s own smc.ko and this module side by side'
	@echo '  make bench-count        inside one host, in instructions, with AF_UNIX and pipes'
	@echo '  make bench-applications redis, nginx, PostgreSQL, … inside one host, over TCP and over SMC'
	@echo 'Checking'
	@echo '  make check              everything below, on all kernels; installs what it needs'
	@echo '  make check-all          the same with each case in the guests, on each kernel; by hand, hours'
	@echo '  make deps               only that'
	@echo '  make lint               layers, style, and that the checks themselves can fail'
	@echo '  make check-build        both kernels: warnings, dependencies, symbols'
	@echo '  make check-tools        that smc_run and smc_ctl build'
	@echo '  make check-packages     packages: the same bytes from another folder, lintian is silent'
	@echo '  make harness-test       that what runs the guests notices each kind of failure'
	@echo '  make litmus             memory order of what needs no lock, by herd7; by hand'
	@echo '  make unit               the core on the host (UNIT=<folder> for a part)'
	@echo '  make big-endian         module and unit tests for s390x, the tests in an emulator; by hand'
	@echo '  make sim                core and shell on a simulated kernel (SEED=n or CASE=name for one run, TRACE=1)'
	@echo '  make sim-soak           new seeds for MINUTES=m'
	@echo '  make sim-sweep          each allocation of a run fails once, for SEEDS=20 of them'
	@echo '  make fuzz-check         fuzzers on what is stored, and for a moment on new inputs'
	@echo '  make fuzz               each for FUZZ_SECONDS=60 (FUZZ="connection group" for some of them)'
	@echo '  make coverage           what of the core the tests on the host run through'
	@echo '  make mutants            whether faults put into core and shell are noticed'
	@echo '  make selftest           sockets in guests (KERNEL=6.12, KERNEL=6.1)'
	@echo '  make check-selftest-arm64  a sample on an emulated arm64 processor, and with amd64; by hand'
	@echo '  make check-selftest-s390x  the same on s390x, which is big-endian; by hand'
	@echo '  make interop            against the kernel'"'"'s own smc.ko'
	@echo '  make doc                the documentation as web pages: build/doc/index.html'
	@echo '  make packages           installs, upgrades and purges the packages on a bare Debian 12'
	@echo '  make programs           redis, nginx, PostgreSQL, … over TCP and over SMC'
	@echo '  make debug-kernel       builds a kernel with KASAN, lockdep, kmemleak … (a quarter of an hour, once)'
	@echo '  make kunit              the unit tests of the core inside that kernel, by KUnit'
	@echo '  make debug              the guests of make check on that kernel (KVER=debug, --kernel debug)'
	@echo '  make faults             there: each allocation fails once, and cables are pulled (ONLY=regex)'
	@echo '  make bad-wire           cables are pulled on a stock kernel (ONLY=regex)'
	@echo '  make format             clang-format on all C++'

# --- module --------------------------------------------------------------------------------------

# A kernel of another Debian release is built for with that one's tools.
where-it-builds = scripts/fetch/build-root --for $(dir $(patsubst %/,%,$(KDIR)))

# Debian's headers name a compiler. If it is not here (Debian 11's), the usual one does.
headers-cc = $(shell sed -n 's/^CC = .*\(gcc-[0-9]*\)$$/\1/p' $(KDIR)/.kernelvariables 2>/dev/null)
usual-cc = $(if $(ARCH),,$(foreach cc,$(headers-cc),$(if $(shell $(where-it-builds) sh -c 'command -v $(cc)'),,CC=gcc)))

# For scripts that start Kbuild by themselves.
.PHONY: usual-cc
usual-cc:
	@echo $(usual-cc)

# Headers without vmlinux (Debian 6.1) cannot make BTF, and Kbuild would say so each time.
no-btf = $(if $(wildcard $(KDIR)/vmlinux),,CONFIG_DEBUG_INFO_BTF_MODULES=)

# One build at a time for each kernel.
module:
	@mkdir -p $(KBUILD)
	@printf 'SMC_ROOT := %s\ninclude $$(SMC_ROOT)/net/smc/Kbuild\n' '$(CURDIR)' >$(KBUILD)/Kbuild.new
	@cmp -s $(KBUILD)/Kbuild.new $(KBUILD)/Kbuild || cp $(KBUILD)/Kbuild.new $(KBUILD)/Kbuild
	+@flock $(KBUILD)/.lock $(where-it-builds) $(MAKE) -C $(KDIR) M=$(KBUILD) $(usual-cc) $(no-btf) modules

INSTALL_MOD_PATH ?=
module-trees = $(INSTALL_MOD_PATH)/lib/modules
modprobe-conf = $(INSTALL_MOD_PATH)/etc/modprobe.d/smc.conf
depmod-for = $(DEPMOD) -b $(or $(INSTALL_MOD_PATH),/) $(1)
# 1 or options of strip, as for the kernel's own modules_install; without it nothing is stripped.
strip-options = $(if $(filter 1,$(INSTALL_MOD_STRIP)),--strip-debug,$(INSTALL_MOD_STRIP))
STRIP ?= strip

.PHONY: install install-modprobe uninstall
# depmod prefers updates/, so modprobe and autoload take this module before the kernel's own.
install: module install-modprobe
	install -D -m 644 $(KBUILD)/smc.ko $(module-trees)/$(KREL)/updates/smc.ko
	$(if $(INSTALL_MOD_STRIP),$(STRIP) $(strip-options) $(module-trees)/$(KREL)/updates/smc.ko)
	$(call depmod-for,$(KREL))

install-modprobe:
	install -D -m 644 scripts/kbuild/modprobe-smc.conf $(modprobe-conf)

# Needs to know the release, not to have its headers. A series stands for what is installed of it.
installed-releases = $(sort $(patsubst $(module-trees)/%/updates/smc.ko,%,$(wildcard \
	$(foreach release,$(1),$(module-trees)/$(release)/updates/smc.ko))))
uninstall-release = $(or $(if $(kernel-asked),$(if $(KVER),$(strip \
	$(call installed-releases,$(KVER) $(KVER).* $(KVER)-*)),$(KREL)),$(running)),$(error \
	no smc.ko of $(KVER) below $(module-trees): $(or $(call installed-releases,*),there is none at all)))

uninstall:
	@for release in $(uninstall-release); do \
		if [ -e $(module-trees)/$$release/updates/smc.ko ]; then \
			echo "removing $(module-trees)/$$release/updates/smc.ko"; \
			rm -f $(module-trees)/$$release/updates/smc.ko; \
			$(call depmod-for,$$release) || exit; \
		else \
			echo "smc.ko is not installed for $$release"; \
		fi; \
		if ls $(module-trees)/$$release/updates/dkms/smc.ko* >/dev/null 2>&1; then \
			echo "warning: DKMS has an smc.ko there, too: dkms remove smc/<version> --all" >&2; \
		fi; \
	done
	@left=$$(ls $(module-trees)/*/updates/smc.ko $(module-trees)/*/updates/dkms/smc.ko* 2>/dev/null); \
	if [ -n "$$left" ]; then \
		echo "$(modprobe-conf) stays: there is" $$left; \
	else \
		rm -f $(modprobe-conf); \
	fi

DEPMOD := $(or $(shell PATH="$$PATH:/usr/sbin:/sbin" command -v depmod),depmod)

.PHONY: clean format
clean:
	rm -rf $(BUILD)

format:
	@git ls-files -co --exclude-standard '*.cc' '*.hpp' | xargs -r clang-format -i

# --- checks --------------------------------------------------------------------------------------

.PHONY: check check-all deps doc lint litmus unit big-endian coverage check-tools check-packages check-arm64 check-build $(KERNELS:%=check-build-%)

# What `make check` runs, see scripts/check/run. Each part reports "N passed, N failed".
# A fuzzer takes an input that needs long for one that hangs, so it gets a processor of its own.
# Guests of the first kernel boot while those of the others wait for their module.
FIRST_KERNEL := $(firstword $(KERNELS))
OTHER_KERNELS := $(filter-out $(FIRST_KERNEL),$(KERNELS))
CHECK_FIRST := check-build-$(FIRST_KERNEL) check-tools fuzz-check
CHECK_ON_HOST := $(OTHER_KERNELS:%=check-build-%) lint unit sim check-packages
CHECK_IN_GUESTS := harness-test check-selftest-$(FIRST_KERNEL) check-interop \
	$(foreach kernel,$(OTHER_KERNELS),check-selftest-$(kernel)@check-build-$(kernel)) check-interop-7.2

# The sample that `make check` takes of the cases in guests is in selftests/vm/vm.mk.
CHECK_ALL_FIRST := $(KERNELS:%=check-build-%) check-tools fuzz-check
CHECK_ALL_ON_HOST := lint unit sim check-packages check-arm64
CHECK_ALL_IN_GUESTS := harness-test $(KERNELS:%=selftest:KERNEL=%) check-selftest-rt check-selftest-arm64 check-selftest-s390x interop

# Nothing is fetched for the others while guests run, which fetch as well.
check: deps
	@set -e; for kernel in $(KERNELS); do scripts/fetch/fetch-kernel --path $$kernel; done
	@scripts/check/run $(CHECK_FIRST) --beside $(CHECK_ON_HOST) --with $(CHECK_IN_GUESTS)

check-all: deps
	@WHOLE=1 scripts/check/run $(CHECK_ALL_FIRST) --beside $(CHECK_ALL_ON_HOST) --with $(CHECK_ALL_IN_GUESTS)

deps:
	@scripts/fetch/install-deps

lint:
	@scripts/check/lint

check-build: $(KERNELS:%=check-build-%)

$(KERNELS:%=check-build-%): check-build-%:
	+@scripts/check/check-build $*

# That it builds for another machine. Nothing runs.
check-arm64:
	+@if $(MAKE) module ARCH=arm64 KVER=6.12; then \
		scripts/check/report arm64 1 0; else scripts/check/report arm64 0 1; fi

check-tools:
	@$(MAKE) tools && scripts/check/report tools $(words $(TOOLS)) 0 || scripts/check/report tools 0 1

check-packages:
	@scripts/check/check-packages

doc:
	@scripts/fetch/install-deps doc
	@scripts/doc $(BUILD)/doc

litmus:
	@selftests/litmus/run

unit:
	@selftests/unit/run $(UNIT)

# Module and unit tests for s390x. In guests the module runs by make check-selftest-s390x.
big-endian:
	@scripts/fetch/install-deps big-endian
	+@$(MAKE) module ARCH=s390x KVER=6.12
	@selftests/unit/run --big-endian $(UNIT)

coverage:
	@selftests/coverage

# --- the rest of the house: each has its own targets ----------------------------------------------

tools:
-include tools/tools.mk
-include packaging/packaging.mk
-include selftests/vm/vm.mk
-include selftests/kunit/kunit.mk
-include selftests/fuzz/fuzz.mk
-include selftests/sim/sim.mk
-include selftests/bench/bench.mk
-include selftests/programs/programs.mk
