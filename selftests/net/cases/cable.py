# SPDX-License-Identifier: GPL-2.0-only
"""Transfers over a bad wire, and over one that is cut: each byte arrives, unharmed and in order, or
both ends get an error, soon. No end of the stream before the last byte, and SMC-R works again."""

import json
import re
import time
from contextlib import contextmanager

from churn import CHURN, connections_are_gone, served, smc_works
from harness import Guest, case
from held import ERRORS, Held, ended

XFER = "build/selftests/smc_xfer"
PORT = 7660
# At least twelve seconds on any machine, so that the transfer can be disturbed in the middle.
TRANSFER = "--connections 3 --parallel 3 --up 2000003 --down 1000003 --read-pause 400"
# An end that only waits, and that the peer's reset cannot reach, notices by the heartbeat after 30
# to 60 s.
TRANSFER_S = 100
# Before the heartbeat could notice.
TOLD_S = 25
UNDER_WAY_BYTES = 300_000
BAD_S = 3
TRIES = 3
# A queue pair gives up after 1.9 s.
SILENCE_S = 15
REMAINS_S = 30
SETUP_S = 30
FAIR_ERROR = re.compile(r"(send|recv) after \d+ bytes: (Connection reset by peer|Broken pipe|"
                        r"Software caused connection abort|Connection timed out|Network is down|"
                        r"No route to host)$")


class Transfer:
    """A transfer that runs in the background."""

    def __init__(self, vm) -> None:
        self._server = vm.b.spawn(f"{XFER} --serve --port {PORT}")
        self._server.expect(r"\bready\b")
        self._client = vm.a.spawn(f"{XFER} --to {vm.b.ip4} --port {PORT} {TRANSFER}"
                                  f" --timeout {TRANSFER_S * vm.a.patience}")

    def result(self) -> dict:
        """The result that smc_xfer prints."""
        out = self._client.wait(TRANSFER_S + 30, check=False).out
        self._server.kill()
        self._server.wait(10, check=False)
        assert out.startswith("{"), f"no result: {out!r}"
        return json.loads(out)


def unharmed_or_ended(result: dict) -> None:
    for end in ("client", "server"):
        if result["ok"]:
            assert result[end]["smcr"] == result["connections"], f"not all by SMC-R: {result}"
            continue
        assert result[end]["failures"] > 0, f"the {end} knows nothing of it: {result}"
        error = result[end]["error"].split(": ", 1)[1]
        assert FAIR_ERROR.match(error), f"{end}: {error}: {result}"


def under_way(vm) -> None:
    """Waits until bytes move both ways."""
    before = vm.a.call("smcnl.counters")
    deadline_s = time.monotonic() + 30 * vm.a.patience
    while time.monotonic() < deadline_s:
        now = vm.a.call("smcnl.counters")
        if all(now[name] >= before[name] + UNDER_WAY_BYTES for name in ("tx_bytes", "rx_bytes")):
            return
    raise AssertionError(f"nothing moves: {before}, {now}")


def works_again(vm) -> None:
    with served(vm.b, PORT + 1):
        vm.a.wait_for(f"{CHURN} call {vm.b.ip4} {PORT + 1} -n 1", REMAINS_S)
    smc_works(vm)
    for guest in vm.guests:
        connections_are_gone(guest)


@contextmanager
def wire(guest: Guest, netem: str):
    """Changes the queue that the guest sends through."""
    guest.run(f"tc qdisc replace dev eth0 root netem {netem}")
    try:
        yield
    finally:
        guest.run("tc qdisc del dev eth0 root")


def disturbed(vm, disturb) -> dict:
    """Disturbs a transfer under way: every byte arrives, or both ends get an error."""
    smc_works(vm)
    transfer = Transfer(vm)
    under_way(vm)
    disturb()
    result = transfer.result()
    vm.a.say(f"{result['ms']} ms, {result['client']['error']}, {result['server']['error']}")
    unharmed_or_ended(result)
    works_again(vm)
    return result


def bad(vm, netem: str, seconds: float):
    """The wire is bad for so long, while every port stays up."""
    def disturb() -> None:
        with wire(vm.a, netem), wire(vm.b, netem):
            time.sleep(seconds)

    return disturb


def made_up_for(vm, netem: str) -> None:
    """The queue pairs' retries hide the losses if the guests are fast enough: in at least one
    transfer of three. On the debug kernel it is enough that both ends get an error otherwise."""
    for _ in range(TRIES):
        result = disturbed(vm, bad(vm, netem, BAD_S))
        if result["ok"] or vm.a.patience > 1:
            return
    raise AssertionError(f"none of {TRIES} came through: {result}")


