# SPDX-License-Identifier: GPL-2.0-only
"""Inside one host: SMC-D over the loopback device, within a network namespace and between two."""

import json
import time
from contextlib import contextmanager

from harness import Guest, case

CASES = "build/selftests/smc_cases"
XFER = "build/selftests/smc_xfer"
HOLD = "python3 selftests/net/hold.py"
CTL = "build/tools/smc_ctl"
NO_GROUP = f"! {CTL} groups | grep SMC-D"
PORT = 7260
# Addresses of a second namespace, which a veth pair connects.
NEAR4, FAR4, NOWHERE4 = "10.8.0.1", "10.8.0.2", "10.8.0.250"
NEAR6, FAR6, NOWHERE6 = "fd08::1", "fd08::2", "fd08::fefe"
_BETWEEN = r"10\.8\.0\.|fd08::"
FAR = "ip netns exec far"
ELSEWHERE4 = "10.9.0.250"
TIMEOUT_S = 900
NO_RDMA_DEVICE = 0x03030002
OWN, OTHERS = 1, 2
BEGIN_CONNECT = f"""
import sys
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_socket
connection = smc_socket()
connection.setblocking(False)
connection.connect_ex(("{ELSEWHERE4}", {PORT}))
"""

ACCEPT_ALL = f"""
import socket
import sys
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_listener
listener = smc_listener({PORT}, 64)
print("ready", flush=True)
kept = []
while True:
    kept.append(listener.accept())
"""
OPEN_SOME = f"""
import sys
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_socket
kept = [smc_socket() for _ in range(int(sys.argv[2]))]
for connection in kept:
    connection.connect((sys.argv[1], {PORT}))
print("ready", flush=True)
sys.stdin.read()
"""
SHOW = """
import json, sys
sys.path.insert(0, "selftests/vm/guest")
import smcnl
print(json.dumps([smcnl.smcd_link_groups(), smcnl.sockets()]))
"""


@contextmanager
def second_namespace(guest: Guest):
    guest.run(f"""set -e
        ip netns add far
        ip link add near type veth peer name far netns far
        {FAR} sysctl -q net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.far.accept_dad=0
        sysctl -q net.ipv6.conf.near.accept_dad=0
        ip addr add {NEAR4}/24 dev near && ip addr add {NEAR6}/64 dev near nodad
        {FAR} ip addr add {FAR4}/24 dev far
        {FAR} ip addr add {FAR6}/64 dev far nodad
        ip link set near up
        {FAR} ip link set lo up && {FAR} ip link set far up
        for nowhere in {NOWHERE4} {NOWHERE6}; do
            ip neigh replace $nowhere lladdr 02:00:00:00:00:fa nud permanent dev near
        done""")
    try:
        yield
    finally:
        # A TCP connection whose other end goes with its namespace repeats its FIN for minutes.
        guest.run(f"""for try in $(seq 50); do
            ss -Htan state connected exclude syn-sent exclude time-wait | grep -qE '{_BETWEEN}' ||
                break
            sleep 0.2
        done; ip netns del far""", check=False)
        guest.wait_for("! ip netns | grep far && ! ip link show near 2>/dev/null")


@contextmanager
def serving(guest: Guest, command: str):
    process = guest.spawn(command)
    process.expect(r"\bready\b")
    try:
        yield process
    finally:
        process.kill()
        process.wait(10, check=False)


def compare(guest: Guest, address: str, options: str, prefix: str = "") -> None:
    with serving(guest, f"{prefix} {CASES} --agent --port {PORT}"):
        guest.run_tap(f"{CASES} --to {address} --port {PORT} {options}", TIMEOUT_S)


def transfer(guest: Guest, address: str, options: str) -> None:
    guest.run(f"{XFER} --to {address} --port {PORT} {options}", 180)


def allow(guest: Guest, whom: int, prefix: str = "") -> None:
    guest.run(f"{prefix} sysctl -q net.smc.smcd_loopback={whom}")


def event(guest: Guest, name: str, prefix: str = "") -> int:
    """A counter of the namespace, from /proc/net/smc_stat."""
    return int(guest.run(f"{prefix} awk '$1 == \"{name}\" {{print $2}}' /proc/net/smc_stat").out)


