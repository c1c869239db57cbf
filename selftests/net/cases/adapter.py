# SPDX-License-Identifier: GPL-2.0-only
"""SMC-R over an adapter that is played (selftests/adapter), between two network namespaces of one
guest: on memory that the adapter reaches as it is, through bounce buffers, and behind an IOMMU. The
adapter moves what is mapped, registered and synchronised, and nothing else."""

import json
from contextlib import contextmanager

from churn import CHURN, served, stats
from harness import Guest, Skip, case
from harness.adapters import SIDES, inside, rdma_device, set_parameters
from two_sides import (ADDRESSES, BOTH_WAYS, EID, PORT, XFER, hardware_is, nothing_went_wrong, serving,
                       sides, transfer)
from two_ports import many_connections

ALL_HARDWARE = ["", "swiotlb", "iommu"]


@case(on="ours", hardware=ALL_HARDWARE)
def every_byte_arrives(vm):
    """Transfers of all usual lengths, both ways, over several connections at once and one after the
    other."""
    with sides(vm.a):
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 6 --parallel 3 --up 300000 --down 200000")
            transfer(vm.a, client, server, "--up 100 --down 100 --write 1 --read 1")
        hardware_is(vm.a, vm.hardware)
        nothing_went_wrong(vm.a)


@case(on="ours", hardware=["swiotlb", "iommu"])
def buffers_larger_than_one_mapping(vm):
    """Buffers above the 256 KiB that swiotlb maps at once."""
    with sides(vm.a):
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server,
                     "--sndbuf 1048576 --rcvbuf 1048576 --up 3000000 --down 3000000")
        nothing_went_wrong(vm.a)


@case(on="ours", hardware=["", "iommu"])
def scattered_buffers(vm):
    """Buffers whose pages are adjacent neither in memory nor in the DMA mapping."""
    with sides(vm.a):
        for side in SIDES:
            vm.a.run(f"{inside(side)} sysctl -q net.smc.smcr_buf_type=1")
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 3 --up 400000 --down 400000")
        nothing_went_wrong(vm.a)


@case(on="ours", hardware=["", "swiotlb"])
def one_piece_for_each_receive(vm):
    """A device that scatters a receive to one piece of memory only, as Alibaba's eRDMA."""
    with sides(vm.a, options="receive_sges=1"):
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 3 --up 100000 --down 100000")
        nothing_went_wrong(vm.a)


@case(on="ours")
def connections_share_rmbs(vm):
    """Elements of a few RMBs: 1, 2, 4, 8 and 16, and perhaps 32, if a connection of the second
    round comes before one of the first has gone. Where an administrator wants one element, each
    connection has an RMB of its own."""
    def registered() -> list[int]:
        return [int(vm.a.run(f"sed -n 's/^registrations //p'"
                             f" /sys/kernel/debug/simrnic/{rdma_device(side)}/counters").out)
                for side in SIDES]

    for elements, least, most in ((255, 5, 6), (1, 30, 60)):
        with sides(vm.a):
            for side in SIDES:
                vm.a.run(f"{inside(side)} sysctl -q net.smc.smcr_rmb_elements={elements}"
                         " net.smc.smcr_growing_rings=0")
            for client, server in BOTH_WAYS:
                before = registered()
                for _ in range(2):
                    transfer(vm.a, client, server,
                             "--connections 30 --parallel 30 --hold --up 200000 --down 200000")
                made = [now - was for now, was in zip(registered(), before)]
                assert all(least <= count <= most for count in made), f"registered RMBs: {made}"
            nothing_went_wrong(vm.a)


@case(on="ours")
def kinds_of_devices(vm):
    """With GIDs of one version only, and iWARP."""
    def versions() -> list[int]:
        lines = stats(vm.a, inside("left"))
        return [lines["smcr_client_v1"], lines["smcr_client_v2"]]

    for kind, made in (("roce_v1", [2, 0]), ("roce_v2", [0, 2]), ("iwarp", [0, 2])):
        with sides(vm.a, options=f"kind={kind}"):
            transfer(vm.a, "left", "right", "--connections 2 --up 100000 --down 100000")
            assert versions() == made, f"{kind}: {versions()}"
            nothing_went_wrong(vm.a)


