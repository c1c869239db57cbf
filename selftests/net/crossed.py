#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Connections without a server: a socket that connects to itself, and two that connect to each
other at the same time. TCP can do both. Each way on TCP sockets first, then on the other kinds:
what the program sees must be the same, byte by byte, and what is counted must say TCP.

    crossed.py        # changes the loopback device's queue: in a guest, or in a network namespace

self         a socket connects to its own address and port
symmetric    the SYNs meet on the wire, and each end answers the other one's with a SYN-ACK
one-sided    one SYN is lost: its sender knows that both connect, the other takes it for a server
"""

import ctypes
import errno
import itertools
import select
import socket
import struct
import subprocess
import sys
import time

AF_SMC, IPPROTO_SMC = 43, 256
TCP_ULP = 31
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
DELAY_MS = 100
DEADLINE_S = 20.0
OPT_UNSUPP = "client_fallback_0x03060000"
PEER_NO_SMC = "client_fallback_0x03010000"
PEER_DECLINED = "client_fallback_0x05000000"
ADDRESSES = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
EVENTS = select.POLLIN | select.POLLOUT | select.POLLPRI | select.POLLRDHUP
# Drops what has no ACK flag, in byte 13 of the segment: ldb [13]; jset #0x10; ret #-1; ret #0.
NO_SYNS = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x10), (0x06, 0, 0, 0xffffffff), (0x06, 0, 0, 0))
BULK = bytes(range(251)) * 800


def make(kind: str, family: int) -> socket.socket:
    if kind == "smc":
        version = 1 if family == socket.AF_INET6 else 0
        descriptor = socket.socket(AF_SMC, socket.SOCK_STREAM, version).detach()
        return socket.socket(family, socket.SOCK_STREAM, 0, fileno=descriptor)
    if kind == "inet":
        return socket.socket(family, socket.SOCK_STREAM, IPPROTO_SMC)
    made = socket.socket(family, socket.SOCK_STREAM, 0)
    if kind == "ulp":
        made.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"smc\0")
    return made


def drop_syns(end: socket.socket) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in NO_SYNS))
    end.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                   struct.pack("HxxxxxxP", len(NO_SYNS), ctypes.addressof(code)))


def await_events(end: socket.socket, wanted: int) -> int:
    poll = select.poll()
    poll.register(end, wanted)
    return (poll.poll(DEADLINE_S * 1000) or [(0, 0)])[0][1]


def now_pending(end: socket.socket) -> int:
    poll = select.poll()
    poll.register(end, EVENTS)
    return (poll.poll(0) or [(0, 0)])[0][1]


def move(source: socket.socket, sink: socket.socket, data: bytes) -> str:
    """Sends and receives in one thread, since both ends are here."""
    got, sent, end_s = bytearray(), 0, time.monotonic() + DEADLINE_S

    while len(got) < len(data) and time.monotonic() < end_s:
        try:
            sent += source.send(data[sent:]) if sent < len(data) else 0
        except BlockingIOError:
            pass
        await_events(sink, select.POLLIN)
        try:
            if not (piece := sink.recv(65536)):
                return f"end after {len(got)} bytes"
        except BlockingIOError:
            continue
        got += piece
    return "right" if got == data else f"{len(got)} bytes, beginning with {bytes(got[:32])!r}"


def seen_of(ends: list[socket.socket], begun: list[int]) -> list:
    """Everything that the program sees of connections whose connect() has begun."""
    a, b = ends[0], ends[-1]
    seen: list = [errno.errorcode.get(code, code) for code in begun]

    for end in ends:
        seen.append(await_events(end, select.POLLOUT))
        seen.append(end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    # Nobody has sent anything: bytes that arrive now would be the handshake's.
    time.sleep(3 * DELAY_MS / 1000)
    for end, other in zip(ends, reversed(ends)):
        seen.append(now_pending(end))
        seen.append(end.getpeername()[:2] == other.getsockname()[:2])
        seen.append(errno.errorcode.get(end.connect_ex(other.getsockname()), 0))
    for data in (b"to the other", BULK):
        seen.append(move(a, b, data))
        seen.append(move(b, a, data[::-1]))
    for end in ends:
        end.shutdown(socket.SHUT_WR)
    for end in ends:
        seen.append(await_events(end, select.POLLIN))
        seen.append(end.recv(100))
    return seen


def connect_self(kinds: tuple[str, str], family: int, blocking: bool) -> list:
    with make(kinds[0], family) as end:
        end.bind((ADDRESSES[family], 0))
        end.setblocking(blocking)
        begun = [end.connect_ex(end.getsockname())]
        end.setblocking(False)
        return seen_of([end], begun)


def connect_both(kinds: tuple[str, str], family: int, one_sided: bool) -> list:
    with make(kinds[0], family) as a, make(kinds[1], family) as b:
        for end in (a, b):
            end.bind((ADDRESSES[family], 0))
            end.setblocking(False)
        if one_sided:
            drop_syns(b)
        # Both SYNs leave before one arrives.
        begun = [b.connect_ex(a.getsockname()), a.connect_ex(b.getsockname())]
        if one_sided:
            await_events(b, select.POLLOUT)
            b.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
        return seen_of([a, b], begun)


WAYS = {
    "self": lambda kinds, family: connect_self(kinds, family, blocking=False),
    "self blocking": lambda kinds, family: connect_self(kinds, family, blocking=True),
    "symmetric": lambda kinds, family: connect_both(kinds, family, one_sided=False),
    "one-sided": lambda kinds, family: connect_both(kinds, family, one_sided=True),
}
SELF_KINDS = [("smc", ""), ("inet", ""), ("ulp", "")]
PAIRS = [("smc", "smc"), ("inet", "ulp"), ("ulp", "inet"), ("smc", "tcp"), ("tcp", "smc")]


def look(way: str, kinds: tuple[str, str], family: int) -> list:
    try:
        return WAYS[way](kinds, family)
    except OSError as error:
        return [f"{error}"]


def counters() -> dict[str, int]:
    with open("/proc/net/smc_stat") as lines:
        return {name: int(value) for name, value in (line.split() for line in lines)}


def counted(before: dict[str, int]) -> dict[str, int]:
    """The counters of connections since then."""
    changed = {name: value - before.get(name, 0) for name, value in counters().items()}
    return {name: value for name, value in changed.items() if value and
            ("fallback_0x" in name or name.endswith(("_v1", "_v2", "handshake_error")))}


def judge(way: str, kinds: tuple[str, str], family: int, wanted: list) -> str:
    before = counters()
    seen = look(way, kinds, family)
    told = counted(before)
    ours = sum(kind not in ("tcp", "") for kind in kinds)
    # A TCP socket shows no option, so there is no handshake.
    fell = {PEER_NO_SMC if "tcp" in kinds else OPT_UNSUPP: ours}

    if len(wanted) == 1:
        return f"not even TCP can do it: {wanted}"
    if seen != wanted:
        return f"TCP shows {wanted}, this {seen}; counted {told}"
    # One of the two may have received the other's Decline.
    if ours == 2 and PEER_DECLINED in told:
        told[OPT_UNSUPP] = told.get(OPT_UNSUPP, 0) + told.pop(PEER_DECLINED)
    return "" if told == fell else f"counted {told}, not {fell}"


def main() -> int:
    subprocess.run(["tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay",
                    f"{DELAY_MS}ms"], check=True)
    failed = 0
    try:
        tests = [(way, kinds, family) for way, family in itertools.product(WAYS, ADDRESSES)
                 for kinds in (SELF_KINDS if way.startswith("self") else PAIRS)]
        print(f"TAP version 13\n1..{len(tests)}", flush=True)
        on_tcp: dict = {}
        for number, (way, kinds, family) in enumerate(tests, 1):
            if (way, family) not in on_tcp:
                on_tcp[way, family] = look(way, ("tcp", "tcp"), family)
            why = judge(way, kinds, family, on_tcp[way, family])
            failed += bool(why)
            version = 6 if family == socket.AF_INET6 else 4
            print(f"{'not ok' if why else 'ok'} {number} - {way}, IPv{version},"
                  f" {' and '.join(filter(None, kinds))}", flush=True)
            if why:
                print(f"# {why}", flush=True)
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=False)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
