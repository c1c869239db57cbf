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

.PHONY: all module
all: module tools

module:
	@mkdir -p $(KBUILD)
	@printf 'SMC_ROOT := %s\ninclude $$(SMC_ROOT)/net/smc/Kbuild\n' '$(ROOT)' >$(KBUILD)/Kbuild.new
	@cmp -s $(KBUILD)/Kbuild.new $(KBUILD)/Kbuild || cp $(KBUILD)/Kbuild.new $(KBUILD)/Kbuild
	+$(MAKE) -C $(KDIR) M=$(ROOT)/$(KBUILD) modules

.PHONY: tools
tools:
-include tools/tools.mk
