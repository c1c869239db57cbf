# SPDX-License-Identifier: GPL-2.0-only
"""The option of SMC on SYN and SYN-ACK, whoever writes it: TCP, or our module where TCP does not know
it. Two network namespaces are joined by real packets; connections between them are SMC-D if both
ends have seen the option."""

import json
from contextlib import contextmanager

import two_sides
from harness import case
from harness.adapters import inside

PROGRAM = "python3 selftests/net/tcp_option.py"
XFER = "build/selftests/smc_xfer"
PORT = 7440
SIDES = ("left", "right")
ADDRESS4 = {"left": "10.6.0.1", "right": "10.6.0.2"}
ADDRESS6 = {"left": "fd06::1", "right": "fd06::2"}
PEER_NO_SMC = "--client-reason 03010000"
BYTES = "--up 3000 --down 3000"
# One's own module on a kernel whose TCP could do it, and what users have.
WRITERS = ["ours", "ours@6.12:own"]
PROBES = "/sys/kernel/debug/kprobes"


@contextmanager
def namespaces(vm, modules: str = ""):
    """modules: of the kernel, which the case needs besides."""
    vm.a.run(f"modprobe -a veth {modules}", timeout_s=120)
    vm.a.run("ip link add option-left type veth peer name option-right")
    for side in SIDES:
        vm.a.run(f"""set -e
            ip netns add {side}
            ip link set option-{side} netns {side}
            {inside(side)} ip addr add {ADDRESS4[side]}/24 dev option-{side}
            {inside(side)} ip addr add {ADDRESS6[side]}/64 dev option-{side} nodad
            {inside(side)} ip link set lo up
            {inside(side)} ip link set option-{side} up
            # So that what is captured has its checksum.
            {inside(side)} ethtool -K option-{side} tx off >/dev/null""")
    for side, other in SIDES, SIDES[::-1]:
        # Nobody asks, and no question is lost.
        mac = vm.a.run(f"{inside(other)} cat /sys/class/net/option-{other}/address").out.strip()
        vm.a.run(f"{inside(side)} ip neigh replace {ADDRESS4[other]} dev option-{side}"
                 f" lladdr {mac} nud permanent")
    try:
        yield
    finally:
        for side in SIDES:
            # Without a way to its peer TCP would take minutes to end them.
            vm.a.wait_for(f"! {inside(side)} ss -Htan exclude time-wait exclude syn-recv | grep -q .")
        for side in SIDES:
            vm.a.run(f"ip netns del {side}")
        for module in modules.split():
            vm.a.wait_for(f"modprobe -r {module}")


def serving(vm, by: str = ""):
    return two_sides.serving(vm.a, "right", PORT, by)


def transfer(vm, options: str = "", to: str = ADDRESS4["right"], before: str = "",
             timeout_s: float = 60) -> list[dict]:
    """The SYNs and SYN-ACKs that the client's device has seen."""
    done = vm.a.run(f"{inside('left')} {PROGRAM} seen option-left {PORT} {before} {XFER} --to {to}"
                    f" --port {PORT} {BYTES} --timeout {timeout_s * vm.a.patience:g} {options}",
                    timeout_s + 60)
    return json.loads(done.out.splitlines()[-1])


def both_have_it(seen: list[dict]) -> None:
    assert {one["ack"] for one in seen} == {False, True}, seen
    assert all(one["options"] == 1 and one["sum"] for one in seen), seen
    # Behind all others, as TCP has it, and on a word of its own.
    assert all(one["at"] == one["length"] - 26 for one in seen), seen


@case(on=WRITERS)
def by_ipv4_and_ipv6(vm):
    with namespaces(vm), serving(vm):
        for to in ADDRESS4["right"], ADDRESS6["right"]:
            both_have_it(transfer(vm, "--expect smcd", to))


@case(on=WRITERS)
def by_a_mapped_address(vm):
    """An IPv6 socket that speaks IPv4."""
    with namespaces(vm), serving(vm):
        both_have_it(transfer(vm, "--expect smcd", f"::ffff:{ADDRESS4['right']}"))