@case(on="ours+ours@6.12")
def one_of_a_hundred_is_lost(vm):
    made_up_for(vm, "loss 1%")


@case(on="ours+ours@6.12")
def some_overtake_others(vm):
    made_up_for(vm, "delay 5ms reorder 90% 50%")


@case(on="ours+ours@6.12")
def some_come_twice(vm):
    made_up_for(vm, "duplicate 10%")


@case(on="ours+ours@6.12")
def one_of_ten_is_lost(vm):
    """Whether the retries succeed is random."""
    disturbed(vm, bad(vm, "loss 10%", BAD_S))


@case(on="ours+ours@6.12")
def one_of_three_is_lost(vm):
    disturbed(vm, bad(vm, "loss 30%", BAD_S))


def broke(result: dict) -> None:
    assert not result["ok"], f"nothing happened to it: {result}"


@case(on="ours+ours@6.12")
def silence(vm):
    """No packet for longer than the retries last."""
    broke(disturbed(vm, bad(vm, "loss 100%", SILENCE_S)))


@case(on="ours+ours@6.12")
def cable_is_pulled(vm):
    """At either end, for a moment, and for longer than the retries."""
    for guest, seconds in ((vm.a, 0.2), (vm.b, 5)):
        def disturb() -> None:
            guest.machine.set_link(False)
            time.sleep(seconds)
            guest.machine.set_link(True)

        disturbed(vm, disturb)


@case(on="ours+ours@6.12")
def interface_goes_down_and_up(vm):
    """At either end, for a moment, which need not end connections, and for longer than the
    retries."""
    for guest, seconds, hurts in ((vm.a, 0, False), (vm.b, 8, True)):
        result = disturbed(vm, lambda: guest.run(f"ip link set eth0 down && sleep {seconds} &&"
                                                 " ip link set eth0 up"))
        if hurts:
            broke(result)


@contextmanager
def no_rdma(guest: Guest):
    """The guest's RoCE packets are dropped, and its TCP segments are not."""
    # The first command loads modules, which takes long on a busy machine.
    guest.run("modprobe -a sch_prio sch_netem cls_u32", timeout_s=180)
    try:
        guest.run("tc qdisc add dev eth0 root handle 1: prio"
                  " && tc qdisc add dev eth0 parent 1:3 handle 30: netem loss 100%"
                  " && tc filter add dev eth0 parent 1: protocol ip u32"
                  " match ip protocol 17 0xff match ip dport 4791 0xffff flowid 1:3")
        yield
    finally:
        guest.run("tc qdisc del dev eth0 root")


def transferred(vm) -> dict:
    process = vm.b.spawn(f"{XFER} --serve --port {PORT + 3}")
    process.expect(r"\bready\b")
    out = vm.a.run(f"{XFER} --to {vm.b.ip4} --port {PORT + 3} --connections 2 --parallel 2"
                   f" --up 1003 --down 2003 --timeout {SETUP_S * vm.a.patience}",
                   check=False, timeout_s=3 * SETUP_S).out
    process.kill()
    process.wait(10, check=False)
    assert out.startswith("{"), f"no result: {out!r}"
    return json.loads(out)


@case(on="ours+ours@6.12")
def without_fabric(vm):
    """RDMA's packets are lost from the start, or since the last connection. TCP's are not, and
    carry the data."""
    for guest in vm.guests:
        guest.unload_module()
        guest.load_module()
    for _ in ("from the start", "since the last connection"):
        with no_rdma(vm.b):
            result = transferred(vm)
            assert result["ok"], result
            assert result["client"]["smcr"] == result["server"]["smcr"] == 0, result
        works_again(vm)


@case(on="ours+ours@6.12")
def one_that_waits_is_told(vm):
    """An end only waits while its peer loses the link: it gets an error before the heartbeat would
    notice."""
    held = Held(vm, PORT + 2, server="--send")
    with no_rdma(vm.b):
        assert ended(held.server, TOLD_S) in ERRORS
        assert ended(held.client, TOLD_S) in ERRORS
    works_again(vm)


@case(on="ours+ours@6.12")
def device_is_removed_and_added(vm):
    for guest in vm.guests:
        broke(disturbed(vm, lambda: guest.run("rdma link delete rxe0 &&"
                                              " rdma link add rxe0 type rxe netdev eth0")))
