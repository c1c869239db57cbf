# SPDX-License-Identifier: GPL-2.0-only
#
# Needs g++, libnl-genl-3-dev and libcli11-dev.

TOOLS         += $(TOOLS_OUT)/smc_ctl
TOOLS_INSTALL += install-smc_ctl
TOOLS_FILES   += $(BINDIR)/smc_ctl $(MANDIR)/man8/smc_ctl.8

HOSTCXX        ?= c++
SMC_CTL_CXXFLAGS := -O2 -g -std=c++20 -Wall -Wextra -Werror -Iinclude -isystem /usr/include/libnl3 \
	$(TOOLS_DEFINES)
SMC_CTL_OBJECTS  := $(patsubst tools/smc_ctl/%.cc,$(TOOLS_OUT)/smc_ctl.d/%.o,$(sort $(wildcard tools/smc_ctl/*.cc)))

$(TOOLS_OUT)/smc_ctl.d/%.o: tools/smc_ctl/%.cc
	@mkdir -p $(@D)
	$(HOSTCXX) $(SMC_CTL_CXXFLAGS) -MMD -MP -c -o $@ $<

-include $(SMC_CTL_OBJECTS:.o=.d)

$(TOOLS_OUT)/smc_ctl.d/main.o: dkms.conf

$(TOOLS_OUT)/smc_ctl: $(SMC_CTL_OBJECTS)
	$(HOSTCXX) -o $@ $^ -lnl-genl-3 -lnl-3

install-smc_ctl: $(TOOLS_OUT)/smc_ctl
	install -D -m 755 $(TOOLS_OUT)/smc_ctl $(DESTDIR)$(BINDIR)/smc_ctl
	install -D -m 644 Documentation/man/smc_ctl.8 $(DESTDIR)$(MANDIR)/man8/smc_ctl.8
