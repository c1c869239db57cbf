# SPDX-License-Identifier: GPL-2.0-only
"""Connections by a VLAN between the guests: SMC-R, in a link group of that VLAN."""

from contextlib import contextmanager

from churn import CHURN, PORT, served, smc_works, stats
from harness import case

VLAN = 10


@contextmanager
def vlan_between(vm):
    for guest in vm.guests:
        guest.run("modprobe 8021q", timeout_s=180)
        guest.run(f"ip link add link eth0 name vlan0 type vlan id {VLAN} && ip link set vlan0 up")
    try:
        yield
    finally:
        for guest in vm.guests:
            guest.run("ip link delete vlan0 && modprobe -r 8021q")


def addresses(vm, netdev: str) -> str:
    """Adds VLAN addresses, and so GIDs, to both guests; returns that of b."""
    for number, guest in enumerate(vm.guests, 1):
        guest.run(f"ip addr add 10.9.{VLAN}.{number}/24 dev {netdev} && ip link set {netdev} up")
        guest.wait_for(f"grep -i ffff:0a09:{VLAN:02x}{number:02x}"
                       " /sys/class/infiniband/rxe0/ports/1/gids/*")
    return f"10.9.{VLAN}.2"


def smc_works_there(vm, ip4: str) -> None:
    before = stats(vm.a)["smcr_client_v2"]
    with served(vm.b):
        vm.a.run(f"{CHURN} call {ip4} {PORT} -n 3")
    now = stats(vm.a)["smcr_client_v2"]
    assert now == before + 3, f"{now - before} of 3 by SMC-R: {vm.a.call('smcnl.fallbacks')}"
    for guest in vm.guests:
        vlans = [group["vlan"] for group in guest.call("smcnl.link_groups")]
        assert VLAN in vlans, f"{guest.name}: groups of VLANs {vlans}"


@case(on="ours+ours", fresh=True)
def beside_no_vlan(vm):
    """With and without a VLAN on the same RDMA port: one link group for each."""
    with vlan_between(vm):
        there = addresses(vm, "vlan0")
        smc_works(vm)
        smc_works_there(vm, there)
        smc_works(vm)
        for guest in vm.guests:
            vlans = [group["vlan"] for group in guest.call("smcnl.link_groups")]
            assert sorted(vlans) == [0, VLAN], f"{guest.name}: groups of VLANs {vlans}"


@contextmanager
def bridge_with_rdma(vm):
    """Soft-RoCE receives nothing through a bridge unless its netdev is the bridge."""
    for guest in vm.guests:
        guest.run("modprobe bridge", timeout_s=180)
        guest.run("ip link add bridge0 type bridge && ip link set vlan0 master bridge0")
        guest.run("rdma link delete rxe0 && rdma link add rxe0 type rxe netdev bridge0")
    try:
        yield
    finally:
        for guest in vm.guests:
            guest.run("rdma link delete rxe0 && ip link delete bridge0 && modprobe -r bridge")
            guest.run("rdma link add rxe0 type rxe netdev eth0")


@case(on="ours+ours", fresh=True)
def bridge_over_a_vlan(vm):
    with vlan_between(vm), bridge_with_rdma(vm):
        smc_works_there(vm, addresses(vm, "bridge0"))
