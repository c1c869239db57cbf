# SPDX-License-Identifier: GPL-2.0-only
"""smc_ctl capture: what it takes, and what Wireshark's dissectors make of its files."""

import json
import re
import struct
import subprocess
import tempfile
from contextlib import contextmanager

from churn import served, stats
from harness import Guest, Process, case
from harness.adapters import SIDES, adapters, inside, rdma_device
from selecting import CTL

FILE = "/tmp/smc.pcapng"
INCOMPLETE = 2
PORT = 7800
TALK = "/tmp/talk.py"
RUN = f"build/tools/smc_run python3 {TALK}"
SECRET = "nobody but the two ends is to see this. "
# What the client says, so many times, the server says again.
PROGRAM = f"""
import socket, sys, time
def read(connection):
    text = b""
    while piece := connection.recv(65536):
        text += piece
    return text
if sys.argv[1] == "serve":
    any_ip = dict(family=socket.AF_INET6, dualstack_ipv6=True)
    with socket.create_server(("::", int(sys.argv[2])), **any_ip) as server:
        print("ready", flush=True)
        while True:
            with server.accept()[0] as connection:
                connection.sendall(read(connection))
said = {SECRET!r}.encode() * int(sys.argv[2])
with socket.create_connection((sys.argv[1], {PORT})) as connection:
    # TCP's ACK of the last CLC message is late.
    time.sleep(0.3)
    connection.sendall(said)
    connection.shutdown(socket.SHUT_WR)
    assert read(connection) == said
"""
SEND_FRAMES = """
import json, socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("frames", 0))
for frame in json.loads(sys.argv[1]):
    out.send(bytes.fromhex(frame))
"""
PROPOSAL, ACCEPT, CONFIRM = "1", "2", "3"


@contextmanager
def capturing(guest: Guest, options: str = ""):
    capture = guest.spawn(f"exec {CTL} capture --write {FILE} {options} 2>&1")
    try:
        capture.expect("smc_ctl: capturing on")
        yield capture
    finally:
        capture.kill()
        capture.wait(10, check=False)


def ended(guest: Guest, capture: Process) -> tuple[str, bytes]:
    """What it said, and the file."""
    capture.kill(2)
    return capture.wait(20).out, guest.get(FILE)


def serving(guest: Guest):
    guest.put(TALK, PROGRAM.encode())
    return served(guest, PORT, RUN)


def talk(guest: Guest, host: str, times: int = 100) -> None:
    """Returns when the last FIN is through."""
    guest.put(TALK, PROGRAM.encode())
    guest.run(f"{RUN} {host} {times}")
    guest.wait_for(f"! ss -Htan 'sport = :{PORT} or dport = :{PORT}' |"
                   " grep -v -e LISTEN -e TIME-WAIT")