@case(on=WRITERS)
def with_and_without_offloads(vm):
    """Whoever makes the checksum: the device, or IP."""
    with namespaces(vm), serving(vm):
        for on in "on", "off":
            for side in SIDES:
                vm.a.run(f"{inside(side)} ethtool -K option-{side} tx {on} rx {on} gso {on}"
                         f" gro {on} tso {on} >/dev/null")
            for to in ADDRESS4["right"], ADDRESS6["right"], f"::ffff:{ADDRESS4['right']}":
                transfer(vm, "--expect smcd", to)


@case(on=WRITERS)
def syn_cookies(vm):
    """Nothing is kept of a SYN that is answered by a cookie, so it is answered without the option."""
    with namespaces(vm), serving(vm):
        for value, expect in (1, "smcd"), (2, "fallback"), (0, "smcd"):
            vm.a.run(f"{inside('right')} sysctl -q net.ipv4.tcp_syncookies={value}")
            # More than once: the memory of requests is used again.
            for to in ADDRESS4["right"], ADDRESS6["right"], ADDRESS4["right"]:
                seen = transfer(vm, f"--expect {expect}", to)
                assert [one["options"] for one in seen] == [1, int(expect == "smcd")], seen


@case(on=WRITERS)
def repeated_syns_and_answers(vm):
    """What TCP repeats has the option again."""
    with namespaces(vm, "sch_netem"), serving(vm):
        for side in SIDES:
            vm.a.run(f"{inside(side)} tc qdisc add dev option-{side} root netem delay 1300ms")
            for to in ADDRESS4["right"], ADDRESS6["right"], f"::ffff:{ADDRESS4['right']}":
                seen = transfer(vm, "--expect smcd", to, timeout_s=90)
                both_have_it(seen)
                assert len(seen) > 2, seen
            vm.a.run(f"{inside(side)} tc qdisc del dev option-{side} root")


@case(on=WRITERS)
def lossy_ways(vm):
    """Four in ten of the SYNs and SYN-ACKs are lost. Both ends agree on SMC, and no byte is lost."""
    with namespaces(vm, "cls_u32 sch_netem sch_prio"), serving(vm):
        for side in SIDES:
            # What has the SYN flag goes by the fourth band.
            vm.a.run(f"""set -e
                tc() {{ {inside(side)} tc "$@"; }}
                tc qdisc add dev option-{side} root handle 1: prio bands 4
                tc qdisc add dev option-{side} parent 1:4 netem loss 40%
                tc filter add dev option-{side} parent 1: protocol ip u32 match u8 6 0xff at 9 \
                    match u8 0x02 0x02 at 33 flowid 1:4""")
        seen = transfer(vm, "--connections 20 --parallel 20 --expect smcd", timeout_s=300)
        both_have_it(seen)
        assert len(seen) > 44, f"{len(seen)} SYNs and SYN-ACKs: nothing was lost"


@case(on=WRITERS)
def signed_segments(vm):
    """Signatures are over the options, too; such a connection works."""
    assert signed(vm, "md5") == "fine\n"


@case(on=WRITERS)
def segments_with_tcp_ao(vm):
    """As signed_segments, where TCP has RFC 5925; of our kernels only 7.2's does."""
    has_it = vm.a.run("uname -r").out.startswith("7.")
    assert signed(vm, "ao") == ("fine\n" if has_it else "unknown\n")


def signed(vm, how: str) -> str:
    with namespaces(vm):
        return vm.a.run(f"{PROGRAM} signed {how} left {ADDRESS4['left']} right {ADDRESS4['right']}"
                        f" {PORT}").out


@case(on=WRITERS)
def through_a_vrf(vm):
    """Packets pass the IP layer twice on their way out. The other namespace is not looked for through
    it, so the connection is TCP in the end."""
    # It cannot be unloaded again.
    vm.a.run("modprobe vrf", timeout_s=60)
    with namespaces(vm):
        for side in SIDES:
            vm.a.run(f"""set -e
                {inside(side)} ip link add blue type vrf table 10
                {inside(side)} ip link set blue up
                {inside(side)} ip link set option-{side} master blue
                {inside(side)} ip addr replace {ADDRESS6[side]}/64 dev option-{side} nodad""")
        with serving(vm, "ip vrf exec blue"):
            for to in ADDRESS4["right"], ADDRESS6["right"]:
                both_have_it(transfer(vm, "--expect fallback --client-reason 03030000", to,
                                      before="ip vrf exec blue"))


