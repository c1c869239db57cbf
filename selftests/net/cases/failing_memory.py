# SPDX-License-Identifier: GPL-2.0-only
"""Allocations fail at random while connections come and go: what a program sees is SMC, TCP or an
errno, and nothing is lost or left behind. Needs a kernel that can make them fail: the debug kernel."""

from contextlib import contextmanager

from churn import (CHURN, PORT, connections_are_gone, no_time_wait, served, smc_works, tally)
from harness import Guest, Skip, case

CONNECTIONS = 120
# How many frames above the allocation a function of ours may be: only its own calls, or also those
# of drivers.
OWN_FRAMES = 8
ALL_FRAMES = 32


@contextmanager
def failing(guest: Guest, percent: int, frames: int):
    failed: dict[str, int] = {}
    with guest.allocations_failing():
        guest.call("failing.start", "smc", percent, frames)
        try:
            yield failed
        finally:
            failed |= guest.call("failing.stop")


def connect(vm, failing_guests: list[Guest], percent: int, frames: int) -> None:
    if any(guest.run("test -d /sys/kernel/debug/failslab", check=False).rc for guest in failing_guests):
        raise Skip("the kernel cannot make allocations fail")
    no_time_wait(*vm.guests)
    smc_works(vm)
    with served(vm.b):
        for guest in failing_guests:
            with failing(guest, percent, frames) as failed:
                result = tally(vm.a.run(f"{CHURN} call {vm.b.ip4} {PORT} -n {CONNECTIONS} -j 4 -t",
                                        timeout_s=240).out)
            assert sum(failed.values()) > 0, f"{guest.name}: nothing failed"
            assert result["served"] > 0, f"{guest.name}: {result}, {failed}"
            guest.say(f"{failed} failed, {result}")
    for guest in vm.guests:
        connections_are_gone(guest)
    smc_works(vm)


@case(on="ours+ours")
def few_of_our_allocations_fail(vm):
    connect(vm, vm.guests, percent=3, frames=OWN_FRAMES)


@case(on="ours+ours")
def many_of_our_allocations_fail(vm):
    connect(vm, vm.guests, percent=30, frames=OWN_FRAMES)


@case(on="ours+ours")
def allocations_of_the_drivers_fail(vm):
    connect(vm, vm.guests, percent=3, frames=ALL_FRAMES)
