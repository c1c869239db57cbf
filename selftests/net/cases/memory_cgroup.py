# SPDX-License-Identifier: GPL-2.0-only
"""What connections cost, and the memory cgroup that is charged with it."""

import json
from contextlib import contextmanager

from churn import stats
from loopback import charged, memory_group, serving

from harness import case
from strange import serving as listening, strange

PORT = 7660
PLAIN = 8
PLAIN_BYTES = 40 << 10

# Accepts only after the kernel has taken children out of its queue to find an SMC client.
_SERVER = f"""
import os, select, socket, sys
open("/run/cgroup/sockets/cgroup.procs", "w").write(str(os.getpid()))
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, int(sys.argv[2]))
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(64)
print("ready", flush=True)
sys.stdin.readline()
kept = [listener.accept()[0] for _ in range({PLAIN} + 1)]
print("accepted", flush=True)
sys.stdin.readline()
for child in kept[:{PLAIN}]:
    left = {PLAIN_BYTES}
    while left:
        left -= len(child.recv(left))
kept = listener = child = None
print("closed", flush=True)
sys.stdin.read()
"""
_CLIENTS = f"""
import socket, sys
server = ("127.0.0.1", int(sys.argv[1]))
kept = [socket.create_connection(server) for _ in range({PLAIN})]
for client in kept:
    client.sendall(bytes({PLAIN_BYTES}))
last = socket.socket(socket.AF_INET, socket.SOCK_STREAM, int(sys.argv[2]))
last.connect(server)
print("ready", flush=True)
sys.stdin.read()
"""


def sockets_of_clients_that_spoke_first(guest, port: int, protocol: int) -> tuple[int, int]:
    """The bytes that the server's cgroup is charged with: for its children, and after they have
    ended."""
    with memory_group(guest, "sockets"):
        with serving(guest, f"exec python3 /tmp/server.py {port} {protocol}") as server:
            with serving(guest, f"exec python3 /tmp/clients.py {port} {protocol}"):
                server.input(b"\n")
                server.expect("accepted")
                during = charged(guest, "sockets", "sock")
                server.input(b"\n")
                server.expect("closed")
            after = charged(guest, "sockets", "sock")
    return during, after


@case(on="ours")
def children_with_data_are_charged(vm):
    """In a listener's queue TCP clients that have sent data stand before an SMC client, and are
    taken out together with it. Their data is charged to the server's cgroup, as with TCP."""
    vm.a.put("/tmp/server.py", _SERVER.encode())
    vm.a.put("/tmp/clients.py", _CLIENTS.encode())
    shown = {name: sockets_of_clients_that_spoke_first(vm.a, port, protocol)
             for name, port, protocol in (("tcp", PORT, 0), ("smc", PORT + 1, 256))}
    assert all(during >= PLAIN * PLAIN_BYTES > 10 * after for during, after in shown.values()), (
        f"{shown}")


RING_BYTES = 1 << 20
CONNECTIONS = 12
# 8 MiB for large rings and 12 MiB in all, in pages of 4 KiB.
TCP_MEM = "1024 2048 3072"
HARD_BYTES = 12 << 20
LIMIT_BYTES = 8 << 20

_OWNER = f"""
import os, select, socket, sys
open("/run/cgroup/sockets/cgroup.procs", "w").write(str(os.getpid()))
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
    listener.setsockopt(socket.SOL_SOCKET, option, {RING_BYTES})
listener.bind(("0.0.0.0", int(sys.argv[1])))
listener.listen(64)
# The sockets stay there; the program itself is not to starve.
open("/run/cgroup/cgroup.procs", "w").write(str(os.getpid()))
print("ready", flush=True)
kept = []
for _ in range({CONNECTIONS}):
    kept.append(listener.accept()[0])
    kept[-1].sendall(b"x")
print("accepted", flush=True)
sys.stdin.read()
"""
_CONNECTS = f"""
import socket, sys
kept = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256) for _ in range({CONNECTIONS})]
for client in kept:
    client.connect((sys.argv[1], int(sys.argv[2])))
    assert client.recv(1) == b"x"
print("ready", flush=True)
sys.stdin.read()
"""


def ring_bytes(guest) -> int:
    return stats(guest)["ring_bytes"]


@contextmanager
def connected(vm, server, client, address: str, port: int):
    """Connects to a server in a cgroup that asks for large buffers, over both transports."""
    server.put("/tmp/owner.py", _OWNER.encode())
    client.put("/tmp/connects.py", _CONNECTS.encode())
    with serving(server, f"exec python3 /tmp/owner.py {port}") as owner:
        with serving(client, f"exec python3 /tmp/connects.py {address} {port}"):
            owner.expect("accepted")
            yield


