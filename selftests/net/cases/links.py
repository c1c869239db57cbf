# SPDX-License-Identifier: GPL-2.0-only
"""Link groups with a second link: it is made, connections use both, and when one is lost its
connections go on over the other, without a lost, doubled or changed byte. By adapters that are
played (selftests/adapter), between two network namespaces of one guest."""

from contextlib import contextmanager

from harness import Guest, case
from harness.adapters import SIDES, add_second, inside, rdma_device, second_device
from two_ports import (CTL, break_link, many_connections, moved, statistic, two_ports,
                       wait_for_links)
from two_sides import ADDRESSES, PORT, XFER, nothing_went_wrong, serving

VERSIONS = (True, False)


@case(on="ours")
def a_second_link_is_made(vm):
    """Of either version. Connections are spread over both."""
    for v2 in VERSIONS:
        with two_ports(vm.a, v2):
            with serving(vm.a, "right"):
                vm.a.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                         " --expect smcr --up 1000 --down 1000")
                wait_for_links(vm.a, 2)
                vm.a.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                         " --expect smcr --connections 6 --parallel 6 --up 300000 --down 300000")
            nothing_went_wrong(vm.a)
            for side in SIDES:
                assert statistic(vm.a, side, "wire_violation") == 0


@case(on="ours")
def ports_get_their_pnet_ids_later(vm):
    """The client's, or the server's: the group that is there uses it then. Before that a client's
    links are both on its first port, from which the server's second one has no way to it."""
    for late in SIDES:
        with two_ports(vm.a):
            vm.a.run(f"{CTL} pnet flush")
            for side in SIDES:
                devices = [rdma_device(side)] + ([second_device(side)] if side != late else [])
                for device in devices:
                    vm.a.run(f"{CTL} pnet add {side.upper()} --rdma {device} --port 1")
            with serving(vm.a, "right"):
                vm.a.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                         " --expect smcr --up 1000 --down 1000")
                wait_for_links(vm.a, 2 if late == "left" else 1)
                vm.a.run(f"{CTL} pnet add {late.upper()} --rdma {second_device(late)} --port 1")
                for side in SIDES:
                    vm.a.wait_for(f"{inside(side)} {CTL} links | grep -q {second_device(side)}")
                wait_for_links(vm.a, 2)
            nothing_went_wrong(vm.a)


def lose_links(guest: Guest, v2: bool) -> None:
    """Under load, in both directions, each link on either side."""
    with two_ports(guest, v2):
        with serving(guest, "right"):
            guest.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                      " --expect smcr --up 1000 --down 1000")
            wait_for_links(guest, 2)
            load = guest.spawn(f"{inside('left')} {XFER} --to {ADDRESSES['right']}"
                               f" --port {PORT} --expect smcr --connections 4 --parallel 4"
                               " --up 100000000 --down 100000000 --timeout 200")
            for side in SIDES:
                for device in (rdma_device(side), second_device(side)):
                    guest.run("sleep 0.2")
                    break_link(guest, device)
                    wait_for_links(guest, 2)
            load.wait(250)
        ends = {side: statistic(guest, side, "conn_moved") for side in SIDES}
        assert all(ends.values()), f"connections moved: {ends}"
        for side in SIDES:
            assert statistic(guest, side, "conn_abort") == 0
            assert statistic(guest, side, "wire_violation") == 0


@case(on="ours")
def connections_move_when_a_link_is_lost(vm):
    lose_links(vm.a, v2=True)


@case(on="ours")
def what_was_lost_is_counted(vm):
    """The bytes of a message that did not arrive are written once more."""
    left = inside("left")
    with two_ports(vm.a), serving(vm.a, "right"):
        vm.a.run(f"{left} {XFER} --to {ADDRESSES['right']} --port {PORT} --expect smcr --up 1 --down 1")
        wait_for_links(vm.a, 2)
        load = vm.a.spawn(f"{left} {XFER} --to {ADDRESSES['right']} --port {PORT} --expect smcr"
                          " --up 300000000 --down 1 --timeout 200")
        device = vm.a.wait_for(f"{left} {CTL} sockets | grep -o 'device [^ ]*'").out.split()[1]
        vm.a.run(f"echo 1 >/sys/kernel/debug/simrnic/{device}/retries")
        vm.a.wait_for(f"{left} {CTL} sockets --json | grep -q '\"repeated_bytes\": [1-9]'")
        load.wait(250)


