# SPDX-License-Identifier: GPL-2.0-only
"""Peers with which SMC cannot be: TCP carries every byte, in both roles, and the reason is counted."""

from matrix import DECLINES, PLAIN, Server, in_both_roles, mode, transfer

MIB = 1 << 20
PEER_HAS_NO_SMC = "03010000"


@in_both_roles(*DECLINES, *PLAIN)
def odd_sizes(vm, client, server):
    with Server(server):
        for up, down in ((0, 0), (1, 0), (0, 1), (4095, 65537), (999983, 1000003)):
            transfer(client, server, f"--up {up} --down {down}", expect="fallback")


@in_both_roles(*DECLINES, *PLAIN)
def large_both_ways(vm, client, server):
    with Server(server):
        transfer(client, server, f"--io block --up {16 * MIB + 1} --down {16 * MIB + 7}",
                 expect="fallback")


@in_both_roles(*DECLINES, *PLAIN)
def two_hundred_at_once(vm, client, server):
    with Server(server):
        transfer(client, server, "--connections 200 --parallel 200 --hold --up 20011 --down 30011",
                 expect="fallback", timeout_s=180)


@in_both_roles(*DECLINES, *PLAIN)
def ipv6(vm, client, server):
    with Server(server):
        transfer(client, server, "--up 100003 --down 100019", expect="fallback",
                 address=server.ip6)


@in_both_roles(*DECLINES, *PLAIN)
def non_blocking_connect(vm, client, server):
    with Server(server):
        transfer(client, server, "--nonblock --connections 4 --parallel 4 --up 10007 --down 10009",
                 expect="fallback")


@in_both_roles(*DECLINES, *PLAIN)
def ended_by_either_side(vm, client, server):
    with Server(server):
        for closer in ("client", "server", "both"):
            transfer(client, server, f"--closer {closer} --close shutdown --up 50021 --down 70001",
                     expect="fallback")


@in_both_roles(*PLAIN)
def reason_is_that_the_peer_has_no_smc(vm, client, server):
    side = "client" if mode(client) == "smc" else "server"
    with Server(server):
        transfer(client, server, f"--connections 5 --up 101 --down 103"
                                 f" --{side}-reason {PEER_HAS_NO_SMC}", expect="fallback")
