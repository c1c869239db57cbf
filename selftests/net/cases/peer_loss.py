# SPDX-License-Identifier: GPL-2.0-only
"""Connections whose peer, device or TCP connection goes: they end with an error, soon, and what
comes after works again."""

import time

from harness import case
from held import ERRORS, Held, ended

XFER = "build/selftests/smc_xfer"
XFER_PORT = 7100


def transfers(vm, expect: str) -> None:
    """A new connection carries data over the expected transport."""
    server = vm.b.spawn(f"{XFER} --serve --port {XFER_PORT}")
    server.expect(r"\bready\b")
    try:
        vm.a.run(f"{XFER} --to {vm.b.ip4} --port {XFER_PORT} --up 200003 --down 300007"
                 f" --expect {expect}")
    finally:
        server.kill()
        server.wait(check=False)


@case(on="ours+ours")
def tcp_connection_is_killed(vm):
    """While nothing is sent, only the TCP connection underneath shows that the peer is alive."""
    held = Held(vm, 7501)
    vm.b.run("ss -K state established 'sport = :7501'")
    assert ended(held.server, 10) in ERRORS
    assert ended(held.client, 10) in ERRORS
    transfers(vm, "smcr")


LATE_PORT = 7510
_LATE_READER = f"""
import hashlib, socket, sys, time
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_listener
listener = smc_listener({LATE_PORT}, 1)
print("ready", flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
for option, value in ((socket.TCP_KEEPIDLE, 3), (socket.TCP_KEEPINTVL, 1)):
    connection.setsockopt(socket.IPPROTO_TCP, option, value)
time.sleep(12)
got = b"".join(iter(lambda: connection.recv(65536), b""))
print("got", len(got), hashlib.sha256(got).hexdigest(), flush=True)
"""
_CLOSES_EARLY = f"""
import hashlib, random, sys, time
sys.path.insert(0, "selftests/net/hostile")
from smc_target import smc_socket
connection = smc_socket()
connection.connect((sys.argv[1], {LATE_PORT}))
connection.setblocking(False)
sent = b""
patience = 20
while patience:
    piece = random.randbytes(4096)
    try:
        sent += piece[:connection.send(piece)]
    except BlockingIOError:
        patience -= 1
        time.sleep(0.05)
connection.close()
print("sent", len(sent), hashlib.sha256(sent).hexdigest(), flush=True)
"""


@case(on="ours+ours")
def closed_behind_a_late_reader_with_keepalive(vm):
    """More data than the ring holds is on its way when the sender closes, and TCP on its host
    forgets closed connections soon. If TCP is closed as well, the reader's keepalive finds
    nobody."""
    before = vm.a.call("smcnl.stats")["smcr"]["client_v2"]
    fin_timeout = vm.a.run("sysctl -n net.ipv4.tcp_fin_timeout").out.strip()
    vm.a.put("/tmp/closes.py", _CLOSES_EARLY.encode())
    vm.b.put("/tmp/reader.py", _LATE_READER.encode())
    vm.a.run("sysctl -q net.ipv4.tcp_fin_timeout=2")
    reader = vm.b.spawn("exec python3 /tmp/reader.py")
    try:
        reader.expect(r"\bready\b")
        sent = vm.a.run(f"python3 /tmp/closes.py {vm.b.ip4}").out.split()
        got = reader.expect(r"got \d+ \w+\n").split()
    finally:
        reader.kill()
        reader.wait(check=False)
        vm.a.run(f"sysctl -q net.ipv4.tcp_fin_timeout={fin_timeout}")
    assert vm.a.call("smcnl.stats")["smcr"]["client_v2"] == before + 1
    assert int(sent[1]) > 65536, f"{sent}"
    assert got[-2:] == sent[1:], f"{got} is not {sent}"


@case(on="ours+ours", fresh=True)
def peer_vanishes_while_we_send(vm):
    held = Held(vm, 7502, client="--send --timeout 90")
    time.sleep(1)
    vm.b.machine.freeze()
    try:
        how = ended(held.client, 60)
    finally:
        vm.b.machine.thaw()
    assert how in ERRORS, f"ended with {how}"
    assert ended(held.server, 120) in ERRORS | {"EOF"}
    transfers(vm, "smcr")


@case(on="ours+ours", fresh=True)
def peer_vanishes_while_idle(vm):
    """Only the link's heartbeat can notice."""
    for guest in vm.guests:
        guest.run("sysctl -q net.smc.smcr_testlink_time=2")
    held = Held(vm, 7503, client="--timeout 90")
    vm.b.machine.freeze()
    try:
        how = ended(held.client, 45)
    finally:
        vm.b.machine.thaw()
    assert how in ERRORS, f"ended with {how}"
    assert ended(held.server, 120) in ERRORS | {"EOF"}
    transfers(vm, "smcr")


@case(on="ours+ours", fresh=True)
def device_is_removed_and_comes_back(vm):
    held = Held(vm, 7504)
    vm.b.run("rdma link delete rxe0")
    assert ended(held.server, 15) in ERRORS
    assert ended(held.client, 60) in ERRORS
    transfers(vm, "fallback")
    vm.b.run("rdma link add rxe0 type rxe netdev eth0")
    transfers(vm, "smcr")


@case(on="ours+ours", fresh=True)
def device_is_removed_under_load(vm):
    held = Held(vm, 7505, client="--send")
    time.sleep(1)
    vm.a.run("rdma link delete rxe0")
    assert ended(held.client, 15) in ERRORS
    assert ended(held.server, 60) in ERRORS
    vm.a.run("rdma link add rxe0 type rxe netdev eth0")
    transfers(vm, "smcr")


@case(on="ours+ours", fresh=True)
def port_goes_down_and_up(vm):
    held = Held(vm, 7506)
    vm.b.run("ip link set eth0 down")
    try:
        assert ended(held.server, 15) in ERRORS
    finally:
        vm.b.run("ip link set eth0 up")
    assert ended(held.client, 60) in ERRORS
    # IPv6 addresses go when the interface goes down; only IPv4 is used here.
    transfers(vm, "smcr")


@case(on="ours+ours")
def process_is_killed(vm):
    """The kernel closes all sockets of a process, however the process ended."""
    held = Held(vm, 7507)
    held.client.kill(9)
    held.client.wait(check=False)
    assert ended(held.server, 10) in ERRORS | {"EOF"}
    transfers(vm, "smcr")
