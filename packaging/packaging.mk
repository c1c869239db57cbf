# SPDX-License-Identifier: GPL-2.0-only
#
# Packages, and what they have in common. Included by the top Makefile.
#
#   make dist                      build/smc-<version>.tar.xz: what git knows, as it is here
#   make release                   the same of a clean tree, and the command that tags it (TAG=1: does it)
#   make deb                       build/deb/*.deb from it
#   make rpm                       build/rpm/*.rpm from it
#   make packages                  what a user does with both (selftests/packages)
#   make install-dkms DESTDIR=…    the module's source below /usr/src, modprobe's file below /usr/lib
#   make install-completion install-unit install-dashboard
#                                  what make install-tools also installs: for bash, systemd, Grafana

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"$$/\1/p' dkms.conf)
DIST := $(BUILD)/smc-$(VERSION).tar.xz

.PHONY: dist release deb rpm packages install-dkms install-completion install-unit install-dashboard

dist:
	@packaging/dist $(DIST) smc-$(VERSION)

release:
	@packaging/release smc-$(VERSION) v$(VERSION) $(if $(TAG),--tag)

deb: dist
	@packaging/deb $(DIST) smc-$(VERSION) $(BUILD)/deb

rpm: dist
	@packaging/rpm $(DIST) $(VERSION) $(BUILD)/rpm

packages:
	@scripts/fetch/install-deps build deb rpm vm packages
	@$(MAKE) deb rpm
	@unshare --mount --propagation private selftests/packages/check

# dkms.conf says what DKMS builds with.
dkms-folder = $(DESTDIR)/usr/src/smc-$(VERSION)
dkms-files = dkms.conf Kbuild $(sort $(shell packaging/sources | grep -E '^(net|include|scripts/kbuild)/'))

install-dkms:
	@for file in $(dkms-files); do \
		install -D -m 644 $$file $(dkms-folder)/$$file || exit; \
	done
	chmod 755 $(dkms-folder)/scripts/kbuild/run-probes
	install -D -m 644 scripts/kbuild/modprobe-smc.conf $(DESTDIR)/usr/lib/modprobe.d/smc.conf

COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
UNITDIR       ?= $(PREFIX)/lib/systemd/system
DASHBOARDDIR  ?= $(PREFIX)/share/smc
UNITS         := smc.service smc-metrics.service smc-metrics.timer
TOOLS_FILES   += $(COMPLETIONDIR)/smc_ctl $(COMPLETIONDIR)/smc_run $(UNITS:%=$(UNITDIR)/%) \
	$(DASHBOARDDIR)/grafana-dashboard.json

install-tools: install-completion install-unit install-dashboard

install-completion:
	@for program in smc_ctl smc_run; do \
		install -D -m 644 packaging/completion/$$program $(DESTDIR)$(COMPLETIONDIR)/$$program || exit; \
	done

install-unit:
	@for unit in $(UNITS); do \
		install -D -m 644 packaging/$$unit $(DESTDIR)$(UNITDIR)/$$unit && \
		sed -i 's|/usr/bin/|$(BINDIR)/|' $(DESTDIR)$(UNITDIR)/$$unit || exit; \
	done

install-dashboard:
	install -D -m 644 packaging/grafana-dashboard.json $(DESTDIR)$(DASHBOARDDIR)/grafana-dashboard.json
