# SPDX-License-Identifier: GPL-2.0-only
"""Each allocation of an operation fails once: the first, then the second, … until none of them is
the n-th any more. Each time the operation ends by SMC, by TCP or with an errno, in time, and after
it all a connection uses SMC again. Needs a kernel that can make them fail: the debug kernel."""

import re
from contextlib import contextmanager

from churn import CHURN, connections_are_gone, no_time_wait, served, smc_works, stats
from harness import Guest, Skip, case

SWEEP = "build/selftests/smc_sweep"
PORT = 7640
# How many frames above the allocation the code under test may be. The page allocator has more
# frames of its own; with 16 the allocations of rxe, which sends inside post_send(), would count as
# ours.
OWN_FRAMES = {"failslab": 8, "fail_page_alloc": 14}
ALL_FRAMES = {"failslab": 32, "fail_page_alloc": 32}
CALL_S = 30
FIRST_CONTACT = "-d eth0"
ADD_DEVICE = "rdma link add rxe0 type rxe netdev eth0 2>/dev/null"
REMOVE_DEVICE = "rdma link delete rxe0 2>/dev/null"


def sweep(guest: Guest, operation: str, options: str = "", frames: dict[str, int] = OWN_FRAMES,
          **place: str) -> dict[str, int]:
    """Counts how the steps of a sweep ended, for both kinds of allocation. place: the module or
    function below which allocations fail; ours if not given."""
    where = guest.call("failing.places", **(place or {"module": "smc"}))
    total = {"swept": 0, "smc": 0, "tcp": 0, "refused": 0}
    for kind, depth in frames.items():
        with guest.allocations_failing():
            out = guest.run(f"{SWEEP} {operation} -k {kind} -b {where['below']}"
                            f" -s {where['spared']} -f {depth} -l {CALL_S * guest.patience}"
                            f" {options}", timeout_s=240).out
        found = re.search(r"swept (\d+) smc (\d+) tcp (\d+) refused (\d+)", out)
        assert found, f"no result: {out!r}"
        guest.say(f"{operation} {kind}: {found[0]}")
        for name, count in zip(total, map(int, found.groups())):
            total[name] += count
    return total


def can_fail(guest: Guest) -> None:
    if guest.run("test -d /sys/kernel/debug/failslab", check=False).rc:
        raise Skip("the kernel cannot make allocations fail")


@contextmanager
def partner(guest: Guest):
    process = guest.spawn(f"{SWEEP} serve {PORT} -l {CALL_S * guest.patience}")
    process.expect(r"\bready\b")
    try:
        yield
    finally:
        process.kill(9)
        process.wait(10, check=False)


def reasons_counted(guest: Guest) -> int:
    return sum(guest.call("smcnl.counters")["reasons"].values())


def connections(vm, peer: Guest, operation: str, options: str = "") -> dict[str, int]:
    """A sweep over connections between vm.a and its peer. Each fallback has a reason."""
    can_fail(vm.a)
    no_time_wait(*vm.guests)
    to, by = ("127.0.0.1", "smcd") if peer is vm.a else (peer.ip4, "smcr")
    for guest in vm.guests:
        connections_are_gone(guest)
    before, reasons = stats(vm.a), reasons_counted(vm.a)
    with partner(peer):
        total = sweep(vm.a, operation, f"-t {to}:{PORT} -x {by} {options}")
    for guest in vm.guests:
        connections_are_gone(guest)
    now, reasons_now = stats(vm.a), reasons_counted(vm.a)
    fallbacks = sum(now[f"{role}_fallback"] - before[f"{role}_fallback"]
                    for role in ("client", "server"))
    assert reasons_now - reasons == fallbacks >= total["tcp"], \
        f"{fallbacks} fallbacks with {reasons_now - reasons} reasons: {total}"
    if FIRST_CONTACT in options:
        # The peer may still offer the last link, since it has not noticed its end yet.
        with served(vm.b, PORT + 1):
            vm.a.run(f"{CHURN} call {vm.b.ip4} {PORT + 1} -n 1")
    smc_works(vm)
    return total


def something_failed(total: dict[str, int]) -> None:
    assert total["swept"] > 0 and total["refused"] > 0, total


@case(on="ours+ours@6.12")
def a_socket(vm):
    can_fail(vm.a)
    something_failed(sweep(vm.a, "socket", frames=ALL_FRAMES))


@case(on="ours+ours@6.12")
def a_network_namespace(vm):
    can_fail(vm.a)
    something_failed(sweep(vm.a, "namespace", frames=ALL_FRAMES))


@case(on="ours+ours@6.12")
def connect_inside_the_host(vm):
    """Client and server are in one kernel, so the allocations of both ends fail."""
    something_failed(connections(vm, vm.a, "connect"))


@case(on="ours+ours@6.12")
def accept_inside_the_host(vm):
    something_failed(connections(vm, vm.a, "accept"))


@case(on="ours+ours@6.12")
def connect_for_the_first_time(vm):
    something_failed(connections(vm, vm.b, "connect", FIRST_CONTACT))


@case(on="ours+ours@6.12")
def connect_once_more(vm):
    something_failed(connections(vm, vm.b, "connect"))


@case(on="ours+ours@6.12")
def accept_for_the_first_time(vm):
    something_failed(connections(vm, vm.b, "accept", FIRST_CONTACT))


@case(on="ours+ours@6.12")
def accept_once_more(vm):
    something_failed(connections(vm, vm.b, "accept"))


@case(on="ours+ours@6.12")
def send_and_receive(vm):
    """The connection has allocated all that they need: no call needs memory. In a run's first step
    the kernel allocates one object with __GFP_NOWARN, and the calls succeed without it; which code
    that is, is not known."""
    total = connections(vm, vm.b, "talk")
    assert total["swept"] <= len(OWN_FRAMES), f"they ask for memory: {total}"
    assert total["refused"] == total["tcp"] == 0, f"they depend on it: {total}"


@case(on="ours+ours@6.12")
def the_device(vm):
    """A device that appears while memory fails is not used; the next time it is."""
    can_fail(vm.a)
    total = sweep(vm.a, "command", f"-r '{REMOVE_DEVICE}' '{ADD_DEVICE}'")
    assert total["swept"] > 0, total
    assert [device["name"] for device in vm.a.call("smcnl.devices")] == ["rxe0"]
    smc_works(vm)


@case(on="ours+ours@6.12")
def the_module(vm):
    """The module is loaded completely, or insmod fails."""
    can_fail(vm.a)
    vm.a.unload_module()
    # From the shared tree each step would take much longer to read it.
    vm.a.run("cp $(modinfo -n smc) /run/smc.ko")
    something_failed(sweep(vm.a, "module", "/run/smc.ko", ALL_FRAMES, symbol="do_init_module"))
    vm.a.unload_module()
    vm.a.load_module()
    smc_works(vm)