@case(on=WRITERS)
def through_a_vlan_and_a_bridge(vm):
    """The bridge shows what it forwards to netfilter."""
    with namespaces(vm, "br_netfilter bridge 8021q"):
        for side, last in ("left", 1), ("right", 2):
            vm.a.run(f"""set -e
                {inside(side)} ip link add link option-{side} name vlan7 type vlan id 7
                {inside(side)} ip link add bridge0 type bridge
                {inside(side)} ip link set vlan7 master bridge0
                {inside(side)} ip link set vlan7 up
                {inside(side)} ip link set bridge0 up
                {inside(side)} ip addr add 10.6.7.{last}/24 dev bridge0
                {inside(side)} sysctl -q net.bridge.bridge-nf-call-iptables=1""")
        with serving(vm):
            transfer(vm, "--expect smcd", "10.6.7.2")


@case(on=WRITERS)
def a_server_without_it(vm):
    """Only the SYN has it."""
    with namespaces(vm):
        server = vm.a.spawn(f"{inside('right')} {XFER} --serve --port {PORT}")
        server.expect(r"\bready\b")
        for to in ADDRESS4["right"], ADDRESS6["right"], f"::ffff:{ADDRESS4['right']}":
            seen = transfer(vm, f"--server-mode tcp --expect fallback {PEER_NO_SMC}", to)
            assert [one["options"] for one in seen] == [1, 0], seen
            seen = transfer(vm, "--mode tcp --server-mode smc --expect fallback", to)
            assert [one["options"] for one in seen] == [0, 0], seen
        server.kill()
        server.wait(10, check=False)


@case(on=WRITERS)
def half_open_requests_that_outlive_the_module(vm):
    """TCP repeats the SYN-ACK of a request when the module that put the option there has gone, for
    another listener on that port."""
    def listening(kind: str):
        listener = vm.a.spawn(f"{inside('right')} {PROGRAM} listen {kind} {ADDRESS4['right']} {PORT}")
        listener.expect("ready")
        return listener

    syns = 20
    with namespaces(vm):
        vm.a.run(f"{inside('right')} sysctl -q net.ipv4.tcp_migrate_req=1")
        # The SYN-ACKs would be answered with a RST.
        vm.a.run(f"{inside('right')} ip neigh replace {ADDRESS4['left']} dev option-right"
                 " lladdr 02:00:00:00:00:01 nud permanent")
        ours, tcps = listening("smc"), listening("tcp")
        seen = json.loads(vm.a.run(
            f"{inside('right')} {PROGRAM} seen option-right 0 {inside('left')} {PROGRAM} syns"
            f" {ADDRESS4['left']} {ADDRESS4['right']} {PORT} {syns}").out)
        answers = [one for one in seen if one["ack"]]
        # By its hash a SYN comes to the one or the other listener.
        with_it = sum(one["options"] for one in answers)
        assert len(answers) == syns and 0 < with_it < syns, (
            f"{len(answers)} SYN-ACKs, {with_it} with the option")
        ours.kill()
        ours.wait(10, check=False)
        vm.a.unload_module()
        seen = json.loads(vm.a.run(
            f"{inside('right')} {PROGRAM} seen option-right 0 sleep 8", 60).out)
        assert len([one for one in seen if one["ack"]]) >= syns, seen
        vm.a.load_module()
        tcps.kill()
        tcps.wait(10, check=False)


@case(on="ours@6.12:own")
def a_probe_while_somebody_listens(vm):
    """Where TCP does not write the option, a probe puts it on the SYN-ACK. It is there only for
    listeners; without it they speak TCP."""
    def placed() -> bool:
        return "tcp_make_synack" in vm.a.run(f"cat {PROBES}/list").out

    with namespaces(vm):
        vm.a.unload_module()
        vm.a.load_module()
        assert not placed()
        listener = vm.a.spawn(f"{PROGRAM} listen smc 127.0.0.1 {PORT}")
        listener.expect("ready")
        assert placed()
        with serving(vm):
            vm.a.run(f"echo 0 > {PROBES}/enabled")
            try:
                transfer(vm, f"--expect fallback {PEER_NO_SMC}")
            finally:
                vm.a.run(f"echo 1 > {PROBES}/enabled")
            transfer(vm, "--expect smcd")
        listener.kill()
        listener.wait(10, check=False)
        vm.a.wait_for(f"! grep -q tcp_make_synack {PROBES}/list", timeout_s=90)