def decoded(data: bytes, fits: str, *fields: str) -> list[list[str]]:
    """What tshark says of the packets that fit, a row each. An LLC message of version 2 from a
    little-endian machine it takes for one of NFS, if for anything."""
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
        file.write(data)
        file.flush()
        done = subprocess.run(
            ["tshark", "-r", file.name, "--disable-protocol", "rpcordma", "-Y", fits,
             "-T", "fields", *(word for field in fields for word in ("-e", field))],
            check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def column(data: bytes, fits: str, field: str) -> list[str]:
    return [row[0] for row in decoded(data, fits, field)]


def nothing_is_malformed(data: bytes) -> None:
    malformed = decoded(data, "_ws.malformed", "frame.number", "_ws.col.Info")
    assert not malformed, malformed


def counted(said: str, interface: str) -> dict[str, int]:
    """Its last words of an interface."""
    line = re.search(rf"smc_ctl: {interface}: (.*)", said)[1]
    return {name: int(count) for count, name in re.findall(r"(\d+) ([\w ]+)", line)}


def begun_and_ended(data: bytes, connections: int) -> None:
    """A SYN each way, and at the end a RST; a FIN before it if the other end closed late."""
    # A busy machine sends one again.
    flags = {tuple(row) for row in decoded(data, f"tcp.port == {PORT} and tcp.flags & 7",
                                           "tcp.stream", "tcp.srcport", "tcp.flags.syn",
                                           "tcp.flags.reset")}
    begun = [stream for stream, _, syn, _ in flags if syn == "1"]
    ended = {stream for stream, _, _, reset in flags if reset == "1"}
    assert len(begun) == 2 * connections and len(ended) == connections, flags


@case(on="ours+ours")
def wireshark_decodes_smcr(vm):
    # So that there is no link group yet.
    vm.b.unload_module()
    vm.b.load_module()
    before = stats(vm.a)["smcr_client_v2"]
    with serving(vm.b), capturing(vm.a) as capture:
        for host in vm.b.ip4, vm.b.ip6:
            talk(vm.a, host)
        said, data = ended(vm.a, capture)
    assert stats(vm.a)["smcr_client_v2"] == before + 2, "not by SMC-R"
    nothing_is_malformed(data)
    for protocol in "ip", "ipv6":
        clc = column(data, f"smc.clc_msg and {protocol} and tcp", "smc.clc_msg")
        assert clc == [PROPOSAL, ACCEPT, CONFIRM], clc
    comments = column(data, "frame.comment", "frame.comment")
    assert comments[:2] == ["LLCv2 CONFIRM LINK", "LLCv2 CONFIRM LINK, response"], comments
    assert len(decoded(data, "smc.llc_msg == 0xfe", "frame.number")) >= 4, "no CDC messages"
    writes = decoded(data, "infiniband.reth", "infiniband.reth.dmalen", "frame.interface_name")
    assert ["4000", "eth0"] in writes, writes
    assert SECRET.encode() not in data, "what the programs said is in the file"
    begun_and_ended(data, 2)
    counts = counted(said, "eth0")
    assert counts["CLC"] == 6 and counts["LLC"] == len(comments) and counts["dropped"] == 0, said


@case(on="ours")
def inside_one_host_nothing_but_tcp_is_seen(vm):
    """CLC goes through memory there."""
    before = stats(vm.a)
    with serving(vm.a), capturing(vm.a) as capture:
        for host in "127.0.0.1", "::1":
            talk(vm.a, host)
        said, data = ended(vm.a, capture)
    now = stats(vm.a)
    assert now["smcd_client_v2"] == before["smcd_client_v2"] + 2, "not by SMC-D"
    assert now["clc_near"] > before["clc_near"], "CLC went by TCP"
    nothing_is_malformed(data)
    flags = decoded(data, "tcp", "tcp.flags.syn", "tcp.options.experimental.exid",
                    "frame.interface_name")
    assert flags[:2] == [["1", "0xe2d4", "lo"]] * 2, flags
    assert SECRET.encode() not in data
    begun_and_ended(data, 2)
    assert counted(said, "lo")["CLC"] == 0, said


@case(on="ours+ours")
def all_of_it_if_that_is_asked_for(vm):
    """And of one interface alone. What programs say by TCP only if it is their port."""
    with serving(vm.b), capturing(vm.a, f"--whole --interface eth0 --port {PORT}") as capture:
        talk(vm.a, vm.b.ip4)
        said, data = ended(vm.a, capture)
    assert SECRET.encode() in data, "not with --whole"
    assert "lo:" not in said, said
    acks = column(data, f"tcp.port == {PORT} and tcp.flags == 0x010 and tcp.len == 0", "tcp.flags")
    assert acks, "segments without a message are missing"


# --- frames that are made by hand ---------------------------------------------------------------


def ethernet(kind: int, payload: bytes, vlan: int | None = None) -> bytes:
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return bytes(6) + bytes([2, 0, 0, 0, 0, 1]) + tag + struct.pack("!H", kind) + payload


def ipv4(protocol: int, payload: bytes) -> bytes:
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0,
                       bytes([10, 1, 1, 1]), bytes([10, 1, 1, 2])) + payload