def near(guest: Guest, prefix: str = "") -> int:
    """Handshakes of the namespace whose CLC messages went through memory, not over TCP."""
    return event(guest, "clc_near", prefix)


@case(on="ours")
def over_smcd(vm):
    """All socket calls, between two namespaces."""
    with second_namespace(vm.a):
        compare(vm.a, FAR4, "--mode smc --expect smcd", FAR)


@case(on="ours")
def over_smcd_by_ulp(vm):
    with second_namespace(vm.a):
        compare(vm.a, FAR4, "--mode ulp --expect smcd --only '[a-k]*'", FAR)


@case(on="ours")
def over_smcd_by_protocol_ipv6(vm):
    with second_namespace(vm.a):
        compare(vm.a, FAR6, "--mode inet --expect smcd --only '[k-z]*'", FAR)


@case(on="ours")
def over_smcd_in_one_namespace(vm):
    """By each address of the host itself; also with an RDMA device and an EID."""
    with serving(vm.a, f"{XFER} --serve --port {PORT}"):
        for address in ("127.0.0.1", "::1", vm.a.ip4, vm.a.ip6):
            transfer(vm.a, address, "--up 1000003 --down 500009 --expect smcd")
            transfer(vm.a, address, "--up 10007 --down 5 --connections 60 --parallel 20 --hold"
                                    " --expect smcd")


@case(on="ours@6.12:no-rdma")
def over_smcd_without_rdma(vm):
    """As it is built for a kernel that has none."""
    vm.a.run("! modprobe --show-depends smc | grep -E 'ib_core|rdma_cm'")
    assert vm.a.run(f"{CTL} devices").out == ""
    over_smcd_in_one_namespace(vm)
    namespaces_are_kept_apart(vm)


@contextmanager
def without_rdma_device(guest: Guest):
    """Whether a connection to another host is not even offered SMC."""
    def refused() -> int:
        return guest.call("smcnl.counters")["reasons"].get(f"client {NO_RDMA_DEVICE:#010x}", 0)

    def refuses() -> bool:
        before = refused()
        guest.run(f"ip neigh replace {ELSEWHERE4} lladdr 02:00:00:00:00:fa nud permanent dev eth0;"
                  f" python3 -c '{BEGIN_CONNECT}'")
        return refused() == before + 1

    guest.run("rdma link delete rxe0")
    try:
        yield refuses
    finally:
        guest.run("rdma link add rxe0 type rxe netdev eth0")


@case(on="ours")
def over_smcd_without_an_rdma_device(vm):
    """SMC-D is offered to peers on this host only."""
    with without_rdma_device(vm.a) as refuses:
        with serving(vm.a, f"{XFER} --serve --port {PORT}"):
            transfer(vm.a, "127.0.0.1", "--up 100003 --down 50021 --expect smcd")
        assert refuses(), "another host is offered SMC"


@case(on="ours")
def a_namespace_has_the_addresses_of_its_devices(vm):
    """Not all addresses, by a route that anybody may set in a namespace of his own."""
    with second_namespace(vm.a), without_rdma_device(vm.a) as refuses:
        with serving(vm.a, f"{FAR} python3 -c '{ACCEPT_ALL}'"):
            vm.a.run(f"{FAR} ip route add local 0.0.0.0/0 dev lo")
            assert refuses(), "it has them all"
            vm.a.run(f"{FAR} ip addr add {ELSEWHERE4}/32 dev lo")
            assert not refuses(), "it has none"
        assert refuses(), "nobody listens there"


@case(on="ours")
def namespaces_are_kept_apart(vm):
    with second_namespace(vm.a), serving(vm.a, f"{FAR} {XFER} --serve --port {PORT}"):
        transfer(vm.a, FAR4, "--up 1009 --down 1013 --expect smcd")
        for prefix in ("", FAR):
            allow(vm.a, OWN, prefix)
            transfer(vm.a, FAR4, "--up 1009 --down 1013 --expect fallback")
            vm.a.run(f"{FAR} {XFER} --to {FAR4} --port {PORT} --up 1009 --down 1013 --expect smcd")
            allow(vm.a, OTHERS, prefix)
        allow(vm.a, 0, FAR)
        transfer(vm.a, FAR4, "--up 1009 --down 1013 --expect fallback")
        allow(vm.a, OTHERS, FAR)
        transfer(vm.a, FAR4, "--up 1009 --down 1013 --expect smcd")


