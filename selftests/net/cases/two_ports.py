# SPDX-License-Identifier: GPL-2.0-only
"""For cases with two network namespaces of one guest that have two ports each, on adapters that are
played (selftests/adapter)."""

from contextlib import contextmanager

from crowd import crowd
from harness import Guest
from harness.adapters import SIDES, inside, rdma_device, second_adapters, second_device
from two_sides import ADDRESSES, PORT, sides

CTL = "build/tools/smc_ctl"


def name_networks(guest: Guest) -> None:
    """Both ports of a side are on one network."""
    for side in SIDES:
        network = side.upper()
        guest.run(f"""set -e
            {CTL} pnet add {network} --rdma {rdma_device(side)} --port 1
            {CTL} pnet add {network} --rdma {second_device(side)} --port 1
            {inside(side)} {CTL} pnet add {network} --netdev veth-{side}""")


@contextmanager
def two_ports(guest: Guest, v2: bool = True, where: tuple[str, ...] = tuple(SIDES), options: str = ""):
    """options: parameters of the adapters' module."""
    with sides(guest, v2, options), second_adapters(guest, where):
        name_networks(guest)
        try:
            yield
        finally:
            guest.run(f"{CTL} pnet flush")


def wait_for_links(guest: Guest, count: int) -> None:
    for side in SIDES:
        guest.wait_for(f"test $({inside(side)} {CTL} links | grep -ic ' active') = {count}", 60)


def statistic(guest: Guest, side: str, name: str) -> int:
    return int(guest.run(f"{inside(side)} awk '$1 == \"{name}\" {{print $2}}'"
                         " /proc/net/smc_stat").out)


def moved(guest: Guest) -> int:
    return sum(statistic(guest, side, "conn_moved") for side in SIDES)


def many_connections(guest: Guest, count: int, port: int = PORT):
    return crowd(guest, guest, ADDRESSES["right"], port, count, by=(inside("left"), inside("right")))


def break_link(guest: Guest, device: str) -> None:
    guest.run(f"echo queue_pairs >/sys/kernel/debug/simrnic/{device}/break")