@case(on="ours")
def whenever_it_is_done(vm):
    """Work that the adapter does in the call that posts it, in a softirq or late; completions that
    it reports late."""
    with sides(vm.a):
        for execute in ("at_once", "softirq", "late"):
            for upcall_us in (0, 30):
                set_parameters(vm.a, execute=execute, late_us=10, upcall_us=upcall_us)
                for client, server in BOTH_WAYS:
                    transfer(vm.a, client, server,
                             "--connections 3 --parallel 3 --up 200000 --down 100000")
        nothing_went_wrong(vm.a)


@case(on="ours")
def messages_wait_for_a_short_send_queue(vm):
    """More connections than the queue of their link has room for, on a device that takes its time."""
    with sides(vm.a, options="work_requests=64"):
        with many_connections(vm.a, 200) as many:
            # Long enough for a slow guest to write on more of them meanwhile than the queue takes.
            set_parameters(vm.a, execute="late", late_us=500000)
            many.go_round()
            for side in SIDES:
                # Window updates may still be waiting.
                least = stats(vm.a, inside(side))["sq_full"]
                ends = json.loads(vm.a.run(f"{inside(side)} build/tools/smc_ctl sockets --json --state active").out)
                most = stats(vm.a, inside(side))["sq_full"]
                assert len(ends) == 200, f"{side}: {len(ends)}"
                waited = sum(end["traffic"]["messages_without_room"] for end in ends)
                assert 1 <= least <= waited <= most, f"{side}: {least}, {waited}, {most}"
        nothing_went_wrong(vm.a)


@case(on="ours")
def compact_messages(vm):
    """Each side may or may not have them, and both use them only where both do."""
    def compact(side: str) -> int:
        counted = stats(vm.a, inside(side))
        return counted["compact_tx"] + counted["compact_rx"]

    with sides(vm.a):
        for wanted in ((1, 0), (0, 1), (0, 0), (1, 1)):
            for side, value in zip(SIDES, wanted):
                vm.a.run(f"{inside(side)} sysctl -q net.smc.smcr_compact={value}")
            before = [compact(side) for side in SIDES]
            transfer(vm.a, *SIDES, "--connections 3 --up 300000 --down 200000")
            spoke = [compact(side) > was for side, was in zip(SIDES, before)]
            assert spoke == [wanted == (1, 1)] * 2, f"{wanted}: {spoke}"
            nothing_went_wrong(vm.a)
            # A group stays as it is.
            for side in SIDES:
                vm.a.run(f"rdma link delete {rdma_device(side)}")
                vm.a.run(f"{inside(side)} rdma link add {rdma_device(side)} type simrnic"
                         f" netdev veth-{side}")


@case(on="ours", hardware=["", "swiotlb"])
def rings_grow(vm):
    """A stream that fills its ring gets a larger one. A size that the user has asked for
    stays, and so does every one where an administrator or the peer does not want that."""
    def grow(arguments: str, wanted: list[bool], **sysctls: int) -> None:
        before = [stats(vm.a, inside(side))["ring_grown"] for side in SIDES]
        for name, value in sysctls.items():
            vm.a.run(f"{inside('right')} sysctl -q {name.replace('__', '.')}={value}")
        transfer(vm.a, *SIDES, f"--write 100000 {arguments}")
        grown = [stats(vm.a, inside(side))["ring_grown"] > was
                 for side, was in zip(SIDES, before)]
        assert grown == wanted, f"{arguments}, {sysctls}: {grown}"

    with sides(vm.a):
        grow("--up 4000000 --down 100", [False, True])
        grow("--up 4000000 --down 4000000 --connections 2 --parallel 2", [True, True])
        grow("--up 100 --down 4000000 --rcvbuf 65536", [False, False])
        grow("--up 4000000 --down 100", [False, False], net__ipv4__tcp_moderate_rcvbuf=0)
        # Groups that are there stay as they are.
        grow("--up 4000000 --down 100", [False, True], net__ipv4__tcp_moderate_rcvbuf=1,
             net__smc__smcr_growing_rings=0)
        for side in SIDES:
            vm.a.run(f"rdma link delete {rdma_device(side)}")
            vm.a.run(f"{inside(side)} rdma link add {rdma_device(side)} type simrnic"
                     f" netdev veth-{side}")
        grow("--up 4000000 --down 4000000", [False, False])
        nothing_went_wrong(vm.a)


