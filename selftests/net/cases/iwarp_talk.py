# SPDX-License-Identifier: GPL-2.0-only
"""For cases with soft-iWARP on two guests."""

from contextlib import contextmanager

from churn import stats
from crowd import crowd
from harness import Guest
from harness.iwarp import WRONG

XFER = "build/selftests/smc_xfer"
CTL = "build/tools/smc_ctl"
PORT = 7900


@contextmanager
def serving(server: Guest, port: int = PORT):
    process = server.spawn(f"{XFER} --serve --port {port}")
    process.expect(r"\bready\b")
    try:
        yield
    finally:
        process.kill()
        process.wait(10, check=False)


def transfer(client: Guest, server: Guest, options: str, expect: str = "smcr",
             timeout_s: float = 120) -> None:
    client.run(f"{XFER} --to {server.ip4} --port {PORT} --expect {expect} {options}",
               timeout_s=timeout_s)


def many_connections(vm, count: int, limit_s: float = 200):
    return crowd(vm.a, vm.b, vm.b.ip4, PORT, count, limit_s)


@contextmanager
def nothing_goes_wrong(*guests: Guest):
    """None of what is WRONG is counted meanwhile. Cases before may have had hostile peers."""
    before = [stats(guest) for guest in guests]
    yield
    for guest, then in zip(guests, before):
        now = stats(guest)
        wrong = [name for name in WRONG if now[name] != then[name]]
        assert not wrong, f"{guest.name}: {wrong}"


def both_ways(vm):
    return ((vm.a, vm.b), (vm.b, vm.a))


def wait_for_no_connection(guest: Guest, *peers: str) -> None:
    """Of soft-iWARP's own, to addresses that hostile peers have used."""
    for peer in peers:
        guest.wait_for(f"! ss -Htan dst {peer} | grep -v TIME-WAIT")
