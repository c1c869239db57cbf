# SPDX-License-Identifier: GPL-2.0-only
"""SMC-R over an iWARP adapter that is played (selftests/adapter), between two network namespaces of one
guest. Unlike soft-iWARP it takes no immediates, breaks a queue pair whose peer finds no receive, fails
what a server sends first, and reaches memory as hardware does."""

import json

import two_links
from churn import stats
from harness import Guest, case
from harness.adapters import SIDES, break_device, inside, rdma_device, set_parameters
from harness.iwarp import WRONG
from sweeps import groups_end, sweep_all
from two_ports import many_connections
from two_sides import BOTH_WAYS, hardware_is, nothing_went_wrong, sides, transfer

IWARP = "kind=iwarp"
# Alibaba's eRDMA: a receive has one piece of memory, and a memory region 512 pages.
ERDMA = f"{IWARP} receive_sges=1 send_sges=6 fast_reg_pages=512"
HOLDS_S = 5


def nothing_was_refused(guest: Guest) -> None:
    nothing_went_wrong(guest)
    for side in SIDES:
        counted = stats(guest, inside(side))
        wrong = {name: counted[name] for name in WRONG if counted[name]}
        assert not wrong, f"{side}: {wrong}"


@case(on="ours", hardware=["", "iommu"])
def every_byte_arrives(vm):
    with sides(vm.a, options=IWARP):
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 6 --parallel 3 --up 300000 --down 200000")
            transfer(vm.a, client, server, "--up 100 --down 100 --write 1 --read 1")
        hardware_is(vm.a, vm.hardware)
        nothing_was_refused(vm.a)


@case(on="ours", hardware=["swiotlb"])
def limits_of_erdma(vm):
    """And buffers above what bounces in one piece."""
    with sides(vm.a, options=ERDMA):
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 3 --up 100000 --down 100000")
            transfer(vm.a, client, server, "--sndbuf 1048576 --rcvbuf 1048576 --up 3000000 --down 3000000")
        nothing_was_refused(vm.a)


@case(on="ours")
def late_work_and_completions(vm):
    with sides(vm.a, options=IWARP):
        for execute, late_us, upcall_us in (("softirq", 0, 0), ("late", 10, 30), ("late", 2000, 0)):
            set_parameters(vm.a, execute=execute, late_us=late_us, upcall_us=upcall_us)
            for client, server in BOTH_WAYS:
                transfer(vm.a, client, server, "--connections 3 --parallel 3 --up 200000 --down 100000")
        nothing_was_refused(vm.a)


@case(on="ours")
def many_share_the_receives(vm):
    """More messages at once than the peer has receives for: none comes without one."""
    with sides(vm.a, options=IWARP), many_connections(vm.a, 300) as many:
        set_parameters(vm.a, execute="late", late_us=1000)
        for _ in range(3):
            many.go_round()
        for side in SIDES:
            ends = json.loads(vm.a.run(f"{inside(side)} build/tools/smc_ctl sockets --json --state active").out)
            assert len(ends) == 300, f"{side}: {len(ends)}"
        nothing_was_refused(vm.a)


@case(on="ours")
def a_stream_gets_larger_rings(vm):
    with sides(vm.a, options=IWARP):
        before = stats(vm.a, inside("right"))["ring_grown"]
        transfer(vm.a, "left", "right", "--up 8000000 --down 1000 --write 100000")
        assert stats(vm.a, inside("right"))["ring_grown"] > before
        nothing_was_refused(vm.a)


@case(on="ours")
def a_namespace_is_not_kept(vm):
    """The connection manager's ids keep it, and so the group does not stay for long without a
    connection. Once it has gone the namespace can go, with its device."""
    with sides(vm.a, options=IWARP):
        transfer(vm.a, "left", "right", "--up 1000 --down 1000")
        for side in SIDES:
            assert vm.a.run(f"{inside(side)} build/tools/smc_ctl groups").out
        for side in SIDES:
            groups_end(vm.a, side)
        transfer(vm.a, "left", "right", "--up 1000 --down 1000")
        vm.a.run("ip netns del left")
        vm.a.wait_for(f"! test -e /sys/class/infiniband/{rdma_device('left')}", HOLDS_S + 15)


@case(on="ours")
def links_that_break(vm):
    """On either side, under load: the peer's goes with it. The next connection is SMC-R again."""
    with sides(vm.a, options=IWARP):
        for side in SIDES:
            with many_connections(vm.a, 20) as many:
                many.go_round()
                break_device(vm.a, side, "queue_pairs")
                for other in SIDES:
                    groups_end(vm.a, other)
            transfer(vm.a, "left", "right", "--up 10000 --down 10000")


@case(on="ours")
def verbs_that_fail_at_setup(vm):
    """Those of the connection manager, too."""
    sweep_all(vm.a, ("create_qp", "modify_qp", "connect", "accept", "map_mr"), options=IWARP)


@case(on="ours")
def work_that_fails(vm):
    sweep_all(vm.a, ("post_send", "post_receive", "register", "access", "retries"), options=IWARP)


@case(on="ours")
def a_second_link_is_made(vm):
    two_links.a_second_link_is_made(vm.a, options=IWARP)


@case(on="ours")
def both_links_break(vm):
    """One after the other, under load, on either side."""
    two_links.lose_links(vm.a, options=IWARP)


@case(on="ours")
def both_ports_go(vm):
    two_links.ports_lose_their_carrier(vm.a, options=IWARP)


@case(on="ours")
def one_of_two_devices_goes(vm):
    two_links.a_device_goes_and_comes_again(vm.a, options=IWARP)


@case(on="ours")
def hundreds_move(vm):
    two_links.many_move(vm.a, 510, options=IWARP)
