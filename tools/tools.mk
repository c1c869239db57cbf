# SPDX-License-Identifier: GPL-2.0-only
#
# User-space tools. Included by the top Makefile; each directory of tools/ adds its own
# tool.mk, which appends to TOOLS (files to build), TOOLS_INSTALL (targets that install) and
# TOOLS_FILES (what these put there).
#
#   make tools                        into build/tools/
#   make install-tools PREFIX=/usr    programs, libraries and man pages
#   make uninstall-tools PREFIX=/usr  takes them away again

TOOLS_OUT  ?= build/tools
PREFIX     ?= /usr/local
# Not sbin: a user of Debian does not have that in PATH, and both are for users.
BINDIR     ?= $(PREFIX)/bin
TOOLLIBDIR ?= $(PREFIX)/lib/smc
MANDIR     ?= $(PREFIX)/share/man

HOSTCC       ?= cc
TOOLS_CFLAGS ?= -O2 -g
TOOLS_CFLAGS += -std=gnu11 -Iinclude -Wall -Wextra -Werror -Wmissing-prototypes -Wshadow

TOOLS         :=
TOOLS_INSTALL :=
TOOLS_FILES   :=

# The one place that has the version is what DKMS reads.
TOOLS_VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"$$/\1/p' dkms.conf)
TOOLS_DEFINES := -DSMC_PACKAGE_VERSION='"$(TOOLS_VERSION)"'

include $(sort $(wildcard tools/*/tool.mk))

.PHONY: tools install-tools uninstall-tools $(TOOLS_INSTALL)

tools: $(TOOLS)

install-tools: $(TOOLS_INSTALL)

uninstall-tools:
	rm -f $(addprefix $(DESTDIR),$(TOOLS_FILES))
	@for folder in $(DESTDIR)$(TOOLLIBDIR) $(DESTDIR)$(DASHBOARDDIR); do \
		[ ! -d $$folder ] || rmdir --ignore-fail-on-non-empty $$folder; \
	done
