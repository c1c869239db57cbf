# SPDX-License-Identifier: GPL-2.0-only

TOOLS         += $(TOOLS_OUT)/smc_run $(TOOLS_OUT)/libsmc_preload.so
TOOLS_INSTALL += install-smc_run
TOOLS_FILES   += $(BINDIR)/smc_run $(TOOLLIBDIR)/libsmc_preload.so $(MANDIR)/man8/smc_run.8

$(TOOLS_OUT)/smc_run: tools/smc_run/smc_run.c tools/smc_run/size.h include/smc/family.h dkms.conf
	@mkdir -p $(@D)
	$(HOSTCC) $(TOOLS_CFLAGS) $(TOOLS_DEFINES) -o $@ $<

# smc_run looks for the library beside itself, then in ../lib/smc.
$(TOOLS_OUT)/libsmc_preload.so: tools/smc_run/smc_preload.c tools/smc_run/size.h include/smc/family.h
	@mkdir -p $(@D)
	$(HOSTCC) $(TOOLS_CFLAGS) -fPIC -fvisibility=hidden -shared \
		-Wl,-soname,libsmc_preload.so -Wl,-z,defs -o $@ $< -ldl

install-smc_run: $(TOOLS_OUT)/smc_run $(TOOLS_OUT)/libsmc_preload.so
	install -D -m 755 $(TOOLS_OUT)/smc_run $(DESTDIR)$(BINDIR)/smc_run
	install -D -m 755 $(TOOLS_OUT)/libsmc_preload.so $(DESTDIR)$(TOOLLIBDIR)/libsmc_preload.so
	install -D -m 644 Documentation/man/smc_run.8 $(DESTDIR)$(MANDIR)/man8/smc_run.8
