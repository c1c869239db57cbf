# SPDX-License-Identifier: GPL-2.0-only
"""Programs between two network namespaces with two ports each, which lose one link after the
other: they notice nothing."""

import sys
from contextlib import contextmanager

from guestroot import SMC_RUN, complete
from harness import Guest, case
from harness.adapters import SIDES, inside, rdma_device, second_device
from harness.paths import ROOT

sys.path.append(str(ROOT / "selftests" / "net" / "cases"))

from two_ports import break_link, moved, statistic, two_ports, wait_for_links
from two_sides import ADDRESSES

STOP = "/run/stop"
LOSSES = 100
REDIS_PORT, IPERF_PORT = 6379, 5201


@contextmanager
def serving(guest: Guest, command: str, port: int):
    server = guest.spawn(f"exec {inside('right')} {SMC_RUN} {command}")
    try:
        guest.wait_for(f"{inside('right')} ss -Htln 'sport = :{port}' | grep -q .", 60)
        yield
    finally:
        server.kill()
        server.wait(30, check=False)


def lose_links(guest: Guest, count: int) -> None:
    """One after the other, either end's, the first port's and the second's."""
    for i in range(count):
        wait_for_links(guest, 2)
        side = list(SIDES)[i % 2]
        break_link(guest, second_device(side) if i // 2 % 2 else rdma_device(side))


@contextmanager
def repeated(guest: Guest, client: str):
    """Runs the client again and again until the end. Each time it has to succeed."""
    guest.run(f"rm -f {STOP}")
    process = guest.spawn(f"while [ ! -e {STOP} ]; do"
                          f" {inside('left')} {SMC_RUN} {client} || exit 1; echo again; done")
    yield
    guest.run(f"touch {STOP}")
    said = process.wait(120).out
    assert "again" in said, said
    assert "rror" not in said, said


@case(on="ours")
def redis_and_iperf3_outlive_a_hundred_losses(vm):
    guest, server = vm.a, ADDRESSES["right"]
    complete(guest)
    with (two_ports(guest),
          serving(guest, f"redis-server --port {REDIS_PORT} --save '' --protected-mode no"
                  " --dir /tmp --loglevel warning", REDIS_PORT),
          serving(guest, f"iperf3 -s -p {IPERF_PORT}", IPERF_PORT)):
        with (repeated(guest, f"redis-benchmark -h {server} -p {REDIS_PORT} -c 20 -n 20000 -d 512"
                       " -t set,get -q --csv"),
              repeated(guest, f"iperf3 -c {server} -p {IPERF_PORT} -t 5 -P 4 --bidir")):
            lose_links(guest, LOSSES)
        handshakes = sum(statistic(guest, side, "client_fallback") for side in SIDES)
        print(f"# {moved(guest)} ends of connections have moved, {handshakes} handshakes ended in TCP"
              " as their link was lost")
        assert moved(guest) >= LOSSES
        for side in SIDES:
            assert statistic(guest, side, "conn_abort") == 0
            assert statistic(guest, side, "wire_violation") == 0
