# SPDX-License-Identifier: GPL-2.0-only
"""A peer that goes in the middle of many handshakes and short transfers at once: every call returns
in time, nothing stays behind, and once it is back so is SMC-R."""

import time
from contextlib import contextmanager

from churn import CHURN, PORT, connections_are_gone, no_time_wait, served, smc_works, tally
from harness import Guest, case

# The longest timeout of CLC or LLC, then that of a TCP connection without answers.
CALL_MS_MAX = 40000
LOAD_S = 8


@contextmanager
def impatient(guest: Guest):
    """Lowers TCP's limits, which an administrator may set; by default it waits for a quarter of an
    hour."""
    limits = {"net.ipv4.tcp_syn_retries": 2, "net.ipv4.tcp_retries2": 5,
              "net.smc.smcr_testlink_time": 2}
    before = {name: guest.run(f"sysctl -n {name}").out.strip() for name in limits}
    try:
        for name, value in limits.items():
            guest.run(f"sysctl -q {name}={value}")
        yield
    finally:
        for name, value in before.items():
            guest.run(f"sysctl -q {name}={value}")


def load(vm, seconds: int = LOAD_S):
    no_time_wait(*vm.guests)
    process = vm.a.spawn(f"{CHURN} call {vm.b.ip4} {PORT} -j 8 -s {seconds} -t")
    process.expect("calling")
    return process


def check(result: dict[str, int]) -> None:
    assert result["worst_ms"] <= CALL_MS_MAX, f"a call did not return in time: {result}"
    assert result["served"] > 0, result


@case(on="ours+ours", fresh=True)
def peer_freezes_in_handshakes(vm):
    """Connections of the host to itself are not delayed meanwhile."""
    smc_works(vm)
    with impatient(vm.a), served(vm.b), served(vm.a):
        calling = load(vm)
        time.sleep(2)
        vm.b.machine.freeze()
        try:
            start_s = time.monotonic()
            vm.a.run(f"{CHURN} call {vm.a.ip4} {PORT} -n 3", timeout_s=30)
            took_s = time.monotonic() - start_s
            result = tally(calling.wait(90).out)
        finally:
            vm.b.machine.thaw()
        assert took_s < 10, f"bystanders took {took_s:.1f} s"
        check(result)
        assert result["failed"] > 0, f"nobody noticed: {result}"
        smc_works(vm)
    for guest in vm.guests:
        connections_are_gone(guest)


@case(on="ours+ours", fresh=True)
def cable_is_pulled_in_handshakes(vm):
    with impatient(vm.a), impatient(vm.b), served(vm.b):
        calling = load(vm)
        time.sleep(2)
        vm.b.machine.set_link(False)
        try:
            result = tally(calling.wait(90).out)
        finally:
            vm.b.machine.set_link(True)
        check(result)
        vm.a.wait_for(f"ping -c 1 -W 1 {vm.b.ip4}")
        smc_works(vm)
    for guest in vm.guests:
        connections_are_gone(guest)


@case(on="ours+ours")
def programs_are_killed_in_handshakes(vm):
    """The client's programs, then the server's, several times."""
    for _ in range(4):
        with served(vm.b):
            calling = load(vm)
            time.sleep(0.5)
            calling.kill(9)
            calling.wait(10, check=False)
            calling = load(vm, 4)
            time.sleep(0.5)
        # Without a server the client goes on calling.
        result = tally(calling.wait(60).out)
        assert result["worst_ms"] < 15000, result
    smc_works(vm)
    for guest in vm.guests:
        connections_are_gone(guest)
