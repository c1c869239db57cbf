# SPDX-License-Identifier: GPL-2.0-only
#
# make            builds smc.ko for the running kernel, or for the newest 6.12 that Debian has
# make help       lists the other targets

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DEFAULT_GOAL := all
SHELL := /bin/bash

ROOT := $(CURDIR)
BUILD := build
# Kernel series that `make check` builds for, that guests boot, and that the documentation promises.
KERNELS := 6.12 6.1

# Which kernel: KDIR=<kernel build folder>, or KVER=<series or release> (fetched when it is not installed).
# Without either, the running kernel if its headers are here, else the first of KERNELS.
ifndef KDIR
ifndef KVER
ifneq ($(wildcard /lib/modules/$(shell uname -r)/build/Makefile),)
KDIR := /lib/modules/$(shell uname -r)/build
else
KVER := $(firstword $(KERNELS))
endif
endif
endif
ifndef KDIR
# Looked up when first used: targets that need no kernel do not fetch one.
KDIR = $(eval KDIR := $$(or $$(shell scripts/fetch-kernel --path $(KVER)),$$(error no kernel $(KVER)))/build)$(KDIR)
endif
KREL = $(eval KREL := $$(or $$(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h),$$(error $(KDIR) is no kernel build folder)))$(KREL)
KBUILD = $(BUILD)/$(KREL)

# Headers without vmlinux (Debian 6.1) cannot make BTF, and Kbuild would say so each time.
no-btf := CONFIG_DEBUG_INFO_BTF_MODULES=

.PHONY: all module
all: module tools

module:
	@mkdir -p $(KBUILD)
	@printf 'SMC_ROOT := %s\ninclude $$(SMC_ROOT)/net/smc/Kbuild\n' '$(ROOT)' >$(KBUILD)/Kbuild.new
	@cmp -s $(KBUILD)/Kbuild.new $(KBUILD)/Kbuild || cp $(KBUILD)/Kbuild.new $(KBUILD)/Kbuild
	+$(MAKE) -C $(KDIR) M=$(ROOT)/$(KBUILD) $(if $(wildcard $(KDIR)/vmlinux),,$(no-btf)) modules

.PHONY: tools
tools:
-include tools/tools.mk

# Unit tests of the core on the host; UNIT=<folder> runs one folder of selftests/unit.
.PHONY: unit
unit:
	@scripts/run-unit $(UNIT)

# Brings all C++ into shape.
.PHONY: format
format:
	@git ls-files -co --exclude-standard '*.cc' '*.hpp' | xargs -r clang-format -i
