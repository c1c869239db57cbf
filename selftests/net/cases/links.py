# SPDX-License-Identifier: GPL-2.0-only
"""Link groups with a second link: it is made, connections use both, and when one is lost its
connections go on over the other, without a lost, doubled or changed byte. By adapters that are
played (selftests/adapter), between two network namespaces of one guest."""

import two_links
from harness import case
from harness.adapters import SIDES, inside, rdma_device, second_device
from two_ports import CTL, many_connections, moved, two_ports, wait_for_links
from two_sides import nothing_went_wrong, serving

VERSIONS = (True, False)


@case(on="ours")
def connections_are_spread_over_two_links(vm):
    """Of either version. Connections are spread over both."""
    for v2 in VERSIONS:
        two_links.a_second_link_is_made(vm.a, v2=v2)


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
                vm.a.run(f"{two_links.TO_RIGHT} --up 1000 --down 1000")
                wait_for_links(vm.a, 2 if late == "left" else 1)
                vm.a.run(f"{CTL} pnet add {late.upper()} --rdma {second_device(late)} --port 1")
                for side in SIDES:
                    vm.a.wait_for(f"{inside(side)} {CTL} links | grep -q {second_device(side)}")
                wait_for_links(vm.a, 2)
            nothing_went_wrong(vm.a)


@case(on="ours")
def connections_move_when_a_link_is_lost(vm):
    two_links.lose_links(vm.a, v2=True)


@case(on="ours")
def what_was_lost_is_counted(vm):
    """The bytes of a message that did not arrive are written once more."""
    left = inside("left")
    with two_ports(vm.a), serving(vm.a, "right"):
        vm.a.run(f"{two_links.TO_RIGHT} --up 1 --down 1")
        wait_for_links(vm.a, 2)
        load = vm.a.spawn(f"{two_links.TO_RIGHT} --up 300000000 --down 1 --timeout 200")
        device = vm.a.wait_for(f"{left} {CTL} sockets | grep -o 'device [^ ]*'").out.split()[1]
        vm.a.run(f"echo 1 >/sys/kernel/debug/simrnic/{device}/retries")
        vm.a.wait_for(f"{left} {CTL} sockets --json | grep -q '\"repeated_bytes\": [1-9]'")
        load.wait(250)


@case(on="ours", hardware="swiotlb")
def connections_move_on_bounced_memory(vm):
    """What a device saw of a ring must not come back into it when its link goes."""
    two_links.lose_links(vm.a, v2=True)
    used = vm.a.run("cat /sys/kernel/debug/swiotlb/io_tlb_used_hiwater").out
    assert int(used) > 0, "no bounce buffer was used"


@case(on="ours")
def connections_of_version_1_move(vm):
    two_links.lose_links(vm.a, v2=False)


@case(on="ours")
def ports_lose_their_carrier(vm):
    """Under load, and come again."""
    two_links.ports_lose_their_carrier(vm.a)


@case(on="ours")
def traffic_goes_on_soon(vm):
    """Within a second of what a round takes, after a port has lost its carrier."""
    with two_ports(vm.a), many_connections(vm.a, 20) as many:
        for device in ("veth-left", "veth2-left"):
            wait_for_links(vm.a, 2)
            usual_s = many.go_round()
            with two_links.port_down(vm.a, device):
                took_s = many.go_round()
            print(f"# {device}: {usual_s} s, after the loss {took_s} s")
            assert took_s < 3 * usual_s + 1
        assert moved(vm.a) > 0


@case(on="ours")
def a_device_goes_and_comes_again(vm):
    """With everything on it."""
    two_links.a_device_goes_and_comes_again(vm.a)


@case(on="ours")
def a_thousand_connections_move(vm):
    """Several groups at once."""
    two_links.many_move(vm.a, 1000)


@case(on="ours")
def one_link_is_wanted(vm):
    with two_ports(vm.a):
        vm.a.run(f"{inside('left')} sysctl -q net.smc.smcr_max_links_per_lgr=1")
        with serving(vm.a, "right"):
            vm.a.run(f"{two_links.TO_RIGHT} --connections 3 --up 1000 --down 1000")
            wait_for_links(vm.a, 1)
