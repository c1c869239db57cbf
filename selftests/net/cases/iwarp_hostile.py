# SPDX-License-Identifier: GPL-2.0-only
"""A peer that offers iWARP and does not meet the connection manager as it should, as server and as client."""

from harness import case
from harness.iwarp import over_siw
from hostile import meet
from iwarp_talk import wait_for_no_connection

BY_IP4, BY_IP6 = "10.9.0.69", "fd09::69"


def iwarp_peer(vm, address: str, only: str) -> None:
    """Both have the device: the peer's host is an honest one, too."""
    with over_siw(vm.a, vm.b):
        meet(vm, "iwarp_peer.py", address, 7340, f"--only '{only}'", timeout_s=900)
        wait_for_no_connection(vm.a, address)


# Workers that have waited for silent servers stay for five minutes, and look like a leak beside other cases'.
@case(on="ours+ours", fresh=True)
def hostile_iwarp_servers(vm):
    iwarp_peer(vm, BY_IP4, "^server_")


@case(on="ours+ours")
def hostile_iwarp_clients(vm):
    iwarp_peer(vm, BY_IP4, "^(?!server_)")


@case(on="ours+ours", fresh=True)
def hostile_iwarp_servers_by_ipv6(vm):
    iwarp_peer(vm, BY_IP6, "^server_")


@case(on="ours+ours")
def hostile_iwarp_clients_by_ipv6(vm):
    iwarp_peer(vm, BY_IP6, "^(?!server_)")