@case(on="ours")
def handshakes_meet_in_memory(vm):
    """A client that waits too long for its server uses TCP, so a few may not meet in memory."""
    several = 30
    options = f"--up 11 --down 13 --connections {several} --expect smcd"

    with serving(vm.a, f"{XFER} --serve --port {PORT}"):
        before = near(vm.a)
        transfer(vm.a, "127.0.0.1", options)
        met = near(vm.a) - before
        assert several <= met <= 2 * several, f"{met} ends of {several} connections"
    with second_namespace(vm.a), serving(vm.a, f"{FAR} {XFER} --serve --port {PORT}"):
        before = near(vm.a)
        transfer(vm.a, FAR4, options)
        met = near(vm.a) - before
        assert several / 2 <= met <= several, f"{met} clients of {several} connections"
        assert near(vm.a, FAR) == met, f"{near(vm.a, FAR)} servers, {met} clients"
        allow(vm.a, OWN, FAR)
        transfer(vm.a, FAR4, "--up 11 --down 13 --connections 3 --expect fallback")
        assert near(vm.a) == before + met, "met one that keeps to itself"
        assert near(vm.a, FAR) == met, "met one of elsewhere"
        allow(vm.a, OTHERS, FAR)


@case(on="ours")
def rings_grow_with_use(vm):
    """A stream's ring grows as far as TCP's buffer would, unless SO_RCVBUF or SO_SNDBUF was set."""
    # Reads that empty the ring, so that the writer finds it empty when it wakes.
    stream = "--up 12000017 --io block --read 1048576 --expect smcd"

    def grown(options: str) -> int:
        before = event(vm.a, "ring_grown")
        transfer(vm.a, "127.0.0.1", options)
        return event(vm.a, "ring_grown") - before

    with serving(vm.a, f"{XFER} --serve --port {PORT}"):
        assert 1 <= grown(stream) <= 2, "from 128 KiB to 512 KiB"
        assert 2 <= grown(f"{stream} --down 12000017") <= 4, "both rings"
        assert grown("--up 100003 --down 100003 --write 1009 --expect smcd") == 0
        assert grown(f"{stream} --rcvbuf 65536") == 0
        assert grown(f"{stream} --sndbuf 65536") == 0
        vm.a.run("sysctl -q net.ipv4.tcp_moderate_rcvbuf=0")
        assert grown(stream) == 0
        vm.a.run("sysctl -q net.ipv4.tcp_moderate_rcvbuf=1 net.ipv4.tcp_rmem='4096 131072 300000'")
        assert grown(stream) == 1, "to 256 KiB"


def shown(guest: Guest, prefix: str = "") -> tuple[list[dict], list[dict]]:
    """The SMC-D link groups of a namespace, and the sockets in them."""
    groups, sockets = json.loads(guest.run(f"{prefix} python3 -c '{SHOW}'").out)
    return groups, [entry for entry in sockets if "dmb" in entry]


def shows(guest: Guest, ends: int, prefix: str = "") -> dict:
    """The namespace shows so many ends, all in the one group that its sockets name, each with its
    peer's token."""
    # At the server the last connections may still be in their handshake.
    guest.wait_for(f"test $({prefix} {CTL} sockets | grep -c ' SMC-D group ') = {ends}")
    (group,), sockets = shown(guest, prefix)
    told = f"{group} {sockets}"
    assert len(sockets) == group["connections"] == ends, told
    assert group["dmb_bytes"] == sum(entry["rmb_bytes"] for entry in sockets) != 0, told
    assert group["chid"] == 0xffff and group["sndbuf_bytes"] == 0, told
    assert (group["vlan"], group["pnetid"]) == (0, ""), told
    assert group["gid"] == group["peer_gid"] != 0, told
    assert group["gid_extension"] == group["peer_gid_extension"] != 0, told
    assert group["v2_common"] == {"version": 2, "release": 1, "os": 2, "eid": "",
                                  "peer_host": guest.run("uname -n").out.strip()}, told
    for entry in sockets:
        dmb = entry["dmb"]
        assert (dmb["group"], dmb["gid"], dmb["peer_gid"]) == (
            group["id"], group["gid"], group["gid"]), told
    return {entry["dmb"]["token"]: entry["dmb"]["peer_token"] for entry in sockets}


