# SPDX-License-Identifier: GPL-2.0-only
"""Groups with two links over soft-iWARP, between two hosts with this module: on the guests' network
devices, and on a macvlan of each, since the RDMA core knows an iWARP port by its MAC. A work request
has completed there when TCP has it, whether it arrives or not, and a queue pair has TCP's patience."""

import ipaddress
import json
from contextlib import contextmanager

from churn import stats
from harness import Guest, case
from harness.iwarp import DEVICE, add_device, delete_device, over_siw
from hostile import meet
from iwarp_talk import (CTL, PORT, XFER, both_ways, many_connections, nothing_goes_wrong, serving,
                        wait_for_no_connection)

SECOND = "siw1"
ADDRESSES = {"a": ("10.77.0.1", "fd77::1"), "b": ("10.77.0.2", "fd77::2")}


@contextmanager
def two_ports(*guests: Guest):
    with over_siw(*guests):
        for guest in guests:
            guest.run("ip link add link eth0 name port2 type macvlan mode private && ip link set port2 up")
            for address, length in zip(ADDRESSES[guest.name], (24, 64)):
                guest.run(f"ip addr add {address}/{length} dev port2" + (" nodad" if ":" in address else ""))
            add_device(guest, SECOND, "port2")
            guest.run(f"""set -e
                for port in '--rdma {DEVICE} --port 1' '--rdma {SECOND} --port 1' '--netdev eth0'; do
                    {CTL} pnet add NET $port
                done""")
        try:
            yield
        finally:
            for guest in guests:
                guest.run(f"{CTL} pnet flush")
                delete_device(guest, SECOND)
            for guest in guests:
                wait_for_no_orphan(guest)
            for guest in guests:
                guest.run("ip link delete port2", check=False)
                guest.wait_for("modprobe -r macvlan")


def wait_for_no_orphan(guest: Guest) -> None:
    """Soft-iWARP's own connections have said all they had to say."""
    guest.wait_for("grep -q 'TCP: inuse [0-9]* orphan 0 ' /proc/net/sockstat", 120)


def wait_for_links(vm, count: int = 2) -> None:
    for guest in vm.a, vm.b:
        guest.wait_for(f"test $({CTL} links | grep -ic ' active') = {count}", 30)


def gid(address: str) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(address if ":" in address else f"::ffff:{address}")


def ends(guest: Guest) -> set[tuple[str, ipaddress.IPv6Address]]:
    return {(link["device"], gid(link["gid"])) for link in json.loads(guest.run(f"{CTL} links --json").out)
            if link["state"] == "active"}


def moved(vm) -> int:
    return sum(stats(guest)["conn_moved"] for guest in (vm.a, vm.b))


def load(vm, port: int):
    """As much as takes longer than the devices' comings and goings."""
    size_bytes = 20_000_000 // vm.a.patience
    return vm.a.spawn(f"{XFER} --to {vm.b.ip4} --port {port} --expect smcr --connections 4 --parallel 4"
                      f" --up {size_bytes} --down {size_bytes} --timeout 300")


@case(on="ours+ours")
def a_second_link_is_made(vm):
    """By IPv4 from one side and by IPv6 from the other; connections are spread over both."""
    families = ((lambda guest: guest.ip4, 0), (lambda guest: guest.ip6, 1))
    for (client, server), (of, second) in zip(both_ways(vm), families):
        with two_ports(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b), serving(server):
            to = f"{XFER} --to {of(server)} --port {PORT} --expect smcr"
            client.run(f"{to} --up 1000 --down 1000")
            wait_for_links(vm)
            client.run(f"{to} --connections 6 --parallel 6 --up 300000 --down 300000", timeout_s=120)
            for guest in vm.a, vm.b:
                wanted = {gid(of(guest)), gid(ADDRESSES[guest.name][second])}
                assert {end for _, end in ends(guest)} == wanted, f"{guest.name}: {ends(guest)}"


@case(on="ours+ours")
def connections_go_on_over_the_other_link(vm):
    """Under load in both directions, one device after the other goes, on either side, and comes again:
    what had completed, and had not arrived, is written once more. Meanwhile the other device may carry
    two links."""
    with two_ports(vm.a, vm.b), many_connections(vm, 8) as many, serving(vm.b, PORT + 1):
        process = load(vm, PORT + 1)
        for guest in vm.a, vm.b:
            for device, netdev in ((DEVICE, "eth0"), (SECOND, "port2")):
                wait_for_links(vm)
                before = moved(vm)
                guest.run(f"rdma link delete {device}", timeout_s=60)
                guest.wait_for(f"! {CTL} links | grep -q 'device {device} '", 30)
                many.go_round()
                assert moved(vm) > before
                add_device(guest, device, netdev)
                guest.wait_for(f"{CTL} links | grep -q 'device {device} '", 60)
        process.wait(400)
        many.go_round()
        for guest in vm.a, vm.b:
            assert stats(guest)["wire_violation"] == 0


@case(on="ours+ours")
def nothing_comes_through(vm):
    """On the one link's way, with no word about it: traffic goes on over the other within seconds, and by
    the first one again when that can be."""
    with two_ports(vm.a, vm.b), many_connections(vm, 20) as many:
        wait_for_links(vm)
        usual_s = many.go_round()
        vm.a.run("tc qdisc add dev port2 root netem loss 100%")
        took_s = many.go_round()
        print(f"# {usual_s} s, over the other link {took_s} s")
        assert took_s < 15
        assert moved(vm) > 0
        vm.a.run("tc qdisc del dev port2 root")
        wait_for_links(vm)
        many.go_round()
        for guest in vm.a, vm.b:
            assert stats(guest)["conn_abort"] == 0


def hostile_peer(vm, only: str, first: str = "10.9.0.70", second: str = "10.77.0.70") -> None:
    """Both have the ports: the peer's host is an honest one, too."""
    with two_ports(vm.a, vm.b):
        meet(vm, "iwarp_links_peer.py", first, 7350,
             f"--second-interface port2 --second-address {second} --only '{only}'", timeout_s=900)
        wait_for_no_connection(vm.a, first, second)


# A connection manager that waits for a silent server outlives its link for as long as siw waits.
@case(on="ours+ours", fresh=True)
def hostile_servers_of_a_second_link(vm):
    hostile_peer(vm, "server_")


@case(on="ours+ours")
def hostile_clients_of_a_second_link(vm):
    hostile_peer(vm, "^(?!.*server_)")


@case(on="ours+ours", fresh=True)
def hostile_servers_of_a_second_link_by_ipv6(vm):
    hostile_peer(vm, "server_", "fd09::70", "fd77::70")


@case(on="ours+ours")
def hostile_clients_of_a_second_link_by_ipv6(vm):
    hostile_peer(vm, "^(?!.*server_)", "fd09::70", "fd77::70")
