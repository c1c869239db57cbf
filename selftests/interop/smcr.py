# SPDX-License-Identifier: GPL-2.0-only
"""What has to travel by SMC-R between this module and every peer that can, in both roles.

smc_xfer checks each byte; --expect smcr checks the counters of both modules: every connection
became SMC-R, and the bytes are in its statistics.
"""

from matrix import SMCR, Server, counted, in_both_roles, transfer

MIB = 1 << 20


@in_both_roles(*SMCR)
def odd_sizes(vm, client, server):
    with Server(server):
        for up, down in ((0, 0), (1, 0), (0, 1), (2, 3), (63, 65), (4095, 4097), (65535, 65537),
                         (65536, 65536), (131071, 7), (999983, 1000003)):
            transfer(client, server, f"--up {up} --down {down}")


@in_both_roles(*SMCR)
def odd_calls(vm, client, server):
    with Server(server):
        for write, read in ((1, 65536), (7, 3), (4097, 1021), (300000, 16384), (65536, 1 * MIB)):
            size = 2001 if write < 10 else 400009
            transfer(client, server, f"--up {size} --down {size} --write {write} --read {read}")


@in_both_roles(*SMCR)
def blocking_both_ways_at_once(vm, client, server):
    with Server(server):
        transfer(client, server, f"--io block --up {2 * MIB + 1} --down {3 * MIB + 7}")


@in_both_roles(*SMCR)
def large(vm, client, server):
    with Server(server):
        transfer(client, server, f"--up {64 * MIB} --down 1", timeout_s=240)


@in_both_roles(*SMCR)
def large_back(vm, client, server):
    with Server(server):
        transfer(client, server, f"--up 1 --down {16 * MIB - 1}", timeout_s=240)


@in_both_roles(*SMCR)
def many_one_after_the_other(vm, client, server):
    """They share one link group, in which both sides count the same connections."""
    with Server(server):
        transfer(client, server, "--connections 40 --up 5003 --down 4001")
        for guest in (client, server):
            groups = [group for group in guest.call("smcnl.link_groups")
                      if any(link["state"] == 3 for link in group["links"])]
            roles = [group["role"] for group in groups]
            assert len(roles) == len(set(roles)), f"more than one link group: {groups}"


@in_both_roles(*SMCR)
def many_at_once(vm, client, server):
    """The kernel's own module sets connections up one by one and gives up on those that had to wait
    for 6 s: with it as a peer there are fewer. Fewer, too, where each handshake takes longer."""
    count = (200 if client.module == server.module == "ours" else 48) // client.patience
    with Server(server):
        transfer(client, server, f"--connections {count} --parallel {count} --hold"
                                 " --up 20011 --down 30011", timeout_s=180)


@in_both_roles(*SMCR)
def small_buffers(vm, client, server):
    with Server(server):
        transfer(client, server, "--sndbuf 16384 --rcvbuf 16384 --up 700001 --down 500009")


@in_both_roles(*SMCR)
def non_blocking_connect(vm, client, server):
    with Server(server):
        transfer(client, server, "--nonblock --connections 4 --parallel 4 --up 10007 --down 10009")


@in_both_roles(*SMCR)
def ended_by_either_side(vm, client, server):
    with Server(server):
        for closer in ("client", "server", "both"):
            transfer(client, server, f"--closer {closer} --close shutdown --up 50021 --down 70001")


def resets_sent(guest) -> int:
    names, values = guest.run("grep ^Tcp: /proc/net/snmp").out.splitlines()
    return int(dict(zip(names.split(), values.split()))["OutRsts"])


@in_both_roles(*SMCR)
def tcp_ends_as_agreed(vm, client, server):
    """Between two of this module's a RST follows when both have closed; for every other peer TCP's
    connection ends as usual."""
    with Server(server):
        for closer in ("client", "server"):
            before = resets_sent(client) + resets_sent(server)
            transfer(client, server, f"--connections 5 --closer {closer} --close close"
                                     " --up 1009 --down 2003")
            sent = resets_sent(client) + resets_sent(server) - before
            if client.module == server.module == "ours":
                assert sent >= 5, f"{sent} resets for 5 connections"
            else:
                assert sent == 0, f"{sent} resets"


@in_both_roles(*SMCR)
def closed_behind_a_slow_reader(vm, client, server):
    """More than the peer's buffer holds is under way when the sender closes; the reader starts
    after the 2 s for which the kernel's own module waits before it drops the rest, so this is asked of
    our module as the sender only."""
    with Server(server):
        if client.module == "ours":
            transfer(client, server, "--up 300007 --closer client --close close --read-delay 3000")
        if server.module == "ours":
            transfer(client, server, "--down 300007 --closer server --close close"
                                     " --read-delay 3000")