def pairs(tokens: dict) -> int:
    """How many connections have both ends in the list, each with the other's token."""
    assert all(tokens.get(peer) == token for token, peer in tokens.items()), f"{tokens}"
    return len(tokens) // 2


KEEPER = f"""
import os
import sys
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_listener
listener = smc_listener({PORT}, 8)
print("ready", flush=True)
kept, _ = listener.accept()
print("accepted", flush=True)
os.read(0, 1)
words = b""
while piece := kept.recv(4096):
    words += piece
print("heard:", words.decode(), flush=True)
os.read(0, 1)
"""
LEAVER = f"""
import sys
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_socket
connection = smc_socket()
connection.connect(("{NEAR4}", {PORT}))
connection.sendall(b"last words")
"""


@case(on="ours")
def one_that_stays_keeps_no_namespace(vm):
    """A program sends, closes and exits, and its namespace is removed; the other program leaves its
    end open and unread."""
    with second_namespace(vm.a):
        with serving(vm.a, f"exec python3 -c '{KEEPER}'") as keeper:
            vm.a.run(f"{FAR} python3 -c '{LEAVER}'")
            keeper.expect("accepted")
            assert [len(shown(vm.a, prefix)[1]) for prefix in ("", FAR)] == [1, 0]
            vm.a.run("ip netns del far")
            # When the namespace is gone, its devices are gone.
            vm.a.wait_for("! ip link show near 2>/dev/null", 20)
            keeper.input(b"!")
            keeper.expect("heard: last words")
            # Nobody answers the FIN, so the connection is killed.
            vm.a.run(f"ss -K dst {FAR4}")
    vm.a.wait_for(NO_GROUP)


@case(on="ours")
def link_group_within_a_namespace(vm):
    """The group lists all its ends, while others come and go, and disappears with the last."""
    held = 5

    vm.a.wait_for(NO_GROUP)
    assert shown(vm.a) == ([], [])
    with serving(vm.a, f"python3 -c '{ACCEPT_ALL}'"), \
            serving(vm.a, f"python3 -c '{OPEN_SOME}' 127.0.0.1 {held}"):
        tokens = shows(vm.a, 2 * held)
        assert pairs(tokens) == held
        group = vm.a.run(f"{CTL} groups").out
        assert f"SMC-D connections {2 * held}\n" in group and " chid ffff\n" in group, group
        sockets = vm.a.run(f"{CTL} sockets").out
        for token, peer in tokens.items():
            assert f" SMC-D group 00000001 token {token:016x} peer {peer:016x}\n" in sockets

        with serving(vm.a, f"{XFER} --serve --port {PORT + 1}"):
            guests = vm.a.spawn(f"{XFER} --to 127.0.0.1 --port {PORT + 1} --up 30007 --down 20003"
                                " --connections 60 --parallel 20 --hold --read-delay 2000"
                                " --expect smcd")
            while guests.poll() is None:
                (group,), sockets = shown(vm.a)
                assert group["connections"] >= 2 * held, f"{group}"
                assert group["dmb_bytes"] >= 2 * held * 16384, f"{group}"
                now = {entry["dmb"]["token"]: entry["dmb"]["peer_token"] for entry in sockets}
                assert tokens.items() <= now.items(), f"{tokens} {now}"
            guests.wait(180)
        vm.a.wait_for(f"{CTL} groups | grep -q 'SMC-D connections {2 * held}$'")
        assert shows(vm.a, 2 * held) == tokens
        assert vm.a.call("smcnl.smcd_devices") == 0
        # All earlier connections may be gone between two dumps; these stay.
        with serving(vm.a, f"python3 -c '{OPEN_SOME}' 127.0.0.1 3"):
            more = shows(vm.a, 2 * (held + 3))
            assert pairs(more) == held + 3
            assert tokens.items() <= more.items(), f"{tokens} {more}"
    vm.a.wait_for(NO_GROUP)
    assert shown(vm.a) == ([], [])


