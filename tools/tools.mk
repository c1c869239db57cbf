# SPDX-License-Identifier: GPL-2.0-only
#
# User-space tools. Included by the top Makefile; each directory of tools/ adds its own
# tool.mk, which appends to TOOLS (files to build) and TOOLS_INSTALL (targets that install).
#
#   make tools                        into build/tools/
#   make install-tools PREFIX=/usr    programs, libraries and man pages

TOOLS_OUT  ?= build/tools
PREFIX     ?= /usr/local
SBINDIR    ?= $(PREFIX)/sbin
TOOLLIBDIR ?= $(PREFIX)/lib/smc
MANDIR     ?= $(PREFIX)/share/man

HOSTCC       ?= cc
TOOLS_CFLAGS ?= -O2 -g
TOOLS_CFLAGS += -std=gnu11 -Wall -Wextra -Werror -Wmissing-prototypes -Wshadow

TOOLS         :=
TOOLS_INSTALL :=

include $(sort $(wildcard tools/*/tool.mk))

.PHONY: tools install-tools $(TOOLS_INSTALL)

tools: $(TOOLS)

install-tools: $(TOOLS_INSTALL)
