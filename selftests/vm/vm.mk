# SPDX-License-Identifier: GPL-2.0-only
#
# What runs in guests. Each part prints TAP and leaves "N passed, N failed" in build/results/<part>.
#
#   make selftest [KERNEL=6.1] [ONLY=regex]        programs and cases on one kernel, or on all
#   make interop [TOPOLOGY=regex] [ONLY=regex]     every pair of modules, both roles
#   make harness-test                              that the harness itself can fail
#   make demo                                      what the module does, shown on real programs

VM := selftests/vm
# Of Debian's names: whose guests an emulator runs.
OTHER_MACHINES := arm64 s390x
CASE_OPTIONS = $(if $(ONLY),--only '$(ONLY)') $(if $(TOPOLOGY),--topology '$(TOPOLOGY)')

.PHONY: $(OTHER_MACHINES:%=guest-programs-%) vm-modules own-option no-rdma test-programs harness-test selftest interop demo \
	$(KERNELS:%=check-selftest-%) check-selftest-rt $(OTHER_MACHINES:%=check-selftest-%) \
	check-interop check-interop-7.2

# One smc.ko for each kernel that guests boot.
vm-modules:
	+@set -e; for kernel in $(KERNELS); do $(MAKE) module KVER=$$kernel; done

# One for 6.12 that does without what its TCP does for it: "ours@6.12:own".
own-option:
	+@$(MAKE) module KVER=6.12 BUILD=$(BUILD)/own-option SMC_OWN_OPTION=y

# One for 6.12 as if it had been built without RDMA: "ours@6.12:no-rdma".
no-rdma:
	+@$(MAKE) module KVER=6.12 BUILD=$(BUILD)/no-rdma CONFIG_INFINIBAND=

test-programs:
	+@$(MAKE) -C selftests/net

# Both, and the tools, for guests of another architecture, by this machine's headers of the libraries.
triplet-arm64 := aarch64-linux-gnu
triplet-s390x := s390x-linux-gnu
# Not among what `make deps` installs.
deps-s390x := big-endian

$(OTHER_MACHINES:%=guest-programs-%): guest-programs-%:
	@$(if $(deps-$*),scripts/fetch/install-deps $(deps-$*))
	@mkdir -p $(BUILD)/selftests $(BUILD)/tools
	+@$(MAKE) -C selftests/net OUT=$(abspath $(BUILD)/$*/selftests) CC=$(triplet-$*)-gcc-12
	+@root=$$(scripts/fetch/guest-root $*) && \
		$(MAKE) tools TOOLS_OUT=$(BUILD)/$*/tools HOSTCC=$(triplet-$*)-gcc-12 HOSTCXX=$(triplet-$*)-g++-12 \
			TOOLS_CXXFLAGS='-idirafter /usr/include' TOOLS_LDFLAGS=--sysroot=$$root

harness-test:
	@$(VM)/check-harness

