# SPDX-License-Identifier: GPL-2.0-only
"""For cases with two network namespaces of one guest that have two ports each, on adapters that are
played (selftests/adapter)."""

from contextlib import contextmanager

from harness import Guest, Process
from harness.adapters import SIDES, inside, rdma_device, second_adapters, second_device
from two_sides import ADDRESSES, PORT, sides

CTL = "build/tools/smc_ctl"
MANY = "selftests/net/many.py"


def name_networks(guest: Guest) -> None:
    """Both ports of a side are on one network."""
    for side in SIDES:
        network = side.upper()
        guest.run(f"""set -e
            {CTL} pnet add {network} --rdma {rdma_device(side)} --port 1
            {CTL} pnet add {network} --rdma {second_device(side)} --port 1
            {inside(side)} {CTL} pnet add {network} --netdev veth-{side}""")


@contextmanager
def two_ports(guest: Guest, v2: bool = True, where: tuple[str, ...] = tuple(SIDES)):
    with sides(guest, v2), second_adapters(guest, where):
        name_networks(guest)
        try:
            yield
        finally:
            guest.run(f"{CTL} pnet flush")


def wait_for_links(guest: Guest, count: int) -> None:
    for side in SIDES:
        guest.wait_for(f"test $({inside(side)} {CTL} links | grep -ic ' active') = {count}", 20)


def statistic(guest: Guest, side: str, name: str) -> int:
    return int(guest.run(f"{inside(side)} awk '$1 == \"{name}\" {{print $2}}'"
                         " /proc/net/smc_stat").out)


def moved(guest: Guest) -> int:
    return sum(statistic(guest, side, "conn_moved") for side in SIDES)


class Many:
    """Connections that say a byte each in a round, and are answered."""

    def __init__(self, client: Process) -> None:
        self._client = client
        self._rounds = 0

    def go_round(self) -> float:
        """How many seconds it took."""
        self._rounds += 1
        self._client.input(b"\n")
        said = self._client.expect(r"(answered: .*\n){%d}" % self._rounds, 120)
        return float(said.split()[-2])


@contextmanager
def many_connections(guest: Guest, count: int, port: int = PORT):
    server = guest.spawn(f"{inside('right')} {MANY} serve {port}")
    server.expect("listening")
    client = guest.spawn(f"{inside('left')} {MANY} connect {ADDRESSES['right']} {port} {count}")
    client.expect("connected", 200)
    try:
        yield Many(client)
    finally:
        client.input(b"", close=True)
        client.wait()
        server.kill()
        server.wait(check=False)


def break_link(guest: Guest, device: str) -> None:
    guest.run(f"echo queue_pairs >/sys/kernel/debug/simrnic/{device}/break")
