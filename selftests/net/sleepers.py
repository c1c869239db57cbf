#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Threads that sleep in recv() and in send() on one SMC connection, and in accept() and connect(): what
wakes them, and what does not.

    sleepers.py ADDRESS [CLIENT_NAMESPACE SERVER_NAMESPACE]

A sleeping reader is not woken by room to write, nor a sleeping writer by data: their voluntary switches
are counted. Both wake up for everything else. Who sleeps in accept() or in connect() is not woken by what
only leads to a connection, the messages of its handshake among them. Prints a line for each that is so,
and ends with an exception at the first one that is not.
"""

import ctypes
import os
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hostile"))

from smc_target import smc_listener, smc_socket

PORT = 7480
CLONE_NEWNET = 0x40000000
TIMEOUT_S = 60
ROUNDS = 20
# More than all buffers hold, however they have grown.
MUCH = bytes(4 << 20)
LOW_WATER = 10
CONNECTIONS = 200
# So often may a call sleep that should sleep once: now and then somebody else has a lock.
ABOUT_ONCE = 1.3


class Sleeper:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], object]):
        self.result: object = None
        self.error: OSError | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.falls_asleep()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except OSError as error:
            self.error = error

    def _status(self) -> dict[str, str]:
        lines = Path(f"/proc/self/task/{self._thread.native_id}/status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def switches(self) -> int:
        return int(self._status()["voluntary_ctxt_switches"])

    def falls_asleep(self) -> None:
        before = -1
        deadline_s = time.monotonic() + TIMEOUT_S
        while (now := self.switches()) != before or not self._status()["State"].startswith("S"):
            assert time.monotonic() < deadline_s, "the call does not come to rest"
            before = now
            time.sleep(0.1)

    def sleeps(self) -> bool:
        time.sleep(0.2)
        return self._thread.is_alive()

    def wakes(self) -> "Sleeper":
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive(), "nobody wakes it"
        return self


def enter(namespace: str) -> None:
    """Sockets that are made from now on are in there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}", "rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns()")


class Place:
    def __init__(self, address: str, client: str = "", server: str = ""):
        self._address = address
        if server:
            enter(server)
        self._listener = smc_listener(PORT, 1)
        if client:
            enter(client)

    def accept(self) -> socket.socket:
        return self._listener.accept()[0]

    def connect(self, by_smc: bool = True) -> socket.socket:
        near = smc_socket() if by_smc else socket.socket()
        near.connect((self._address, PORT))
        return near

    @contextmanager
    def connection(self, low_water: int = 0, urgent_inline: bool = False):
        with smc_socket() as near:
            if low_water:
                near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)
            if urgent_inline:
                near.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
            near.connect((self._address, PORT))
            far, _ = self._listener.accept()
            with far:
                # Both have spoken, so messages may take any form.
                for one, other in ((near, far), (far, near)):
                    one.sendall(bytes(LOW_WATER))
                    assert other.recv(LOW_WATER, socket.MSG_WAITALL) == bytes(LOW_WATER)
                yield near, far


def read_away(far: socket.socket, wanted: int) -> None:
    while wanted:
        wanted -= len(far.recv(min(wanted, 1 << 20)))


def room_is_nothing_to_a_reader(place: Place) -> None:
    with place.connection() as (near, far):
        reader = Sleeper(lambda: near.recv(100))
        before = reader.switches()
        for _ in range(ROUNDS):
            writer = Sleeper(lambda: near.sendall(MUCH))
            read_away(far, len(MUCH))
            assert writer.wakes().error is None
        woken = reader.switches() - before
        assert woken == 0, f"the reader was woken {woken} times"
        far.sendall(b"x")
        assert reader.wakes().result == b"x"


def data_are_nothing_to_a_writer(place: Place) -> None:
    with place.connection() as (near, far):
        writer = Sleeper(lambda: near.sendall(MUCH))
        before = writer.switches()
        for _ in range(ROUNDS):
            reader = Sleeper(lambda: near.recv(100))
            far.sendall(b"x")
            assert reader.wakes().result == b"x"
        woken = writer.switches() - before
        assert woken == 0, f"the writer was woken {woken} times"
        read_away(far, len(MUCH))
        assert writer.wakes().error is None


