# SPDX-License-Identifier: GPL-2.0-only
#
# Needs g++, clang, bpftool, libbpf-dev, libnl-genl-3-dev, libpcap-dev, libcli11-dev and nlohmann-json3-dev.

TOOLS         += $(TOOLS_OUT)/smc_ctl
TOOLS_INSTALL += install-smc_ctl
TOOLS_FILES   += $(BINDIR)/smc_ctl $(MANDIR)/man8/smc_ctl.8 $(MANDIR)/man5/smc.conf.5 $(MANDIR)/man7/af_smc.7

HOSTCXX        ?= c++
SMC_CTL_CXXFLAGS := -O2 -g -std=c++20 -Wall -Wextra -Werror -Iinclude -isystem /usr/include/libnl3 \
	-isystem $(TOOLS_OUT)/smc_ctl.d $(TOOLS_DEFINES) $(TOOLS_CXXFLAGS)
BPF_CLANG        ?= clang
# Not in the PATH of a user of Debian.
BPFTOOL          ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
# Of this machine, whatever smc_ctl is for: its types are BPF's own.
SMC_CTL_ARCH     := $(shell c++ -print-multiarch)
SMC_CTL_OBJECTS  := $(patsubst tools/smc_ctl/%.cc,$(TOOLS_OUT)/smc_ctl.d/%.o,$(sort $(wildcard tools/smc_ctl/*.cc)))

$(TOOLS_OUT)/smc_ctl.d/%.o: tools/smc_ctl/%.cc
	@mkdir -p $(@D)
	$(HOSTCXX) $(SMC_CTL_CXXFLAGS) -MMD -MP -c -o $@ $<

$(TOOLS_OUT)/smc_ctl.d/mark.bpf.o: tools/smc_ctl/mark.bpf.c
	@mkdir -p $(@D)
	$(BPF_CLANG) -target bpf -O2 -g -Wall -Wextra -Werror -isystem /usr/include/$(SMC_CTL_ARCH) -c -o $@ $<

$(TOOLS_OUT)/smc_ctl.d/mark.skel.h: $(TOOLS_OUT)/smc_ctl.d/mark.bpf.o
	$(BPFTOOL) gen skeleton $< name mark_bpf >$@.new
	mv $@.new $@

$(TOOLS_OUT)/smc_ctl.d/marker.o: $(TOOLS_OUT)/smc_ctl.d/mark.skel.h

-include $(SMC_CTL_OBJECTS:.o=.d)

$(TOOLS_OUT)/smc_ctl.d/main.o: dkms.conf

$(TOOLS_OUT)/smc_ctl: $(SMC_CTL_OBJECTS)
	$(HOSTCXX) $(TOOLS_LDFLAGS) -o $@ $^ -lnl-genl-3 -lnl-3 -lbpf -lpcap

install-smc_ctl: $(TOOLS_OUT)/smc_ctl
	install -D -m 755 $(TOOLS_OUT)/smc_ctl $(DESTDIR)$(BINDIR)/smc_ctl
	install -D -m 644 Documentation/man/smc_ctl.8 $(DESTDIR)$(MANDIR)/man8/smc_ctl.8
	install -D -m 644 Documentation/man/smc.conf.5 $(DESTDIR)$(MANDIR)/man5/smc.conf.5
	install -D -m 644 Documentation/man/af_smc.7 $(DESTDIR)$(MANDIR)/man7/af_smc.7
