# SPDX-License-Identifier: GPL-2.0-only
"""What links.py wants of a group's two links, for whichever kind they are. ports: those of two_ports()."""

from contextlib import contextmanager

from harness import Guest
from harness.adapters import SIDES, add_second, inside, rdma_device, second_device
from two_ports import (CTL, break_link, many_connections, moved, statistic, two_ports,
                       wait_for_links)
from two_sides import ADDRESSES, PORT, XFER, nothing_went_wrong, serving

TO_RIGHT = f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT} --expect smcr"


def load(guest: Guest, bytes_: int):
    return guest.spawn(f"{TO_RIGHT} --connections 4 --parallel 4 --up {bytes_} --down {bytes_} --timeout 200")


def nobody_was_reset(guest: Guest) -> None:
    for side in SIDES:
        for name in ("conn_abort", "wire_violation"):
            assert statistic(guest, side, name) == 0, f"{side}: {name}"


def a_second_link_is_made(guest: Guest, **ports) -> None:
    """Connections are spread over both."""
    with two_ports(guest, **ports):
        with serving(guest, "right"), many_connections(guest, 1, PORT + 1):
            wait_for_links(guest, 2)
            guest.run(f"{TO_RIGHT} --connections 6 --parallel 6 --up 300000 --down 300000")
        nothing_went_wrong(guest)
        for side in SIDES:
            assert statistic(guest, side, "wire_violation") == 0


def lose_links(guest: Guest, **ports) -> None:
    """Under load, in both directions, each link on either side."""
    with two_ports(guest, **ports):
        with serving(guest, "right"), many_connections(guest, 1, PORT + 1):
            wait_for_links(guest, 2)
            process = load(guest, 100000000)
            for side in SIDES:
                for device in (rdma_device(side), second_device(side)):
                    guest.run("sleep 0.2")
                    break_link(guest, device)
                    wait_for_links(guest, 2)
            process.wait(250)
        ends = {side: statistic(guest, side, "conn_moved") for side in SIDES}
        assert all(ends.values()), f"connections moved: {ends}"
        nobody_was_reset(guest)


@contextmanager
def port_down(guest: Guest, device: str):
    """A port without its carrier, and so its neighbour."""
    guest.run(f"ip -n left link set {device} down")
    try:
        yield
    finally:
        guest.run(f"ip -n left link set {device} up")


def ports_lose_their_carrier(guest: Guest, **ports) -> None:
    """Under load, and come again."""
    with two_ports(guest, **ports), serving(guest, "right"), many_connections(guest, 4, PORT + 1) as many:
        for device in ("veth-left", "veth2-left"):
            wait_for_links(guest, 2)
            before = moved(guest)
            process = load(guest, 60000000)
            guest.wait_for(f"{inside('left')} {CTL} groups | grep -q 'connections 8'")
            with port_down(guest, device):
                wait_for_links(guest, 1)
                # At least those of the load that used this link, and their other ends.
                assert moved(guest) - before >= 4
            process.wait(250)
            many.go_round()
        nobody_was_reset(guest)


def a_device_goes_and_comes_again(guest: Guest, **ports) -> None:
    """With everything on it. Meanwhile the other device may carry two links, one of which makes way
    for a link by the new device."""
    with two_ports(guest, **ports):
        with serving(guest, "right"):
            process = load(guest, 100000000)
            for side in SIDES:
                wait_for_links(guest, 2)
                device = second_device(side)
                shown = f"{inside(side)} {CTL} links | grep -q {device}"
                guest.run(f"rdma link delete {device}")
                guest.wait_for(f"! {shown}", 20)
                guest.run("sleep 2")
                add_second(guest, side)
                guest.wait_for(shown, 20)
            wait_for_links(guest, 2)
            process.wait(250)
        for side in SIDES:
            assert statistic(guest, side, "conn_abort") == 0


def many_move(guest: Guest, count: int, **ports) -> None:
    """Several groups at once. Then all of them answer within a second of what a round takes."""
    with two_ports(guest, **ports):
        for side in SIDES:
            guest.run(f"{inside(side)} sysctl -q net.smc.wmem=16384 net.smc.rmem=16384")
        with many_connections(guest, count) as many:
            links = 2 * -(-count // 255)
            for side in SIDES:
                for device in (rdma_device(side), second_device(side)):
                    wait_for_links(guest, links)
                    usual_s = many.go_round()
                    break_link(guest, device)
                    took_s = many.go_round()
                    print(f"# {side}, {device}: {usual_s} s, after the loss {took_s} s")
                    assert took_s < 3 * usual_s + 1
        for side in SIDES:
            assert statistic(guest, side, "conn_moved") >= count
            assert statistic(guest, side, "conn_abort") == 0