def an_own_shutdown(place: Place) -> None:
    with place.connection() as (near, _):
        reader, writer = Sleeper(lambda: near.recv(100)), Sleeper(lambda: near.sendall(MUCH))
        near.shutdown(socket.SHUT_RD)
        assert reader.wakes().result == b""
        assert writer.sleeps()
        near.shutdown(socket.SHUT_WR)
        assert isinstance(writer.wakes().error, BrokenPipeError)


def the_peers_end(place: Place) -> None:
    with place.connection() as (near, far):
        reader, writer = Sleeper(lambda: near.recv(100)), Sleeper(lambda: near.sendall(MUCH))
        far.shutdown(socket.SHUT_WR)
        assert reader.wakes().result == b""
        read_away(far, len(MUCH))
        assert writer.wakes().error is None


def a_reset(place: Place) -> None:
    with place.connection() as (near, far):
        reader, writer = Sleeper(lambda: near.recv(100)), Sleeper(lambda: near.sendall(MUCH))
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
        assert isinstance(writer.wakes().error, (ConnectionResetError, BrokenPipeError))
        # The error is for one of them.
        assert isinstance(reader.wakes().error, ConnectionResetError) or reader.result == b""


def a_peer_that_has_closed(place: Place) -> None:
    with place.connection() as (near, far):
        reader = Sleeper(lambda: near.recv(100))
        far.close()
        assert reader.wakes().result == b""


def an_urgent_byte(place: Place) -> None:
    with place.connection(urgent_inline=True) as (near, far):
        reader = Sleeper(lambda: near.recv(100))
        far.send(b"!", socket.MSG_OOB)
        assert reader.wakes().result == b"!"
    # Out of line it is nothing to read, and the reader passes it.
    with place.connection() as (near, far):
        reader = Sleeper(lambda: near.recv(100))
        far.send(b"!", socket.MSG_OOB)
        assert reader.sleeps()
        far.send(b"x")
        assert reader.wakes().result == b"x"


def the_low_water_mark(place: Place) -> None:
    with place.connection(low_water=LOW_WATER) as (near, far):
        reader = Sleeper(lambda: near.recv(100))
        far.sendall(bytes(LOW_WATER - 1))
        assert reader.sleeps()
        far.sendall(b"x")
        assert reader.wakes().result == bytes(LOW_WATER - 1) + b"x"


def a_peek(place: Place) -> None:
    with place.connection() as (near, far):
        reader = Sleeper(lambda: near.recv(100, socket.MSG_PEEK))
        far.sendall(b"x")
        assert reader.wakes().result == b"x"
        assert near.recv(100) == b"x"


def asleep(call: Callable[[], socket.socket]) -> int:
    """How often a call that gives a connection sleeps; the connection is closed."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    connection = call()
    slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
    connection.close()
    return slept


def a_handshake_wakes_once(place: Place) -> None:
    # Who is woken runs at once, and does not find more done than what has woken it.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    # Another process: two threads of this one would wait for each other in the interpreter.
    reader, writer = os.pipe()
    if not (server := os.fork()):
        os.write(writer, str(sum(asleep(place.accept) for _ in range(CONNECTIONS))).encode())
        os._exit(0)
    os.close(writer)
    slept = {True: 0, False: 0}
    for number in range(CONNECTIONS):
        # The server is in accept() again.
        time.sleep(0.002)
        # Those by TCP wake the server all the same, and say what TCP's part of connect() sleeps.
        by_smc = number % 2 == 0
        slept[by_smc] += asleep(lambda by_smc=by_smc: place.connect(by_smc))
    accepting = int(os.read(reader, 100))
    os.waitpid(server, 0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    said = (f"{CONNECTIONS} connections: accept() has slept {accepting} times,"
            f" connect() by SMC {slept[True]} times, by TCP {slept[False]} times")
    print(said, flush=True)
    assert CONNECTIONS / 2 < accepting < ABOUT_ONCE * CONNECTIONS, said
    assert slept[True] - slept[False] < ABOUT_ONCE * CONNECTIONS / 2, said


def main() -> int:
    place = Place(*sys.argv[1:])
    for case in (room_is_nothing_to_a_reader, data_are_nothing_to_a_writer, an_own_shutdown, the_peers_end,
                 a_reset, a_peer_that_has_closed, an_urgent_byte, the_low_water_mark, a_peek,
                 a_handshake_wakes_once):
        case(place)
        print(case.__name__.replace("_", " "), flush=True)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
