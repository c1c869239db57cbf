# SPDX-License-Identifier: GPL-2.0-only
"""The socket calls of smc_cases: each on TCP and on SMC sockets, with the same result wanted."""

from contextlib import contextmanager

from harness import Guest, case
from harness.iwarp import over_siw
from selecting import needs_selection

PROGRAM = "build/selftests/smc_cases"
PORT = 7200
# All cases twice, with slow readers, on emulated processors.
TIMEOUT_S = 900


@contextmanager
def agent(guest: Guest):
    process = guest.spawn(f"{PROGRAM} --agent --port {PORT}")
    process.expect(r"\bready\b")
    try:
        yield
    finally:
        process.kill()
        process.wait(check=False)


def compare(vm, options: str, address: str | None = None) -> None:
    """Runs the cases with a as client and b as server."""
    for guest in (vm.a, vm.b):
        # smc_cases connects to these addresses, which nobody has. With a neighbour entry the SYN is
        # lost; without one the neighbour lookup fails, early if the guest's clock jumps.
        for nowhere in ("10.9.0.250", "fd09::fefe"):
            guest.run(f"ip neigh replace {nowhere} lladdr 02:00:00:00:00:fa nud permanent dev eth0")
    with agent(vm.b):
        vm.a.run_tap(f"{PROGRAM} --to {address or vm.b.ip4} --port {PORT} {options}", TIMEOUT_S)


@case(on="ours+ours")
def over_smcr(vm):
    compare(vm, "--mode smc --expect smcr")


@case(on="ours+ours")
def over_smcr_by_protocol(vm):
    """By IPPROTO_SMC, which the kernel's own module of 6.1 does not have."""
    compare(vm, "--mode inet --expect smcr --only '[!a-c]*'")


@case(on="ours+ours")
def over_smcr_by_protocol_in_part(vm):
    compare(vm, "--mode inet --expect smcr --only '*[ftn]'")


@case(on="ours+ours")
def over_smcr_by_ulp(vm):
    compare(vm, "--mode ulp --expect smcr --only '[a-k]*'")


@case(on="ours+ours")
def over_smcr_by_selection(vm):
    """Sockets whose program has asked for TCP."""
    needs_selection(vm.a)
    compare(vm, "--mode selected --expect smcr --only '[!a-c]*'")


@case(on="ours+ours")
def over_smcr_of_mixed_kinds(vm):
    compare(vm, "--mode ulp --server-mode inet --expect smcr --only '[k-z]*'")


@case(on="ours+ours")
def over_smcr_other_way_round(vm):
    compare(vm, "--mode smc --expect smcr --role server --only '*[ftn]'")


@case(on="ours+ours")
def over_iwarp(vm):
    with over_siw(vm.a, vm.b):
        compare(vm, "--mode smc --expect smcr")


@case(on="ours+ours")
def over_iwarp_other_way_round(vm):
    """And by IPv6."""
    with over_siw(vm.a, vm.b):
        compare(vm, "--mode smc --expect smcr --role server --only '*[ftn]'", vm.b.ip6)


@case(on="ours+ours")
def ipv6(vm):
    compare(vm, "--mode smc", vm.b.ip6)


@case(on="ours+ours")
def ipv6_by_protocol(vm):
    compare(vm, "--mode inet --only '[a-m]*'", vm.b.ip6)


@case(on="ours+ours")
def ipv6_by_ulp(vm):
    compare(vm, "--mode ulp --only '[m-z]*'", vm.b.ip6)


@case(on="ours+none")
def fallen_back_client(vm):
    compare(vm, "--mode smc --server-mode tcp --expect fallback --client-reason 03010000")


@case(on="ours+none")
def fallen_back_server(vm):
    compare(vm, "--mode tcp --server-mode smc --role server --expect fallback"
                " --server-reason 03010000")


@case(on="ours+ours")
def fallen_back_on_both_sides(vm):
    """Without a common EID: both hosts can do SMC, but not with each other."""
    vm.b.call("smcnl.flush_ueids")
    try:
        compare(vm, "--mode smc --expect fallback --only '[a-m]*'")
    finally:
        vm.b.call("smcnl.add_ueid", vm.b.eid)