@case(on="ours")
def link_group_between_namespaces(vm):
    """Each namespace lists its own ends, with each other's tokens."""
    held = 4

    with second_namespace(vm.a):
        with serving(vm.a, f"{FAR} python3 -c '{ACCEPT_ALL}'"), \
                serving(vm.a, f"python3 -c '{OPEN_SOME}' {FAR4} {held}"):
            near_tokens, far_tokens = shows(vm.a, held), shows(vm.a, held, FAR)
            assert near_tokens.keys().isdisjoint(far_tokens), f"{near_tokens} {far_tokens}"
            assert pairs(near_tokens | far_tokens) == held
        vm.a.wait_for(NO_GROUP)
        vm.a.wait_for(f"! {FAR} {CTL} groups | grep SMC-D")


@case(on="ours")
def open_connections_are_shown(vm):
    with serving(vm.a, f"{XFER} --serve --port {PORT}"):
        before = vm.a.call("smcnl.stats")["smcd"]
        transfer(vm.a, "127.0.0.1", "--up 1009 --down 1013 --expect smcd")
        after = vm.a.call("smcnl.stats")["smcd"]
    for counter in ("client_v2", "server_v2"):
        assert after[counter] == before[counter] + 1, f"{counter}: {before} {after}"
    assert after["tx_bytes"] >= before["tx_bytes"] + 1009 + 1013, f"{before} {after}"
    holder = vm.a.spawn(f"{HOLD} serve {PORT}")
    holder.expect("listening")
    client = vm.a.spawn(f"{HOLD} connect 127.0.0.1 {PORT}")
    client.expect("connected")
    holder.expect("connected")
    try:
        shown = [entry for entry in vm.a.call("smcnl.sockets") if entry["mode"] == "SMC-D"]
        assert len(shown) == 2, f"{shown}"
        one, other = (entry["dmb"] for entry in shown)
        assert one["gid"] == other["gid"] == other["peer_gid"] != 0, f"{shown}"
        assert one["token"] == other["peer_token"], f"{shown}"
        assert other["token"] == one["peer_token"], f"{shown}"
    finally:
        client.kill(9)
        assert "ended: EOF" in holder.wait(30).out
        client.wait(10, check=False)


# The server waits before accept(), so that the kernel makes the connection.
_SERVER_IN_A_GROUP = """
import os, select, socket, sys
open("/run/cgroup/smc/cgroup.procs", "w").write(str(os.getpid()))
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(5)
print("ready", flush=True)
select.select([listener], [], [])
connection, _ = listener.accept()
print("accepted", flush=True)
connection.recv(1)
"""
_CLIENT = """
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
client.connect(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def memory_group(guest: Guest, *names: str):
    paths = " ".join(f"/run/cgroup/{name}" for name in names)
    guest.run("mkdir -p /run/cgroup; mount -t cgroup2 none /run/cgroup;"
              f" echo +memory >/run/cgroup/cgroup.subtree_control; mkdir {paths}")
    try:
        yield
    finally:
        guest.run(f"rmdir {paths} && umount /run/cgroup && rmdir /run/cgroup")


def charged(guest: Guest, name: str, what: str) -> int:
    """So many bytes are charged, by memory.stat, when the kernel has updated it."""
    # The kernel updates it every two seconds, or when there is much to add.
    time.sleep(2.5)
    group = f"/run/cgroup/{name}"
    stat = dict(line.split() for line in guest.run(f"cat {group}/memory.stat").out.splitlines())
    if what == "kernel" and what not in stat:
        # 5.10 does not sum it up.
        return int(guest.run(f"cat {group}/memory.current").out) - int(stat["anon"]) - int(stat["file"])
    return int(stat[what])


@case(on="ours")
def a_ring_is_charged_to_who_reads_it(vm):
    """A polling server in a memory cgroup, which has set a large SO_RCVBUF."""
    def in_use() -> int:
        return int(vm.a.run("cat /run/cgroup/smc/memory.current").out)

    vm.a.run("sysctl -q net.core.rmem_max=16777216")
    vm.a.put("/tmp/server.py", _SERVER_IN_A_GROUP.encode())
    vm.a.put("/tmp/client.py", _CLIENT.encode())
    with memory_group(vm.a, "smc"):
        with serving(vm.a, f"exec python3 /tmp/server.py {PORT + 9}") as server:
            before = in_use()
            with serving(vm.a, f"exec python3 /tmp/client.py {PORT + 9}"):
                server.expect("accepted")
                grown = in_use() - before
    vm.a.run("sysctl -q net.core.rmem_max=212992")
    assert grown >= 4 << 20, f"{grown} bytes more are charged to the server"


STREAM_BYTES = 24 << 20
MANY = 40
# The server reads a stream while its cgroup has almost no memory left. Then connections are made,
# which it accepts when there is memory again, since accept() itself needs some.
_FULL_SERVER = f"""
import os, socket, sys, time
GROUP = "/run/cgroup/full/"
open(GROUP + "cgroup.procs", "w").write(str(os.getpid()))
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen({MANY + 8})
held = bytearray(b"x") * (24 << 20)
buffer = bytearray(1 << 18)
print("ready", flush=True)
connection, _ = listener.accept()
limit = open(GROUP + "memory.max", "w")
limit.write(str(int(open(GROUP + "memory.current").read()) + (96 << 10)))
limit.flush()
connection.send(b"g")
left = {STREAM_BYTES}
while left:
    # So that the ring fills up, and is empty before the writer comes back.
    time.sleep(0.002)
    left -= connection.recv_into(buffer)