@case(on="ours", hardware="swiotlb")
def connections_move_on_bounced_memory(vm):
    """What a device saw of a ring must not come back into it when its link goes."""
    lose_links(vm.a, v2=True)
    used = vm.a.run("cat /sys/kernel/debug/swiotlb/io_tlb_used_hiwater").out
    assert int(used) > 0, "no bounce buffer was used"


@case(on="ours")
def connections_of_version_1_move(vm):
    lose_links(vm.a, v2=False)


@contextmanager
def port_down(guest: Guest, device: str):
    """A port without its carrier, and so its neighbour."""
    guest.run(f"ip -n left link set {device} down")
    try:
        yield
    finally:
        guest.run(f"ip -n left link set {device} up")


@case(on="ours")
def ports_lose_their_carrier(vm):
    """Under load, and come again."""
    with two_ports(vm.a), serving(vm.a, "right"), many_connections(vm.a, 4, PORT + 1) as many:
        for device in ("veth-left", "veth2-left"):
            wait_for_links(vm.a, 2)
            before = moved(vm.a)
            load = vm.a.spawn(f"{inside('left')} {XFER} --to {ADDRESSES['right']}"
                              f" --port {PORT} --expect smcr --connections 4 --parallel 4"
                              " --up 60000000 --down 60000000 --timeout 200")
            vm.a.wait_for(f"{inside('left')} {CTL} groups | grep -q 'connections 8'")
            with port_down(vm.a, device):
                wait_for_links(vm.a, 1)
                # At least those of the load that used this link, and their other ends.
                assert moved(vm.a) - before >= 4
            load.wait(250)
            many.go_round()
        for side in SIDES:
            assert statistic(vm.a, side, "conn_abort") == 0
            assert statistic(vm.a, side, "wire_violation") == 0


@case(on="ours")
def traffic_goes_on_soon(vm):
    """Within a second of what a round takes, after a port has lost its carrier."""
    with two_ports(vm.a), many_connections(vm.a, 20) as many:
        for device in ("veth-left", "veth2-left"):
            wait_for_links(vm.a, 2)
            usual_s = many.go_round()
            with port_down(vm.a, device):
                took_s = many.go_round()
            print(f"# {device}: {usual_s} s, after the loss {took_s} s")
            assert took_s < 3 * usual_s + 1
        assert moved(vm.a) > 0


@case(on="ours")
def a_device_goes_and_comes_again(vm):
    """With everything on it. Meanwhile the other device may carry two links, one of which makes way
    for a link by the new device."""
    with two_ports(vm.a):
        with serving(vm.a, "right"):
            load = vm.a.spawn(f"{inside('left')} {XFER} --to {ADDRESSES['right']}"
                              f" --port {PORT} --expect smcr --connections 4 --parallel 4"
                              " --up 100000000 --down 100000000 --timeout 200")
            for side in SIDES:
                wait_for_links(vm.a, 2)
                device = second_device(side)
                shown = f"{inside(side)} {CTL} links | grep -q {device}"
                vm.a.run(f"rdma link delete {device}")
                vm.a.wait_for(f"! {shown}", 20)
                vm.a.run("sleep 2")
                add_second(vm.a, side)
                vm.a.wait_for(shown, 20)
            wait_for_links(vm.a, 2)
            load.wait(250)
        for side in SIDES:
            assert statistic(vm.a, side, "conn_abort") == 0


@case(on="ours")
def a_thousand_connections_move(vm):
    """Several groups at once. Then all of them answer within a second of what a round takes."""
    count = 1000
    with two_ports(vm.a):
        for side in SIDES:
            vm.a.run(f"{inside(side)} sysctl -q net.smc.wmem=16384 net.smc.rmem=16384")
        with many_connections(vm.a, count) as many:
            links = 2 * -(-count // 255)
            for side in SIDES:
                for device in (rdma_device(side), second_device(side)):
                    wait_for_links(vm.a, links)
                    usual_s = many.go_round()
                    break_link(vm.a, device)
                    took_s = many.go_round()
                    print(f"# {side}, {device}: {usual_s} s, after the loss {took_s} s")
                    assert took_s < 3 * usual_s + 1
        for side in SIDES:
            assert statistic(vm.a, side, "conn_moved") >= count
            assert statistic(vm.a, side, "conn_abort") == 0


@case(on="ours")
def one_link_is_wanted(vm):
    with two_ports(vm.a):
        vm.a.run(f"{inside('left')} sysctl -q net.smc.smcr_max_links_per_lgr=1")
        with serving(vm.a, "right"):
            vm.a.run(f"{inside('left')} {XFER} --to {ADDRESSES['right']} --port {PORT}"
                     " --expect smcr --connections 3 --up 1000 --down 1000")
            wait_for_links(vm.a, 1)
