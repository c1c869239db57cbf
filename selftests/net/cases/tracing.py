# SPDX-License-Identifier: GPL-2.0-only
"""Tracepoints. Those that Linux's own module has, too, have its names and fields."""

import re
from contextlib import contextmanager

from harness import Guest, case
from harness.adapters import break_device, inside
from two_sides import ADDRESSES, PORT, XFER, serving, sides, transfer

EVENTS = "/sys/kernel/tracing/events/smc"
# Linux's, and then ours.
FIELDS = {
    "smc_switch_to_fallback": ["sk", "clcsk", "net_cookie", "fallback_rsn"],
    "smc_tx_sendmsg": ["smc", "net_cookie", "len", "name"],
    "smc_rx_recvmsg": ["smc", "net_cookie", "len", "name"],
    "smcr_link_down": ["lnk", "lgr", "net_cookie", "state", "name", "location"],
    "smcr_link_up": ["lnk", "lgr", "net_cookie", "state", "name", "location"],
    "smc_clc_message": ["sk", "net_cookie", "sent", "type", "version", "len"],
    "smc_stall": ["sk", "net_cookie", "peer_is_full"],
}
OF_LINUX = list(FIELDS)[:4]


@contextmanager
def tracing(guest: Guest):
    guest.run(f"echo >/sys/kernel/tracing/trace; echo 1 >{EVENTS}/enable")
    try:
        yield
    finally:
        guest.run(f"echo 0 >{EVENTS}/enable; echo >/sys/kernel/tracing/trace")


def traced(guest: Guest) -> list[str]:
    """Each event so far, without who, where and when."""
    lines = guest.run("cat /sys/kernel/tracing/trace").out.splitlines()
    return [line.split(": ", 1)[1] for line in lines if re.search(r" smcr?_\w+: ", line)]


def fields(guest: Guest, event: str) -> list[str]:
    told = guest.run(f"cat {EVENTS}/{event}/format").out
    names = re.findall(r"field:.*?(\w+)(?:\[[^;]*\])?;", told)
    return [name for name in names if not name.startswith("common_")]


@case(on=["ours", "kernel"])
def events_have_linuxs_names_and_fields(vm):
    ours = vm.specs[0].module == "ours"
    with tracing(vm.a):
        found = vm.a.run(f"cd {EVENTS} && ls -d */").out.replace("/", "").split()
        assert sorted(found) == sorted(FIELDS if ours else OF_LINUX), found
        for event in found:
            assert fields(vm.a, event) == FIELDS[event], fields(vm.a, event)


@case(on="ours")
def a_connection_and_the_loss_of_its_link(vm):
    with sides(vm.a), tracing(vm.a):
        transfer(vm.a, "left", "right", "--up 500000 --down 1000 --rcvbuf 16384 --read-pause 5")
        events = traced(vm.a)
        clc = [event for event in events if event.startswith("smc_clc_message")]
        assert [re.search(r"(sent|received) (\w+) version=(\d)", one).groups() for one in clc] == [
            (way, what, "2") for what in ("PROPOSAL", "ACCEPT", "CONFIRM")
            for way in ("sent", "received")], clc
        for side in "left", "right":
            assert any(re.match(f"smcr_link_up: .* state=3 dev=sim-{side} location=", event)
                       for event in events), events
        moved = {name: sum(int(re.search(r"len=(\d+) dev=sim-", event)[1])
                           for event in events if event.startswith(name))
                 for name in ("smc_tx_sendmsg", "smc_rx_recvmsg")}
        # The program's own messages are among them.
        assert all(501000 <= size < 502000 for size in moved.values()), moved
        assert any(event.startswith("smc_stall: ") for event in events), "a ring was never full"

        break_device(vm.a, "left", "queue_pairs")
        vm.a.wait_for("grep -q 'smcr_link_down: .* dev=sim-left' /sys/kernel/tracing/trace")
    with sides(vm.a), tracing(vm.a):
        vm.a.run(f"{inside('left')} build/tools/smc_ctl rules add deny")
        with serving(vm.a, "right"):
            vm.a.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                     " --expect fallback --up 1000")
        events = traced(vm.a)
        reasons = [re.search(r"fallback_rsn=(\d+)", event)[1] for event in events
                   if event.startswith("smc_switch_to_fallback: ")]
        assert len(reasons) == 2, events
        assert not any(event.startswith("smc_tx_sendmsg") for event in events), events
