#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Many SMC connections at a time, which say little.

    many.py serve PORT             echoes on each connection, until it is killed
    many.py connect HOST PORT N    opens N; then, for each line on stdin, opens as many more as the
                                   line says, or sends a byte on every one if it is empty
    many.py --tcp …                the same by TCP

Prints "listening", or "connected" with how many there are, and after each round
"answered: <seconds> s", or "lost: <errno name>". At the end of stdin all are closed.
"""

import errno
import resource
import selectors
import socket
import sys
import time
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parent / "hostile"))

from smc_target import smc_socket

FILES = 32768
ROUND_S = 120


def serve(port: int, new_socket: Callable[[], socket.socket]) -> None:
    listener = new_socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(1024)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    print("listening", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                selector.register(connection, selectors.EVENT_READ)
                continue
            try:
                said = key.fileobj.recv(4096)
            except ConnectionResetError:
                said = b""
            if said:
                key.fileobj.sendall(said)
            else:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def go_round(connections: list[socket.socket]) -> None:
    start_s = time.monotonic()
    selector = selectors.DefaultSelector()
    for connection in connections:
        connection.sendall(b"?")
        selector.register(connection, selectors.EVENT_READ)
    left = len(connections)
    while left:
        ready = selector.select(ROUND_S)
        if not ready:
            raise TimeoutError(errno.ETIMEDOUT, "no answer")
        for key, _ in ready:
            if key.fileobj.recv(1) != b"?":
                raise ConnectionResetError(errno.ECONNRESET, "an end")
            selector.unregister(key.fileobj)
            left -= 1
    print(f"answered: {time.monotonic() - start_s:.3f} s", flush=True)


def connect(host: str, port: int, count: int, new_socket: Callable[[], socket.socket]) -> int:
    connections: list[socket.socket] = []

    def open_more(more: int) -> None:
        for _ in range(more):
            connection = new_socket()
            connection.connect((host, port))
            connections.append(connection)
        print(f"connected {len(connections)}", flush=True)

    open_more(count)
    try:
        for line in sys.stdin:
            if line.strip():
                open_more(int(line))
            else:
                go_round(connections)
    except OSError as error:
        print(f"lost: {errno.errorcode.get(error.errno, str(error))}", flush=True)
        return 1
    return 0


def main() -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    wanted = sys.argv[1:]
    new_socket = smc_socket
    if wanted[0] == "--tcp":
        wanted = wanted[1:]
        new_socket = socket.socket
    if wanted[0] == "serve":
        serve(int(wanted[1]), new_socket)
    return connect(wanted[1], int(wanted[2]), int(wanted[3]), new_socket)


sys.exit(main())
