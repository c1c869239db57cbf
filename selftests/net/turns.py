#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two programs that say a byte in turn on an SMC connection, waiting in recv().

    turns.py serve PORT
    turns.py connect HOST PORT COUNT

--busy US: with SO_BUSY_POLL for so long. The client prints "turn: <seconds> s", the median of COUNT
round trips.
"""

import argparse
import socket
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hostile"))

from smc_target import smc_socket

SO_BUSY_POLL = 46


def serve(args: argparse.Namespace, listener: socket.socket) -> None:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", args.port))
    listener.listen()
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        while said := connection.recv(1):
            connection.sendall(said)
        connection.close()


def connect(args: argparse.Namespace, connection: socket.socket) -> None:
    took_s = []
    connection.connect((args.host, args.port))
    for _ in range(args.count):
        start_s = time.monotonic()
        connection.sendall(b"?")
        assert connection.recv(1) == b"?"
        took_s.append(time.monotonic() - start_s)
    print(f"turn: {statistics.median(took_s):.6f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--busy", type=int, default=0, metavar="US")
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("serve")
    part.add_argument("port", type=int)
    part.set_defaults(run=serve)
    part = parts.add_parser("connect")
    part.add_argument("host")
    part.add_argument("port", type=int)
    part.add_argument("count", type=int)
    part.set_defaults(run=connect)
    args = parser.parse_args()
    new = smc_socket()
    if args.busy:
        new.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, args.busy)
    args.run(args, new)
    return 0


sys.exit(main())