@case(on="ours")
def devices_that_lead_elsewhere(vm):
    """A second way between the two sides, without adapters. The first connection finds that out,
    and those after it are not offered SMC there: until an adapter comes, or a setting of this side
    changes."""
    bare = {"left": "10.8.0.1", "right": "10.8.0.2"}

    def connect(address: str, expect: str) -> None:
        vm.a.run(f"{inside('left')} {XFER} --to {address} --port {PORT} --expect {expect}"
                 " --up 100 --down 100")

    def known() -> int:
        return stats(vm.a, inside("left"))["known_elsewhere"]

    def setting(side: str, *values: int) -> str:
        written = " ".join(f"net.smc.default_eid={value}" for value in values)
        return f"{inside(side)} sysctl -q {written}"

    with sides(vm.a):
        vm.a.run("ip link add bare-left netns left type veth peer name bare-right netns right")
        for side, address in bare.items():
            vm.a.run(f"{inside(side)} ip addr add {address}/24 dev bare-{side}"
                     f" && {inside(side)} ip link set bare-{side} up")
        with serving(vm.a, "right"):
            for times in range(3):
                connect(bare["right"], "fallback")
                assert known() == times, f"connection {times}: {known()} were known"
                # What the other side sets is not its affair, nor what stays as it is. Once: it is
                # known for 10 s.
                if times == 0:
                    vm.a.run(f"{setting('right', 0, 1)} && {setting('left', 1)}")
            vm.a.run(setting("left", 0, 1))
            connect(bare["right"], "fallback")
            assert known() == 2, f"{known()} were known after a change"
            connect(ADDRESSES["right"], "smcr")
            for side in SIDES:
                vm.a.run(f"{inside(side)} rdma link add second-{side} type simrnic"
                         f" netdev bare-{side}")
            connect(bare["right"], "smcr")
            assert known() == 2, f"{known()} were known in the end"
        nothing_went_wrong(vm.a)
        for side in SIDES:
            vm.a.run(f"rdma link delete second-{side}")


@case(on="ours")
def namespaces_inherit_the_hosts_eids(vm):
    """Unless one of the two says no. Without an EID there is version 1 only."""
    def version(client: str, server: str) -> int:
        def counted() -> list[str]:
            return vm.a.run(f"{inside(client)} grep -wE 'smcr_client_v[12]' /proc/net/smc_stat"
                            ).out.split()[1::2]

        before = counted()
        transfer(vm.a, client, server, "--up 100 --down 100")
        grown = [int(now) - int(then) for now, then in zip(counted(), before, strict=True)]
        assert sum(grown) > 0 and min(grown) == 0, grown
        return 1 + grown.index(max(grown))

    # That of the guest, in its initial namespace.
    assert vm.a.run("build/tools/smc_ctl eid show").out == f"{vm.a.eid}\n"
    with sides(vm.a, v2=False):
        assert version("left", "right") == 1
        for side in SIDES:
            vm.a.run(f"{inside(side)} sysctl -q net.smc.inherit_eids=1")
            # It has them, and does not see them.
            assert vm.a.run(f"{inside(side)} build/tools/smc_ctl eid show").out == ""
        assert version("left", "right") == 2
        vm.a.run("sysctl -q net.smc.inherit_eids=0")
        assert version("right", "left") == 1
        vm.a.run("sysctl -q net.smc.inherit_eids=1")
        assert version("right", "left") == 2