# Nothing here may ask for memory.
os.read(0, 1)
for _ in range({MANY}):
    listener.accept()[0].send(b"y")
print("accepted", flush=True)
connection.recv(1)
"""
_CLIENT_OUTSIDE = f"""
import socket, sys
def connect():
    client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
    client.connect(("127.0.0.1", int(sys.argv[1])))
    return client
client = connect()
assert client.recv(1) == b"g"
client.sendall(bytes({STREAM_BYTES}))
kept = [connect() for _ in range({MANY})]
print("ready", flush=True)
assert all(connection.recv(1) == b"y" for connection in kept)
print("answered", flush=True)
sys.stdin.read()
"""


@case(on="ours")
def peers_do_not_bring_the_oom_killer(vm):
    """The reader's cgroup is full while a peer outside of it streams, and connects many times:
    rings are smaller, or do not grow, or the connection uses TCP. The OOM killer kills no program
    of the cgroup."""
    vm.a.put("/tmp/server.py", _FULL_SERVER.encode())
    vm.a.put("/tmp/client.py", _CLIENT_OUTSIDE.encode())
    killed = "awk '$1 == \"oom_kill\" {print $2}' /run/cgroup/full/memory.events"
    with memory_group(vm.a, "full"):
        with serving(vm.a, f"exec python3 /tmp/server.py {PORT + 10}") as server:
            client = vm.a.spawn(f"exec python3 /tmp/client.py {PORT + 10}")
            try:
                client.expect("ready", timeout_s=120)
                assert vm.a.run(killed).out.strip() == "0"
                vm.a.run("echo max >/run/cgroup/full/memory.max")
                server.input(b"!")
                client.expect("answered")
                server.expect("accepted")
            finally:
                client.kill()
                client.wait(10, check=False)


_SERVER_OF_A_GROUP = """
import os, socket, sys
open(f"/run/cgroup/{sys.argv[2]}/cgroup.procs", "w").write(str(os.getpid()))
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(64)
print("ready", flush=True)
kept = [listener.accept() for _ in range(8)]
print("accepted", flush=True)
sys.stdin.read()
"""
_CLIENTS_OF_A_GROUP = """
import socket, sys
kept = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256) for _ in range(8)]
for client in kept:
    client.connect(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
sys.stdin.read()
"""


@case(on="ours")
def a_ring_that_was_used_is_charged_to_who_reads_it(vm):
    """Pooled rings of one cgroup's connections are not given to connections of another cgroup."""
    vm.a.put("/tmp/server.py", _SERVER_OF_A_GROUP.encode())
    vm.a.put("/tmp/client.py", _CLIENTS_OF_A_GROUP.encode())
    grown = {}
    with memory_group(vm.a, "one", "two"):
        for port, name in ((PORT + 11, "one"), (PORT + 12, "two")):
            with serving(vm.a, f"exec python3 /tmp/server.py {port} {name}") as server:
                # Only kernel memory: the server's own memory may grow by a huge page.
                before = charged(vm.a, name, "kernel")
                with serving(vm.a, f"exec python3 /tmp/client.py {port}"):
                    server.expect("accepted")
                    grown[name] = charged(vm.a, name, "kernel") - before
            vm.a.wait_for(NO_GROUP)
    # Each ring has 1 MiB.
    assert all(bytes_ >= 600_000 for bytes_ in grown.values()), f"{grown}"