def ipv6(protocol: int, payload: bytes) -> bytes:
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + bytes(15) + b"\x01" \
        + bytes(15) + b"\x02" + payload


def udp(port: int, payload: bytes) -> bytes:
    return struct.pack("!HHHH", 49152, port, 8 + len(payload), 0) + payload


def tcp(payload: bytes, flags: int = 0x10, options: bytes = b"") -> bytes:
    return struct.pack("!HHIIBBHHH", 1000, 2000, 1, 1, (20 + len(options)) // 4 << 4, flags, 512, 0,
                       0) + options + payload


def roce(opcode: int, payload: bytes) -> bytes:
    return struct.pack("!BBHII", opcode, 0, 0xffff, 17, 1) + payload + b"icrc"


@contextmanager
def frames_device(guest: Guest):
    guest.run("modprobe dummy && ip link add frames type dummy && ip link set frames up", 180)
    try:
        yield
    finally:
        guest.run("ip link del frames && modprobe -r dummy")


def send(guest: Guest, frames: list[bytes]) -> None:
    guest.put("/tmp/frames.py", SEND_FRAMES.encode())
    guest.run(f"python3 /tmp/frames.py '{json.dumps([frame.hex() for frame in frames])}'")


CDC = roce(4, b"\xfe\x2c" + bytes(42))
SMCR, SMCD = bytes.fromhex("e2d4c3d9"), bytes.fromhex("e2d4c3c4")
ALL_IP = ((0x0800, ipv4), (0x86dd, ipv6))
TIMESTAMPS = bytes([1, 1, 8, 10]) + bytes(8)


@case(on="ours")
def frames_that_are_smcs(vm):
    """RoCE and handshakes of each kind, and nothing else."""
    taken, left = [], []
    for vlan in None, 7:
        taken.append(ethernet(0x8915, ipv6(27, CDC), vlan))
        for kind, ip in ALL_IP:
            taken += [ethernet(kind, ip(*what), vlan) for what in (
                (17, udp(4791, CDC)), (6, tcp(b"", 0x02)), (6, tcp(b"", 0x12)), (6, tcp(b"", 0x11)),
                (6, tcp(b"", 0x04)), (6, tcp(SMCR + bytes(600))), (6, tcp(SMCD)),
                (6, tcp(SMCD + b"x", 0x18, TIMESTAMPS)),
                (6, tcp(b"the rest" + SMCR, 0x18, TIMESTAMPS)))]
            left += [ethernet(kind, ip(*what), vlan) for what in (
                (17, udp(53, CDC)), (6, tcp(b"")), (6, tcp(b"GET / HTTP/1.1")), (6, tcp(b"x")),
                (6, tcp(b"x" + SMCR + b"x", 0x18, TIMESTAMPS)), (1, bytes(40)))]
    with frames_device(vm.a):
        with capturing(vm.a, "--interface frames --whole") as capture:
            for some in left[:12], taken[:10], left[12:], taken[10:]:
                send(vm.a, some)
            said, data = ended(vm.a, capture)
    counts = counted(said, "frames")
    assert counts["CDC"] == 6 and counts["CLC"] == 16 and counts["other TCP"] == 16, said
    assert counts["other RoCE"] == 0, said
    for frame in taken:
        assert frame in data, f"missing: {frame.hex()}"
    for frame in left:
        assert frame not in data, f"taken: {frame.hex()}"