def rings_are_charged(vm, server, client, address: str, port: int) -> None:
    with memory_group(server, "sockets"), connected(vm, server, client, address, port):
        kernel, bytes_ = charged(server, "sockets", "kernel"), ring_bytes(server)
    assert kernel >= 1.8 * CONNECTIONS * RING_BYTES, f"{kernel} of {bytes_} bytes are charged to the owner"


@contextmanager
def tcp_memory(guest, pages: str):
    before = guest.run("sysctl -n net.ipv4.tcp_mem").out.strip()
    guest.run(f"sysctl -q net.ipv4.tcp_mem='{pages}'")
    try:
        yield
    finally:
        guest.run(f"sysctl -q net.ipv4.tcp_mem='{before}'")


def limits_hold(vm, server, client, address: str, port: int) -> None:
    """The limit of the cgroup, then of the host: connect() succeeds in spite of them."""
    before = stats(server)["ring_limited"]
    with memory_group(server, "sockets"):
        server.run(f"echo {LIMIT_BYTES} >/run/cgroup/sockets/memory.max")
        with connected(vm, server, client, address, port):
            server.run("awk '$1 == \"oom_kill\" && $2 != 0 {exit 1}'"
                       " /run/cgroup/sockets/memory.events")
    with tcp_memory(server, TCP_MEM), memory_group(server, "sockets"):
        with connected(vm, server, client, address, port + 1):
            # The buffers of earlier connections are freed when the peer has answered.
            server.wait_for("awk '$1 == \"ring_bytes\" {print $2; exit $2 > "
                            f"{HARD_BYTES}}}' /proc/net/smc_stat")
            now = stats(server)
    assert now["ring_limited"] > before, "nothing was refused"


@case(on="ours+ours")
def rdma_buffers_are_charged_to_their_owner(vm):
    """Buffers that a work item allocates are charged to the server that asked for large ones."""
    rings_are_charged(vm, vm.b, vm.a, vm.b.ip4, PORT + 2)


@case(on="ours+ours")
def rdma_buffers_have_a_bound(vm):
    limits_hold(vm, vm.b, vm.a, vm.b.ip4, PORT + 3)


@case(on="ours")
def rings_inside_a_host_have_a_bound(vm):
    limits_hold(vm, vm.a, vm.a, "127.0.0.1", PORT + 5)


CROWD = 40
CROWD_RING_BYTES = 512 << 10
HIGH_BYTES = 1 << 20
PLENTY = "65536 65536 65536"

# A task so far above memory.high sleeps two seconds for each ring, and the work items of a crowd's
# handshakes all sleep at once. The first crowd's rings stay in use, so that the second crowd needs
# new ones.
_CROWDS = f"""
import json, os, socket, sys
sys.path.insert(0, "selftests/net")
from takeover import begun, connect_times_s, smc_listener

def enter(path):
    with open(path + "/cgroup.procs", "w") as members:
        members.write(str(os.getpid()))

def longest_s(kept):
    crowd = [begun(owned.getsockname()) for _ in range({CROWD})]
    times = connect_times_s(bystander, 15)
    kept += crowd + [owned.accept()[0] for _ in crowd]
    return times[-1]

os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
bystander = smc_listener(int(sys.argv[1]))
enter("/run/cgroup/sockets")
owned = smc_listener(0)
SO_RCVBUFFORCE = 33
owned.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, {CROWD_RING_BYTES})
owned.listen(2 * {CROWD})
owned.settimeout(60)
# The sockets stay there; the program itself is not to wait.
enter("/run/cgroup")
kept = []
usual_s = longest_s(kept)
with open("/run/cgroup/sockets/memory.current") as current:
    charged = int(current.read())
with open("/run/cgroup/sockets/memory.high", "w") as high:
    high.write("{HIGH_BYTES}")
above_s = longest_s(kept)
print(json.dumps({{"usual_s": usual_s, "above_s": above_s, "charged": charged}}))
"""


