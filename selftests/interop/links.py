# SPDX-License-Identifier: GPL-2.0-only
"""Link groups with two links between the kernel's own module and this one, and between two of ours:
two adapters in each guest, on one network, that are played or soft-RoCE. The second link is made,
connections use both, and they go on over the one that is left when the other is lost."""

from contextlib import contextmanager, nullcontext
import time

from harness import Guest, Process
from harness.adapters import across
from matrix import PORT, XFER, Server, counted, in_both_roles, transfer, without_eids

MEET = ("ours@6.12+kernel@6.12", "ours@6.12+ours@6.12")
NETWORK = "NETWORK1"
ACTIVE = 3  # SMC_LNK_ACTIVE


def add_second(guest: Guest, first_device: str = "sim0", device: str = "sim1",
               kind: str = "simrnic") -> None:
    """A second network device in the subnet of the first, and an adapter on it."""
    first = guest.ip4.split(".")
    address = ".".join(first[:3] + [str(int(first[3]) + 100)])
    guest.run(f"""set -e
        sysctl -q net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
        ip link add link eth0 name eth1 type macvlan mode bridge
        ip addr add {address}/24 dev eth1
        ip link set eth1 up
        rdma link add {device} type {kind} netdev eth1""")
    guest.wait_for(f"grep -q ACTIVE /sys/class/infiniband/{device}/ports/1/state")
    guest.call("smcnl.pnet_add", NETWORK, eth="eth0")
    for each in (first_device, device):
        guest.call("smcnl.pnet_add", NETWORK, ib=each)


def remove_second(guest: Guest, device: str = "sim1") -> None:
    guest.call("smcnl.pnet_flush")
    guest.run(f"rdma link delete {device}; ip link del eth1", check=False)
    guest.run("sysctl -q net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0")


@contextmanager
def two_ports(vm, version: int):
    with across(*vm.guests), without_eids(*vm.guests) if version == 1 else nullcontext():
        try:
            for guest in vm.guests:
                add_second(guest)
            yield
        finally:
            for guest in vm.guests:
                remove_second(guest)


def links_of_groups(guest: Guest) -> list[int]:
    """How many devices each group has active links on."""
    return [len({link["device"] for link in group["links"] if link["state"] == ACTIVE})
            for group in guest.call("smcnl.link_groups")]


def wait_for_links(vm) -> None:
    """Each group has two, that share no device."""
    deadline = time.monotonic() + 30 * vm.a.patience
    while not all((have := links_of_groups(guest)) and set(have) == {2} for guest in vm.guests):
        assert time.monotonic() < deadline, f"links: {have}"
        time.sleep(0.2)


def use_both(vm, client, server, version: int) -> None:
    with two_ports(vm, version), Server(server):
        transfer(client, server, "--up 1000 --down 1000")
        wait_for_links(vm)
        transfer(client, server, "--connections 16 --parallel 16 --hold --up 20011 --down 30011")
        transfer(client, server, "--connections 8 --parallel 4 --up 300007 --down 299983")


@in_both_roles(*MEET)
def both_links_are_used_version_2(vm, client, server):
    use_both(vm, client, server, 2)


@in_both_roles(*MEET)
def both_links_are_used_version_1(vm, client, server):
    use_both(vm, client, server, 1)


def active(guest: Guest) -> int:
    """How many connections have both ends open."""
    return guest.call("smcnl.open_by_mode").get("SMC-R", 0)


def start_load(vm, client, server, size: int) -> Process:
    """Four connections, which are open until it ends. A slow guest would do nothing else before
    that, and so the link would be lost afterwards: its readers pause."""
    pause_ms = 0
    if max(vm.a.patience, vm.b.patience) > 1:
        size, pause_ms = size // 2, 400
    load = client.spawn(f"{XFER} --to {server.ip4} --port {PORT} --expect smcr --connections 4"
                        f" --parallel 4 --hold --up {size} --down {size} --timeout 180"
                        f" --read-pause {pause_ms}")
    for end in vm.guests:
        end.wait_for_call("smcnl.open_by_mode", 4, timeout_s=30)
    time.sleep(0.3)
    return load


def lose_link(vm, client, server, guest: Guest, device: str) -> None:
    """One link, under load.

    Linux repeats nothing for a connection that either end has shut down: what its old link carried
    is lost. And it names the RMB of a connection that is being set up while a link is added without
    registering it there, so that our first write ends the link. So all connections are active."""
    load = start_load(vm, client, server, 12_000_000)
    guest.run(f"echo queue_pairs >/sys/kernel/debug/simrnic/{device}/break")
    open_ones = [active(end) for end in vm.guests]
    assert open_ones == [4, 4], f"{open_ones} connections: the load had ended before the loss"
    load.wait(200)


def lose_links(vm, client, server, version: int) -> None:
    """Each link at each end, one after the other."""
    with two_ports(vm, version), Server(server):
        transfer(client, server, "--up 1000 --down 1000")
        for guest in vm.guests:
            for device in ("sim0", "sim1"):
                wait_for_links(vm)
                lose_link(vm, client, server, guest, device)


@in_both_roles(MEET[0])
def connections_outlive_a_link_version_2(vm, client, server):
    lose_links(vm, client, server, 2)


@in_both_roles(*MEET)
def connections_outlive_a_link_version_1(vm, client, server):
    lose_links(vm, client, server, 1)


@in_both_roles(MEET[0])
def connections_share_rmbs(vm, client, server):
    """Elements of one RMB, which are the peer's by one rkey, before and after it has lost a link."""
    with two_ports(vm, 2), Server(server):
        transfer(client, server, "--up 1000 --down 1000")
        wait_for_links(vm)
        transfer(client, server, "--connections 40 --parallel 20 --hold --up 200011 --down 300011")
        for guest in vm.guests:
            wait_for_links(vm)
            lose_link(vm, client, server, guest, "sim0")
        transfer(client, server, "--connections 40 --parallel 20 --up 200011 --down 300011")


# ---- Soft-RoCE ----------------------------------------------------------------------------------

@contextmanager
def soft_roce_ports(vm):
    try:
        for guest in vm.guests:
            add_second(guest, "rxe0", "rxe1", "rxe")
        yield
    finally:
        for guest in vm.guests:
            remove_second(guest, "rxe1")


def moved(vm) -> int:
    """Of this module's ends."""
    return sum(counted(guest, "conn_moved") for guest in vm.guests if guest.module == "ours")


@in_both_roles(MEET[1])
def connections_outlive_a_port_of_soft_roce(vm, client, server):
    """The second one of either end. The kernel's own module does not let go of a soft-RoCE device
    after that."""
    with soft_roce_ports(vm), Server(server):
        transfer(client, server, "--up 1000 --down 1000")
        for guest in vm.guests:
            wait_for_links(vm)
            before = moved(vm)
            load = start_load(vm, client, server, 12_000_000)
            guest.run("ip link set eth1 down")
            load.wait(200)
            assert moved(vm) > before, "the load had ended before the link was lost"
            guest.run("ip link set eth1 up")
