#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sends a made-up stream both ways over one connection and checks each byte at the other end.

    xfer.py [-6] [--tcp] server [PORT]
    xfer.py [-6] [--tcp] client HOST PORT BYTES

The server serves one client: it reads until end of file, answers with the SHA-256 of what it read
and then with a stream of the same length, and closes. The streams are keystreams of their length, so
neither side needs the other's data. Exit status 0: both were right.
"""

import argparse
import hashlib
import socket
import sys

AF_SMC = 43
CHUNK = 65536


def stream(size: int, seed: int):
    """size bytes that repeat only after a prime length, in pieces of up to CHUNK bytes."""
    block = hashlib.shake_256(bytes([seed])).digest(65521)
    whole = block * (CHUNK // len(block) + 2)
    sent = 0
    while sent < size:
        count = min(CHUNK, size - sent)
        start = sent % len(block)
        yield whole[start:start + count]
        sent += count


def digest(size: int, seed: int) -> bytes:
    total = hashlib.sha256()
    for piece in stream(size, seed):
        total.update(piece)
    return total.digest()


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError(f"end of file after {len(data)} of {size} bytes")
        data += piece
    return data


def read_all(connection: socket.socket) -> tuple[int, bytes]:
    total, size = hashlib.sha256(), 0
    while piece := connection.recv(CHUNK):
        total.update(piece)
        size += len(piece)
    return size, total.digest()


def raw_address(address: str, port: int, six: bool) -> tuple:
    family = socket.AF_INET6 if six else socket.AF_INET
    return socket.getaddrinfo(address, port, family, socket.SOCK_STREAM)[0][4]


class SmcSocket:
    """Python knows no addresses of AF_SMC: bind, connect and accept go through libc."""

    def __init__(self, six: bool, tcp: bool) -> None:
        family = socket.AF_INET6 if six else socket.AF_INET
        if tcp:
            self.socket = socket.socket(family, socket.SOCK_STREAM)
        else:
            made = socket.socket(AF_SMC, socket.SOCK_STREAM, 1 if six else 0)
            # The file descriptor's family only tells Python how to spell addresses.
            self.socket = socket.socket(family, socket.SOCK_STREAM, 0, fileno=made.detach())


def server(args) -> int:
    listener = SmcSocket(args.six, args.tcp).socket
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("::" if args.six else "0.0.0.0", args.port))
    listener.listen()
    print("listening", listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    listener.close()
    with connection:
        size, got = read_all(connection)
        if got != digest(size, 1):
            print(f"the {size} bytes received are not the ones sent", file=sys.stderr)
            return 1
        connection.sendall(got)
        for piece in stream(size, 2):
            connection.sendall(piece)
    print("served", size, flush=True)
    return 0


def client(args) -> int:
    connection = SmcSocket(args.six, args.tcp).socket
    with connection:
        connection.connect(raw_address(args.host, args.port, args.six))
        for piece in stream(args.bytes, 1):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        if read_exactly(connection, 32) != digest(args.bytes, 1):
            print("the server got other bytes than were sent", file=sys.stderr)
            return 1
        size, got = read_all(connection)
        if size != args.bytes or got != digest(size, 2):
            print(f"{size} of {args.bytes} bytes came back, or wrong ones", file=sys.stderr)
            return 1
    print("exchanged", size, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-6", dest="six", action="store_true")
    parser.add_argument("--tcp", action="store_true", help="plain TCP sockets")
    roles = parser.add_subparsers(dest="role", required=True)
    serve = roles.add_parser("server")
    serve.add_argument("port", type=int, nargs="?", default=0)
    call = roles.add_parser("client")
    call.add_argument("host")
    call.add_argument("port", type=int)
    call.add_argument("bytes", type=int)
    args = parser.parse_args()
    return {"server": server, "client": client}[args.role](args)


if __name__ == "__main__":
    sys.exit(main())