@case(on="ours")
def version_1(vm):
    """SMC-Rv1, without an enterprise ID, by GIDs of RoCE v1, which soft-RoCE does not have."""
    with sides(vm.a, v2=False):
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 3 --up 200000 --down 200000")
        for side in SIDES:
            stat = vm.a.run(f"{inside(side)} cat /proc/net/smc_stat").out
            seen = dict(line.split()[:2] for line in stat.splitlines() if len(line.split()) > 1)
            assert int(seen["smcr_client_v1"]) > 0, f"{side}: {seen}"
        nothing_went_wrong(vm.a)


@case(on="ours", hardware=[""])
def an_address_that_comes_back(vm):
    """After an address was removed and added again, its GID has another index in the port's
    table."""
    mine, other = SIDES["left"], "10.7.1.1"
    ip = f"{inside('left')} ip addr"
    gid = "/sys/class/infiniband/sim-left/ports/1/gids"
    own = "".join(f"{int(byte):02x}" for byte in mine.split("."))
    text = f"0000:0000:0000:0000:0000:ffff:{own[:4]}:{own[4:]}"

    def at() -> set[int]:
        found = vm.a.run(f"cd {gid} && grep -lx {text} *", check=False).out.split()
        return set(map(int, found))

    with sides(vm.a):
        before = at()
        assert before, "no GID of the address"
        vm.a.run(f"{ip} del {mine}/24 dev veth-left")
        vm.a.wait_for(f"! grep -qx {text} {gid}/*")
        vm.a.run(f"{ip} add {other}/24 dev veth-left && {ip} add {mine}/24 dev veth-left")
        vm.a.wait_for(f"grep -qx {text} {gid}/*")
        assert not before & at(), f"the GID is back at {at()}, where it was"
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 2 --up 100000 --down 100000")
        # While a link group uses the old index.
        vm.a.run(f"{ip} del {mine}/24 dev veth-left && {ip} add {mine}/24 dev veth-left")
        vm.a.wait_for(f"grep -qx {text} {gid}/*")
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 2 --up 100000 --down 100000")
        nothing_went_wrong(vm.a)


@contextmanager
def in_pod(guest: Guest, kind: str):
    """A macvlan or ipvlan device on the left side's, in a namespace of its own."""
    mode = {"macvlan": "mode bridge", "ipvlan": "mode l2"}[kind]
    if guest.run(f"modprobe {kind}", check=False, timeout_s=180).rc:
        raise Skip(f"the kernel has no {kind}")
    guest.run(f"""set -e
        ip netns add pod
        {inside('left')} ip link add link veth-left name eth0 netns pod type {kind} {mode}
        {inside('pod')} ip addr add {ADDRESSES['pod']}/24 dev eth0
        {inside('pod')} ip link set lo up && {inside('pod')} ip link set eth0 up
        {inside('pod')} sysctl -q net.smc.smcd_loopback=0
        {inside('pod')} build/tools/smc_ctl eid add {EID}""")
    try:
        yield
    finally:
        guest.run("ip netns del pod", check=False)
        guest.wait_for(f"modprobe -r {kind}")


def pods_on_a_device(guest: Guest, kind: str) -> None:
    """A device that sits on the port's gets GIDs of that port in its own namespace."""
    with sides(guest), in_pod(guest, kind):
        for client, server in (("pod", "right"), ("right", "pod")):
            transfer(guest, client, server, "--up 100000 --down 100000")
        nothing_went_wrong(guest)


@case(on="ours")
def a_pod_on_macvlan(vm):
    pods_on_a_device(vm.a, "macvlan")


@case(on="ours")
def a_pod_on_ipvlan(vm):
    pods_on_a_device(vm.a, "ipvlan")


