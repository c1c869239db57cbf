# SPDX-License-Identifier: GPL-2.0-only
"""For cases with servers of plain TCP whose SYN-ACKs have the SMC option, by a BPF program in their
cgroup, and with clients that are selected."""

import time
from contextlib import contextmanager

from attaching import sock_ops
from churn import stats
from harness.guest import Guest
from selecting import SWITCH, set_to

CTL = "build/tools/smc_ctl"
# The client looks 2 s and four round trips for a silent server's answer.
SILENCE_S, AT_ONCE_S = 5.0, 1.5


def strange(guest: Guest):
    """A prefix for programs whose listeners answer with the option."""
    return sock_ops(guest, "echo_option")


@contextmanager
def serving(guest: Guest, command: str, port: int, kind: int = 15):
    server = guest.spawn(command)
    guest.wait_for(f"ss -Htln 'sport = :{port}' | grep -q .", timeout_s=60)
    try:
        yield
    finally:
        server.kill(kind)
        server.wait(20, check=False)


TRIES = 3


def costs_once(vm, program: str, first_s: float) -> None:
    """The first connection is made twice, and takes less than first_s longer than by TCP; later
    ones are TCP's from the start. One run of a program may take half as long again as another, and
    on a busy machine several times as long: so one of a few has to be in time."""
    def timed(grown: dict[str, int]) -> float:
        before = stats(vm.a)
        begin_s = time.monotonic()
        vm.a.run(program)
        took_s = time.monotonic() - begin_s
        now = stats(vm.a)
        seen = {name: now[name] - before[name]
                for name in ("selected", "connected_again", "known_stranger", "smcr_client_v2")}
        assert seen == grown, f"{program}: {seen}, and not {grown}"
        return took_s

    alike = {"selected": 1, "smcr_client_v2": 0}
    plain_s = timed(alike | {"selected": 0, "connected_again": 0, "known_stranger": 0})

    def in_time(more_s: float, grown: dict[str, int], flush: bool) -> None:
        took = []
        for _ in range(TRIES):
            if flush:
                vm.a.run(f"{CTL} peers flush")
            took.append(timed(alike | grown))
            if took[-1] < 1.5 * plain_s + more_s:
                return
        raise AssertionError(f"{program}: {took} s, {plain_s:.1f} by TCP")

    with set_to(vm.a, SWITCH, 1):
        in_time(first_s, {"connected_again": 1, "known_stranger": 0}, flush=True)
        for _ in range(3):
            in_time(AT_ONCE_S, {"connected_again": 0, "known_stranger": 1}, flush=False)