@in_both_roles("ours@6.12+kernel@6.12")
def closed_before_all_is_sent(vm, client, server):
    """The kernel's own module, told to linger for no time, or with a program that is killed, says
    "closed" first and sends then what it had held back."""
    with Server(server):
        for _ in range(5):
            if client.module == "kernel":
                transfer(client, server, "--up 40009 --write 997 --closer client --close close"
                                         " --linger 0 --read-delay 500")
            else:
                transfer(client, server, "--down 40009 --write 997 --closer server --close close"
                                         " --linger 0 --read-delay 500")


@in_both_roles("ours@6.12+kernel@6.12")
def end_behind_a_full_ring(vm, client, server):
    """The kernel's own module ends with "write blocked" if its last write has filled the ring. Its
    answers to TEST_LINK tell this one that nothing is left, and no time limit."""
    reader = next(guest for guest in (client, server) if guest.module == "ours")
    way, closer = ("--up", "client") if reader is server else ("--down", "server")
    ends = [counted(reader, name) for name in ("end_answered", "end_timeout")]
    with Server(server):
        transfer(client, server, f"--connections 4 {way} {4 * 65536} --closer {closer}"
                                 " --close shutdown --read-delay 300")
    assert counted(reader, "end_answered") > ends[0], "no end was in doubt"
    assert counted(reader, "end_timeout") == ends[1], "an end took its full time"


@in_both_roles("ours@6.12+kernel@6.12")
def closed_with_a_full_ring_and_more(vm, client, server):
    """It says "closed" with data left, too: all of it comes before its answers."""
    way, closer = ("--up", "client") if client.module == "kernel" else ("--down", "server")
    with Server(server):
        for _ in range(5):
            transfer(client, server, f"{way} {200009} --closer {closer} --close close --linger 0"
                                     " --read-delay 300")


@in_both_roles(*SMCR)
def falls_back_without_a_common_eid(vm, client, server):
    """Whichever side lacks it; afterwards SMC-R works again."""
    with Server(server):
        for lacking in (client, server):
            lacking.call("smcnl.flush_ueids")
            try:
                transfer(client, server, "--up 100003 --down 100019 --connections 3",
                         expect="fallback")
            finally:
                lacking.call("smcnl.add_ueid", lacking.eid)
        transfer(client, server, "--up 1009 --down 1013")


@in_both_roles("ours@6.12+kernel@6.12")
def the_default_eid_is_one_like_others(vm, client, server):
    """A foreign host that is given it speaks with a host of ours that is given none."""
    ours, foreign = sorted((client, server), key=lambda guest: guest.module == "kernel")
    ours.call("smcnl.flush_ueids")
    foreign.call("smcnl.flush_ueids")
    try:
        with Server(server):
            transfer(client, server, "--up 1009 --down 1013", expect="fallback")
            foreign.call("smcnl.add_ueid", "SMC-KO-DEFAULT")
            transfer(client, server, "--up 1009 --down 1013")
    finally:
        foreign.call("smcnl.flush_ueids")
        for guest in vm.guests:
            guest.call("smcnl.add_ueid", guest.eid)


@in_both_roles(*SMCR)
def falls_back_without_a_device(vm, client, server):
    """The RDMA device goes while a link group is idle, and comes back."""
    with Server(server):
        transfer(client, server, "--up 1009 --down 1013")
        for lacking in (client, server):
            lacking.run("rdma link delete rxe0")
            try:
                transfer(client, server, "--up 100003 --down 100019 --connections 3",
                         expect="fallback")
            finally:
                lacking.run("rdma link add rxe0 type rxe netdev eth0")
                lacking.wait_for("rdma link show | grep -q 'rxe0/1 state ACTIVE'")
        transfer(client, server, "--up 1009 --down 1013")


@in_both_roles(*SMCR)
def buffers_in_scattered_memory(vm, client, server):
    """net.smc.smcr_buf_type = 1, which counts for link groups made afterwards: the device goes and
    comes back, and the group with it."""
    def use(buf_type):
        for guest in (client, server):
            guest.run(f"sysctl -qw net.smc.smcr_buf_type={buf_type} && rdma link delete rxe0")
            guest.run("rdma link add rxe0 type rxe netdev eth0")
            guest.wait_for("rdma link show | grep -q 'rxe0/1 state ACTIVE'")

    with Server(server):
        use(1)
        try:
            transfer(client, server, f"--up {4 * MIB + 3} --down {4 * MIB + 5}")
            transfer(client, server, "--sndbuf 1048576 --rcvbuf 1048576"
                                     f" --up {4 * MIB + 3} --down {4 * MIB + 5}")
            for guest in (client, server):
                # Groups of before may still be ending.
                guest.wait_for("cd selftests/vm/guest && python3 -c 'import smcnl, sys;"
                               " kinds = [group[\"buffer_type\"] for group in smcnl.link_groups()];"
                               " print(kinds); sys.exit(set(kinds) != {1})'")
        finally:
            use(0)
