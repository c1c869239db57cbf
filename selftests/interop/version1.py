# SPDX-License-Identifier: GPL-2.0-only
"""With Linux 5.10, whose smc.ko proposes version 2 with nothing of it offered, and speaks SMC-Rv1.

What it counts it shows to nobody; each case holds our side to its own counters, and every byte is
checked. SMC-Rv1 goes over soft-RoCE with RoCE v1 GIDs (selftests/vm/roce-v1).
"""

from matrix import OLD, OLD_ALONE, OLD_WITHOUT_DEVICE, Server, in_both_roles, transfer

MIB = 1 << 20
NO_SMCR_DEVICE, NO_UEID, PEER_DECLINED = "03030002", "03030008", "05000000"


@in_both_roles(*OLD_WITHOUT_DEVICE)
def it_declines_without_a_device(vm, client, server):
    side = "client" if client.module == "ours" else "server"
    with Server(server):
        transfer(client, server, "--connections 5 --up 100003 --down 100019"
                                 f" --{side}-reason {PEER_DECLINED}", expect="fallback")


@in_both_roles(*OLD_ALONE)
def whoever_serves_declines(vm, client, server):
    """As server we are offered version 1 alone, and have version 2 alone; as client it is the other way
    round. Its connect() takes a Decline of 28 bytes, and ends with EPROTO at any other."""
    ours_serves = server.module == "ours"
    side, reason = ("server", NO_SMCR_DEVICE) if ours_serves else ("client", PEER_DECLINED)
    with Server(server):
        for more in ("", " --nonblock", " --io block"):
            transfer(client, server, "--connections 5 --up 100003 --down 100019"
                                     f" --{side}-reason {reason}{more}", expect="fallback")
        transfer(client, server, "--connections 48 --parallel 48 --hold --up 20011 --down 30011",
                 expect="fallback")
        transfer(client, server, "--up 100003 --down 100019", expect="fallback",
                 address=server.ip6)


def expect_version1(vm):
    """Our link groups are of version 1, and the bytes went by them."""
    ours = next(guest for guest in vm.guests if guest.module == "ours")
    smcr = ours.call("smcnl.stats")["smcr"]
    assert smcr.get("client_v1", 0) + smcr.get("server_v1", 0) > 0, smcr
    assert smcr.get("client_v2", 0) + smcr.get("server_v2", 0) == 0, smcr


@in_both_roles(*OLD)
def odd_sizes(vm, client, server):
    with Server(server):
        for up, down in ((0, 0), (1, 0), (0, 1), (63, 65), (65535, 65537), (999983, 1000003)):
            transfer(client, server, f"--up {up} --down {down}")
    expect_version1(vm)


@in_both_roles(*OLD)
def large_both_ways(vm, client, server):
    """Not by blocking calls: there send() of 5.10 returns early."""
    with Server(server):
        transfer(client, server, f"--up {4 * MIB + 1} --down {4 * MIB + 7}")
    expect_version1(vm)


@in_both_roles(*OLD)
def many_one_after_the_other(vm, client, server):
    """Later contacts: CONFIRM_RKEY and DELETE_RKEY in the form of version 1."""
    with Server(server):
        transfer(client, server, "--connections 20 --up 5003 --down 4001")
    expect_version1(vm)


@in_both_roles(*OLD)
def many_at_once(vm, client, server):
    with Server(server):
        transfer(client, server, "--connections 24 --parallel 24 --hold --up 20011 --down 30011",
                 timeout_s=180)
    expect_version1(vm)


@in_both_roles(*OLD)
def ended_by_either_side(vm, client, server):
    with Server(server):
        for closer in ("client", "server", "both"):
            transfer(client, server, f"--closer {closer} --close shutdown --up 50021 --down 70001")
    expect_version1(vm)
