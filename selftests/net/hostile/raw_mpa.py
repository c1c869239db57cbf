#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Who is not a peer, at the port where the connection manager of an iWARP device listens (MPA, RFC 5044).

    raw_mpa.py HOST PORT KIND

KIND is of the table below. Prints how it ended: "reject" (a reply that refuses), "accept", "closed", or
"silence" after a while.
"""

import socket
import struct
import sys

WAIT_S = 3
REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
ENHANCED, REJECT, CRC, MARKERS = 0x10, 0x20, 0x40, 0x80


def frame(key: bytes, private: bytes, length: int | None = None, revision: int = 1, flags: int = CRC) -> bytes:
    """length: what the frame says of its private data, if it is not true."""
    return key + struct.pack(">BBH", flags, revision, len(private) if length is None else length) + private


def hello(magic: bytes = b"SMCW", version: int = 1, nonce: bytes = bytes(6), server: int = 0x800002,
          client: int = 0x800002) -> bytes:
    """What a client of this module would show, but for the numbers: it has them from the Accept."""
    return struct.pack(">4sB3x6s2xII", magic, version, nonce, server, client)


KINDS = {
    "garbage": b"GET / HTTP/1.0\r\n\r\n" * 8,
    "reply": frame(REPLY, hello()),
    "nobody": frame(REQUEST, b""),
    "foreign": frame(REQUEST, b"\xff" * 64),
    "short": frame(REQUEST, hello()[:20]),
    "wrong_key": frame(REQUEST, hello()),
    "wrong_version": frame(REQUEST, hello(version=2)),
    "longest": frame(REQUEST, hello() + bytes(232)),
    "too_long": frame(REQUEST, hello(), length=65535),
    "cut": frame(REQUEST, hello(), length=64),
    "revision": frame(REQUEST, hello(), revision=9),
    "silence": b"",
}


def main() -> None:
    host, port, kind = sys.argv[1:]
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
        peer.sendall(KINDS[kind])
        said = b""
        try:
            while len(said) < 20:
                more = peer.recv(1024)
                if not more:
                    print("closed")
                    return
                said += more
        except ConnectionResetError:
            print("closed")
        except TimeoutError:
            print("silence")
        else:
            print("reject" if said.startswith(REPLY) and said[16] & REJECT else "accept")


if __name__ == "__main__":
    main()