@case(on="ours")
def messages_of_links(vm):
    """Of both versions. Of version 2 Wireshark knows those of big-endian machines. What another
    protocol sends by RoCE is not kept."""
    llc = [roce(4, header + bytes(40)) for header in (
        b"\x01\x2c\x00\x00", b"\x07\x2c\x00\x80", b"\x22\x00\x2c\x00", b"\x22\x2c\x00\x80")]
    foreign = [roce(4, SECRET.encode() * 2), roce(4, b"\x01\x2d" + SECRET.encode() + b"  ")]
    write = roce(10, bytes(16) + SECRET.encode())
    frames = [ethernet(0x0800, ipv4(17, udp(4791, packet))) for packet in (*llc, *foreign, write)]
    for options, kept in ("", "138"), ("--headers", "54"):
        with frames_device(vm.a):
            with capturing(vm.a, f"--interface frames {options}") as capture:
                send(vm.a, frames)
                said, data = ended(vm.a, capture)
        assert SECRET.encode()[:8] not in data
        counts = counted(said, "frames")
        assert counts["LLC"] == 4 and counts["other RoCE"] == 3, said
        rows = decoded(data, "frame", "smc.llc_msg", "frame.comment")[:4]
        assert rows == [["0x01", "LLC CONFIRM LINK"], ["0x07", "LLC TEST LINK, response"],
                        ["0x22", "LLCv2 ADD LINK"], ["", "LLCv2 ADD LINK, response"]], rows
        lengths = decoded(data, "frame", "frame.len", "frame.cap_len")
        assert lengths[:4] == [["102", "102"]] * 4 and lengths[4] == ["138", kept], lengths


# --- how it ends --------------------------------------------------------------------------------


@case(on="ours+ours")
def it_ends_by_itself(vm):
    with serving(vm.b):
        with capturing(vm.a, "--packets 3 --interface eth0") as capture:
            talk(vm.a, vm.b.ip4)
            capture.wait(20)
        assert len(column(vm.a.get(FILE), "frame", "frame.number")) == 3
        with capturing(vm.a, "--size 1 --whole --interface eth0") as capture:
            talk(vm.a, vm.b.ip4, 30000)
            capture.wait(20)
        assert 1 << 20 <= len(vm.a.get(FILE)) < (1 << 20) + 70000
    vm.a.run(f"timeout 20 {CTL} capture --seconds 0.5 --write {FILE}")
    assert not decoded(vm.a.get(FILE), "tcp.flags.syn", "frame.number")
    said = vm.a.run(f"{CTL} capture --seconds 0.5 --write - >{FILE}").err
    assert "into standard output" in said, said
    assert vm.a.get(FILE).startswith(b"\x0a\x0d\x0d\x0a")


@case(on="ours")
def what_it_refuses(vm):
    for options, status, says in (
            ("--interface nonesuch", 1, "no network device and no RDMA device nonesuch"),
            ("--write /nonesuch/file", 1, "/nonesuch/file"),
            ("--host nonesuch", 1, "is no IP address"),
            ("--port 0", 105, "--port"),
            ("--whole --headers", 108, "--headers")):
        done = vm.a.run(f"timeout 20 {CTL} capture --seconds 0.1 {options}", check=False)
        assert done.rc == status and says in done.err + done.out, done
    done = vm.a.run(f"script -qec '{CTL} capture --write - --seconds 0.1' /dev/null", check=False)
    assert done.rc == 1 and "terminal" in done.out, done


@case(on="ours")
def hardware_keeps_its_packets(vm):
    """Of an adapter without a sniffer: the handshake is there, and it is said what is not."""
    with adapters(vm.a):
        for side in SIDES:
            done = vm.a.run(f"cd /tmp && exec {inside(side)} $OLDPWD/{CTL} capture --seconds 0.2",
                            check=False)
            assert done.rc == INCOMPLETE, done
            assert f"the RDMA packets of {rdma_device(side)} are missing" in done.err, done
            assert f"capturing on lo, veth-{side} into smc.pcapng" in done.err, done
            named = vm.a.run(f"{CTL} capture --interface {rdma_device(side)}", check=False)
            assert named.rc == 1 and "a driver with a sniffer" in named.err, named
