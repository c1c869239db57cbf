# SPDX-License-Identifier: GPL-2.0-only
"""A BPF sockmap with a program that passes all it sees."""

import os
import socket
import struct

from bpf import Program, new_map, update

_SOCKMAP, _SK_SKB, _STREAM_VERDICT = 15, 14, 5
# r0 = SK_PASS; exit
_PASS = bytes.fromhex("b700000001000000" "9500000000000000")


class SockMap:
    """A sockmap with one entry."""

    def __init__(self) -> None:
        self._map = new_map(_SOCKMAP, 4, 4, 1)
        self._program = Program(_SK_SKB, _STREAM_VERDICT, _PASS)
        self._program.attach(self._map)

    def add(self, sock: socket.socket) -> int:
        """Adds the socket. 0 or the errno."""
        try:
            update(self._map, struct.pack("I", 0), struct.pack("I", sock.fileno()))
        except OSError as error:
            return error.errno
        return 0

    def close(self) -> None:
        os.close(self._map)
        self._program.close()
