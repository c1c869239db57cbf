# SPDX-License-Identifier: GPL-2.0-only
#
# How C++ is compiled into a module: for net/smc/Kbuild, and for selftests/kunit/Kbuild, whose core/ has
# to be the same code. Needs SMC_ROOT.

smc-dir := $(SMC_ROOT)/net/smc

# __FILE__ in warnings: the path inside the repository, not that of the machine that built it.
smc-includes := -I$(smc-dir) -I$(SMC_ROOT)/include -fmacro-prefix-map=$(SMC_ROOT)/=

smc-cxx-compiler := $(if $(SMC_CXX),$(SMC_CXX),$(patsubst %gcc,%g++,$(subst gcc-,g++-,$(CC))))

# In g++ 10 the headers for freestanding code have inline functions of floating point, and no std::bit_cast().
# Looked at when the first source is compiled, so that `make clean` needs no compiler.
smc-oldest-gxx := 11
smc-cxx-major = $(eval smc-cxx-major := $(shell $(smc-cxx-compiler) -dumpversion | cut -d. -f1))$(smc-cxx-major)
smc-cxx-checked = $(if $(shell [ "$(smc-cxx-major)" -ge $(smc-oldest-gxx) ] 2>/dev/null && echo y),, \
	$(error $(smc-cxx-compiler) is missing or too old: g++ $(smc-oldest-gxx) or later is needed, named by SMC_CXX=))

# The kernel's code generation (ABI, retpolines, IBT, SLS, rethunks, ftrace, no SSE, no red zone; on a
# debug kernel its sanitizers) and none of its warnings or its C dialect. Options to the assembler and
# preprocessor start with -W, too.
# -ftrivial-auto-var-init: gcc 12 takes fields of a temporary for padding if they lie in an array of structs,
# and zeroes them (the address of an rkey in a std::array, for one). Nothing here relies on it.
smc-kernel-flags = $(filter-out -W% -std=% -fms-extensions -g% -femit-struct-debug% \
		-ftrivial-auto-var-init=%,$(KBUILD_CPPFLAGS) \
		$(KBUILD_CFLAGS) $(KBUILD_CFLAGS_MODULE)) \
	$(filter -Wa$(comma)% -Wp$(comma)%,$(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) $(KBUILD_CFLAGS_MODULE)) \
	$(if $(CONFIG_KASAN),$(CFLAGS_KASAN)) $(if $(CONFIG_UBSAN),$(CFLAGS_UBSAN))

# -fbuiltin: -ffreestanding alone would make a call of each memcpy() of a few bytes.
# -Wno-maybe-uninitialized: gcc 12 sees ghosts in std::optional and std::variant (the kernel has it off, too).
# -mno-outline-atomics: else atomics are calls into a library that the kernel does not have.
# -g0: pahole cannot read DWARF of C++ types, and the module's BTF would fail.
smc-cxx-flags = $(smc-kernel-flags) -std=gnu++20 -ffreestanding -fbuiltin -fno-exceptions -fno-rtti \
	-fno-threadsafe-statics -fno-use-cxa-atexit -fno-gnu-unique -fno-sized-deallocation -g0 \
	-Wall -Wextra -Werror -Wswitch -Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override \
	-Wundef -Wvla -Wimplicit-fallthrough -Wno-missing-field-initializers -Wno-maybe-uninitialized \
	$(if $(CONFIG_ARM64),-mno-outline-atomics) \
	-Wno-invalid-offsetof -Wframe-larger-than=$(or $(CONFIG_FRAME_WARN),2048) \
	$(smc-includes) -include $(objtree)/include/generated/autoconf.h

# Inline functions and templates come as COMDAT groups, of which `ld -r` keeps one and drops the others.
# Tables made for each object (__mcount_loc, and what objtool adds) would then point into dropped code.
# So functions become local to their object, as `static inline` ones are in C; data stays shared (weak).
# objcopy refuses an empty list, hence its first line, which matches nothing.
cmd_cxx_ungroup = { echo :; $(NM) $@ | sed -n 's/^[0-9a-f]* W //p'; } >$@.inline; \
	$(OBJCOPY) --remove-section=.group --localize-symbols=$@.inline $@

# Kbuild's own command, with the semicolon in front that it has on some kernels only.
cxx-objtool = $(strip $(filter-out ;,$(cmd_objtool)))

quiet_cmd_cxx_o_cc = CXX [M]  $@
      cmd_cxx_o_cc = $(smc-cxx-checked)$(smc-cxx-compiler) -Wp,-MMD,$(depfile) $(smc-cxx-flags) -c -o $@ $<; \
	$(cmd_cxx_ungroup) $(if $(cxx-objtool),; $(cxx-objtool))