selftest: vm-modules own-option no-rdma test-programs tools
	@set -e; for kernel in $(or $(KERNEL),$(KERNELS)); do \
		usual=; [ $$kernel = 6.12 ] || usual='--topology ^[^:]*$$'; \
		$(VM)/run-cases --kernel $$kernel --result selftest-$$kernel $$usual $(CASE_OPTIONS) \
			$(sort $(wildcard selftests/net/cases/*.py $(VM)/cases/*.py)); \
	done

interop: vm-modules own-option no-rdma test-programs $(OTHER_MACHINES:%=guest-programs-%)
	+@set -e; for machine in $(OTHER_MACHINES); do $(MAKE) module KVER=6.12-$$machine; done
	@$(VM)/run-cases --result interop $(CASE_OPTIONS) $(sort $(wildcard selftests/interop/*.py))

# What `make check` runs of the two above, so that all of it fits into an hour. The
# whole of them is for running by hand: make selftest, make interop.
CHECK_FILES_6.12 := adapter adapter_faults adapter_iwarp attached busy_poll capture check configuration containers control ends smc_run install hostile_clc iwarp iwarp_links links loopback misuse rules selection selection_tools sleepers strangers \
	takeover tracing socket_calls stand_churn vlan
CHECK_FILES_6.1 := adapter ends iwarp smc_run loopback
RT_FILES := adapter control smc_run loopback selection takeover tcp_option races stand_churn
CHECK_FILES_7.2 := adapter ends smc_run loopback takeover tcp_option
CHECK_FILES_5.10 := smc_run loopback
CHECK_BY_HAND := a_pod_on_ipvlan|over_smcd($$|_by|_without_rdma)|fallen_back|unloading|device_comes|port_goes|without_the_
# On 6.12 the module writes the option by hand only (on 7.2 it does always: tcp_option.py), and has RDMA.
CHECK_OPTIONS_6.12 := --topology '^[^:]*$$'
# Nor with hardware of other kinds, which 6.12's guests have.
CHECK_OPTIONS_6.1 := --hardware '^$$'
CHECK_OPTIONS_7.2 := --topology '^ours@7.2' --hardware '^$$'
BY_HAND_TCP_OPTION := repeated_syns|lossy_ways|signed_segments|segments_with_tcp_ao|through_a|with_and_without|a_probe_while
# A pass over all socket calls takes five minutes: one, on 6.12.
CHECK_BY_HAND_6.12 := connections_are_spread|rings_grow|switched_under|rules_are_shown|whenever|a_namespace_is_not_kept|hostile_servers$$|unit_is_selected|modprobe_deselects|connections_share|kinds_of_devices|verbs_that|connections_move_on_bounced|in_epoll|an_address_that|namespaces_inherit|devices_of_one|one_link_is_wanted|rules_for_ipv6|a_pod_uses_the_port|a_name_that|scattered_buffers|one_piece|connections_of_version_1_move|connections_move_when|ports_lose|a_device_goes_and_comes|a_thousand_connections|posts_that|work_that|completions_that|over_smcr_|over_iwarp|ipv6(_by|$$)|ports_get_their|compact_messages|buffers_are_used_again|many_small_messages|ports_that_tcp_has|a_firewall_hides|a_stream_gets|late_work|many_share|links_that_break|both_links_break|both_ports_go|one_of_two_devices|hundreds_move|connections_go_on_over|nothing_comes|hostile_servers_of|hostile_clients_of|by_a_vlan|a_cable_is|a_cluster_configures|messages_wait_for_a_short|what_was_lost_is|a_connection_and_the_loss
# Of iWARP, whether it works at all.
IWARP_BY_HAND := by_a_vlan|a_cable_is|a_device_goes|a_thousand|a_firewall|buffers_are|by_ipv6|links_are_shown|many_small|others_use|ports_that|strangers_at
CHECK_BY_HAND_6.1 := $(IWARP_BY_HAND)|compact_messages|connections_share|version_1|one_piece|handshakes_meet|rings_grow|messages_wait_for_a_short|kinds_of|devices_that_lead|a_pod|a_ring_that|link_group_|one_that_stays|an_address_that|devices_of_one|namespaces_inherit|whenever|buffers_larger|scattered_buffers|ipv6(_by|$$)
CHECK_BY_HAND_7.2 := $(CHECK_BY_HAND_6.1)|$(BY_HAND_TCP_OPTION)|moves_to|switched_under|unloaded_under|locks_that|a_namespace_that_ends
CHECK_BY_HAND_5.10 := $(CHECK_BY_HAND_6.1)|the_protocol_it_uses
CHECK_BY_HAND_INTEROP := both_links_are|connections_outlive_a_(link_version_1|port)
CHECK_TOPOLOGIES := ^ours@6.12\+(ours|kernel|none)@6.12$$

$(KERNELS:%=check-selftest-%): check-selftest-%: test-programs tools
	+@$(MAKE) module KVER=$*
	@$(VM)/run-cases --kernel $* --result selftest-$* \
		--only '^(?!$(CHECK_BY_HAND)|$(CHECK_BY_HAND_$*))' $(CHECK_OPTIONS_$*) \
		$(CHECK_FILES_$*:%=selftests/net/cases/%.py)

check-interop: test-programs
	+@$(MAKE) module KVER=6.12
	@$(VM)/run-cases --result interop --topology '$(CHECK_TOPOLOGIES)' \
		--only '^(?!$(CHECK_BY_HAND_INTEROP))' \
		$(sort $(wildcard selftests/interop/*.py))

# Debian's 6.12 with PREEMPT_RT, or RT=6.1's. By hand, and in make check-all.
rt-release = $(patsubst %-amd64,%-rt-amd64,$(shell scripts/fetch/fetch-kernel $(or $(RT),6.12)))
check-selftest-rt: test-programs tools
	+@$(MAKE) module KVER=$(rt-release)
	@$(VM)/run-cases --kernel $(rt-release) --result selftest-rt --topology 'rt-amd64' \
		--only '^(?!$(CHECK_BY_HAND)|$(CHECK_BY_HAND_7.2))|under_load|a_thousand_opened' \
		$(RT_FILES:%=selftests/net/cases/%.py)

# On an emulated processor: by itself, and with amd64 in both roles. By hand, and in make check-all.
OTHER_FILES := adapter loopback
OTHER_BY_HAND := $(CHECK_BY_HAND)|$(CHECK_BY_HAND_7.2)

$(OTHER_MACHINES:%=check-selftest-%): check-selftest-%: test-programs tools guest-programs-%
	+@$(MAKE) module KVER=6.12
	+@$(MAKE) module KVER=6.12-$*
	@$(VM)/run-cases --kernel 6.12-$* --result selftest-$* --topology '6\.12-$*' \
		--only '$(or $(ONLY),^(?!$(OTHER_BY_HAND)))' \
		$(OTHER_FILES:%=selftests/net/cases/%.py) $(sort $(wildcard selftests/interop/*.py))

# A kernel without an smc.ko of its own meets the one of 6.12.
check-interop-7.2: test-programs
	+@$(MAKE) module KVER=7.2
	@$(VM)/run-cases --result interop-7.2 --topology '^ours@7.2\+kernel@6.12$$' \
		--only '^(large|many_at_once|falls_back_without_a_common)' selftests/interop/smcr.py

demo:
	@selftests/demo/demo


# --- on the debug kernel ------------------------------------------------------------------------
#
#   make debug-kernel             builds it (scripts/fetch/debug-kernel); again only when it has to
#   make debug [ONLY=regex]       the cases of `make check` on it, and that its detectors detect
#   make faults [ONLY=regex]      each allocation fails once there, and cables are pulled
#   make bad-wire [ONLY=regex]    cables are pulled on a stock kernel, which is quick enough for retries

DEBUG_FILES := $(CHECK_FILES_6.12) tcp_option failing_memory
# One boot: a debug kernel, and a stock one as its peer.
FAULTS_FILES := fault_sweep cable
# Peers other than ours stay on a stock kernel: what is wrong with them is not looked for.
DEBUG_TOPOLOGIES := ^ours@debug\+(ours@debug|(kernel|none)@6.12)$$

.PHONY: debug-kernel debug debug-deps faults bad-wire check-debug-harness check-debug-selftest check-debug-interop \
	check-faults

debug-kernel: debug-deps
	@scripts/fetch/debug-kernel

debug-deps:
	@scripts/fetch/install-deps build vm capture debug-kernel

debug: debug-kernel
	@scripts/check/run check-debug-harness check-debug-selftest check-debug-interop

check-debug-harness:
	@$(VM)/check-harness --debug

check-debug-selftest: test-programs tools
	+@$(MAKE) module KVER=debug
	@$(VM)/run-cases --kernel debug --result selftest-debug $(CHECK_OPTIONS_6.12) \
		--only '$(or $(ONLY),^(?!$(CHECK_BY_HAND)|$(BY_HAND_TCP_OPTION)|$(CHECK_BY_HAND_6.12)))' \
		$(DEBUG_FILES:%=selftests/net/cases/%.py)

check-debug-interop: test-programs
	+@$(MAKE) module KVER=debug
	@$(VM)/run-cases --result interop-debug --substitute ours@6.12=ours@debug $(if $(ONLY),--only '$(ONLY)') \
		--topology '$(DEBUG_TOPOLOGIES)' \
		$(sort $(wildcard selftests/interop/*.py))

faults: debug-kernel
	@scripts/check/run check-faults

check-faults: test-programs
	+@$(MAKE) module KVER=debug
	+@$(MAKE) module KVER=6.12
	@$(VM)/run-cases --kernel debug --result faults $(if $(ONLY),--only '$(ONLY)') \
		$(FAULTS_FILES:%=selftests/net/cases/%.py)

bad-wire: test-programs
	+@$(MAKE) module KVER=6.12
	@$(VM)/run-cases --kernel 6.12 --result bad-wire $(if $(ONLY),--only '$(ONLY)') \
		selftests/net/cases/cable.py