@case(on="ours")
def who_is_above_his_limit_keeps_nobody_waiting(vm):
    """A work item that allocates for an owner above memory.high does not delay the handshakes of
    others."""
    vm.a.put("/tmp/crowds.py", _CROWDS.encode())
    with tcp_memory(vm.a, PLENTY), memory_group(vm.a, "sockets"):
        outcome = json.loads(vm.a.run(f"python3 /tmp/crowds.py {PORT + 7}", timeout_s=120).out)
    assert outcome["charged"] > 8 * HIGH_BYTES, f"the crowd holds too little: {outcome}"
    assert outcome["above_s"] < 2 * outcome["usual_s"] + 0.5, f"others wait: {outcome}"


FULL_BYTES = 8 << 20
FULL_CROWD = 32

# The group has no program in it any more, so nothing could be killed, and the kernel says so in its
# log. Writing memory.high gives back what each processor has charged for later, and kills nobody.
_FULL = f"""
import os, select, socket, sys, time
GROUP = "/run/cgroup/sockets"

def enter(path):
    write(path, "cgroup.procs", os.getpid())

def write(path, name, value):
    with open(f"{{path}}/{{name}}", "w") as file:
        file.write(str(value))

def read(name):
    with open(f"{{GROUP}}/{{name}}") as file:
        return file.read()

def oom_calls():
    return int(dict(map(str.split, read("memory.events").splitlines()))["oom"])

def close_off():
    write(GROUP, "memory.high", 0)
    time.sleep(0.5)
    write(GROUP, "memory.high", "max")
    for _ in range(3):
        write(GROUP, "memory.max", read("memory.current"))
    return oom_calls()

def check(before):
    charged, limit, calls = int(read("memory.current")), int(read("memory.max")), oom_calls()
    # What this program's own calls need from now on, as close(), is its own affair.
    write(GROUP, "memory.max", "max")
    assert calls == before, f"the OOM killer was called {{calls - before}} times"
    assert charged > limit - {FULL_CROWD} * 4096, f"it was not full: {{charged}} of {{limit}} bytes"
"""
_FULL_SERVER = _FULL + f"""
enter(GROUP)
hoard = os.urandom({FULL_BYTES})
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("", int(sys.argv[1])))
listener.listen({2 * FULL_CROWD})
enter("/run/cgroup")
before = close_off()
print("ready", flush=True)
kept = [listener.accept()[0] for _ in range({FULL_CROWD})]
check(before)
print("accepted", flush=True)
sys.stdin.read()
"""
_FULL_CLIENTS = _FULL + f"""
enter(GROUP)
hoard = os.urandom({FULL_BYTES})
clients = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256) for _ in range({FULL_CROWD})]
enter("/run/cgroup")
for client in clients:
    client.setblocking(False)
    client.connect_ex((sys.argv[1], int(sys.argv[2])))
# The server has their Proposals, and two seconds to answer.
time.sleep(0.3)
before = close_off()
for client in clients:
    assert select.select([], [client], [], 30)[1], "it does not connect"
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
check(before)
"""
_SILENT = f"""
import socket, sys
server = socket.create_server(("", int(sys.argv[1])), backlog={4 * FULL_CROWD})
sys.stdin.read()
"""
_CROWD_CONNECTS = f"""
import socket, sys
kept = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256) for _ in range({FULL_CROWD})]
for client in kept:
    client.connect((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
sys.stdin.read()
"""


@case(on="ours+ours")
def strangers_bring_nobody_the_oom_killer(vm):
    """Where a server's cgroup is full, handshakes end without the cgroup's OOM killer: it is a work
    item that answers, because somebody has connected."""
    vm.b.put("/tmp/full.py", _FULL_SERVER.encode())
    vm.a.put("/tmp/crowd.py", _CROWD_CONNECTS.encode())
    with memory_group(vm.b, "sockets"):
        with serving(vm.b, f"exec python3 /tmp/full.py {PORT + 8}") as server:
            with serving(vm.a, f"exec python3 /tmp/crowd.py {vm.b.ip4} {PORT + 8}"):
                server.expect("accepted")


@case(on="ours+none")
def clients_connect_again_without_the_oom_killer(vm):
    """Their cgroup is full when the server has not answered, and they connect once more by TCP."""
    vm.b.put("/tmp/silent.py", _SILENT.encode())
    vm.a.put("/tmp/full.py", _FULL_CLIENTS.encode())
    before = stats(vm.a)["connected_again"]
    with strange(vm.b) as inside, listening(vm.b, f"{inside} python3 /tmp/silent.py 2007", 2007):
        with memory_group(vm.a, "sockets"):
            vm.a.run(f"python3 /tmp/full.py {vm.b.ip4} 2007")
    assert stats(vm.a)["connected_again"] == before + FULL_CROWD