@contextmanager
def exclusive(guest: Guest):
    """Each RDMA device belongs to one network namespace; at first to the initial one."""
    guest.run("modprobe ib_core && rdma system set netns exclusive", timeout_s=180)
    try:
        yield
    finally:
        guest.wait_for("rdma system set netns shared")


@case(on="ours")
def devices_of_one_namespace_each(vm):
    """RDMA in exclusive mode: a namespace uses the devices that it was given, and no other ones."""
    with exclusive(vm.a), sides(vm.a):
        transfer(vm.a, "left", "right", "--up 100 --down 100", expect="fallback")
        vm.a.run("rdma dev set sim-left netns left")
        transfer(vm.a, "left", "right", "--up 100 --down 100", expect="fallback")
        vm.a.run("rdma dev set sim-right netns right")
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--connections 2 --up 100000 --down 100000")
        vm.a.run(f"{inside('left')} rdma dev set sim-left netns right")
        transfer(vm.a, "left", "right", "--up 100 --down 100", expect="fallback")
        nothing_went_wrong(vm.a)


@case(on="ours")
def messages_acknowledge_each_other(vm):
    """A short connection has eight segments: SYN, SYN-ACK, Proposal, Accept, Confirm, and three of its
    end. Each message is the acknowledgement of the one before it, and the Proposal that of the SYN-ACK."""
    connections, segments_max = 100, 8.2
    names = "TcpInSegs TcpOutSegs TcpRetransSegs TcpExtDelayedACKs"

    def counted(side: str) -> dict[str, int]:
        lines = vm.a.run(f"{inside(side)} nstat -asz {names}").out.splitlines()
        return {line.split()[0]: int(line.split()[1]) for line in lines if not line.startswith("#")}

    with sides(vm.a), served(vm.a, PORT, f"{inside('right')} {CHURN}"):
        # The first one makes the group, which takes longer than TCP keeps an ACK back.
        call = f"{inside('left')} {CHURN} call {ADDRESSES['right']} {PORT}"
        vm.a.run(f"{call} -n 1")
        before = {side: counted(side) for side in SIDES}
        smc = stats(vm.a, inside("left"))["smcr_client_v2"]
        vm.a.run(f"{call} -n {connections}")
        assert stats(vm.a, inside("left"))["smcr_client_v2"] == smc + connections
        grown = {side: {name: value - before[side][name] for name, value in counted(side).items()}
                 for side in SIDES}
    # TCP's timers run out on a slow machine. What they repeat is acknowledged once more.
    late = sum(grown[side][name] for side in SIDES for name in ("TcpRetransSegs", "TcpExtDelayedACKs"))
    seen = grown["left"]["TcpInSegs"] + grown["left"]["TcpOutSegs"]
    print(f"{seen} segments for {connections} connections, {late} of them late")
    assert seen - late < segments_max * connections, grown


@case(on="ours")
def a_handshakes_socket_is_its_listeners(vm):
    """The socket in which a child does its handshake has served the one before. What /proc says of its
    owner is true of the listener nevertheless, which has another one by now."""
    owner = 4711
    call = f"{inside('left')} {CHURN} call {ADDRESSES['right']} {PORT} -n 1"
    owned = f":{PORT:04X} [0-9A-F]*:[0-9A-F]* 01 [^ ]* [^ ]* [^ ]* *{owner} "
    vm.a.run("modprobe sch_netem")
    with sides(vm.a):
        server = vm.a.spawn(f"{inside('right')} python3 selftests/net/given_away.py {PORT} {owner}")
        server.expect("listening")
        vm.a.run(call)
        server.expect("given away")
        # So that there is time to look.
        for side in SIDES:
            vm.a.run(f"{inside(side)} tc qdisc add dev veth-{side} root netem delay 1s")
        client = vm.a.spawn(call)
        vm.a.run(f"until {inside('right')} grep '{owned}' /proc/net/tcp; do sleep 0.02; done",
                 timeout_s=20)
        client.wait()
        server.wait()
