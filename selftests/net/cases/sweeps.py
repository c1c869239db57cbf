# SPDX-License-Identifier: GPL-2.0-only
"""For cases in which an adapter does something wrong (selftests/adapter): at the first opportunity, then at the
second, … until there is none. The connection is SMC or TCP, or it is reset once it is SMC; the next one is SMC
again, whatever happened to this one."""

from harness import Guest
from harness.adapters import SIDES, break_device, counters, inside, set_fault
from two_sides import ADDRESSES, PORT, XFER, serving, sides, transfer

# Of one kind; a transfer has no end of opportunities for some.
MOST = 5
# Of a connection manager: the client connects.
ONLY_ON = {"connect": ("left",), "accept": ("right",)}
# What a program may say of a connection that was lost.
LOST = ("reset", "Broken pipe")


def groups_end(guest: Guest, side: str) -> None:
    guest.wait_for(f"test -z \"$({inside(side)} build/tools/smc_ctl groups)\"", 30)


def end_groups(guest: Guest) -> None:
    """So that the next connection makes a group, with all that belongs to one."""
    for side in SIDES:
        break_device(guest, side, "queue_pairs")
        groups_end(guest, side)


def attempt(guest: Guest, may_stall: bool) -> None:
    """A transfer, first contact and later one, that may be TCP or lost, but not wrong."""
    result = guest.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                       " --connections 2 --up 30000 --down 30000 --timeout 40", check=False,
                       timeout_s=80)
    said = result.out + result.err
    lost = any(word in said for word in LOST)
    assert result.rc == 0 or lost or (may_stall and "time" in said), \
        f"status {result.rc}: {said}"


def sweep(guest: Guest, side: str, fault: str, may_stall: bool = False) -> int:
    """Returns how often the fault has happened."""
    times = 0
    with serving(guest, "right"):
        for calls in range(1, MOST + 1):
            end_groups(guest)
            before = counters(guest, side)["faults"]
            set_fault(guest, side, fault, calls)
            attempt(guest, may_stall)
            if counters(guest, side)["faults"] == before:
                set_fault(guest, side, fault, 0)
                break
            times += 1
        end_groups(guest)
    transfer(guest, "left", "right", "--up 1000 --down 1000")
    return times


def sweep_all(guest: Guest, faults: tuple[str, ...], may_stall: bool = False, options: str = "") -> None:
    with sides(guest, options=options):
        for side in SIDES:
            # A queue pair that breaks cannot tell its peer, which finds out by asking.
            guest.run(f"{inside(side)} sysctl -q net.smc.smcr_testlink_time=2")
        for fault in faults:
            for side in ONLY_ON.get(fault, SIDES):
                times = sweep(guest, side, fault, may_stall)
                guest.say(f"{fault} {side}: {times}")
                assert times, f"{fault} never happened on the {side} side"
