# SPDX-License-Identifier: GPL-2.0-only
"""A BPF sockmap with a program that passes all it sees, by the system call alone."""

import ctypes
import os
import socket
import struct

_SYS_BPF = 321
_MAP_CREATE, _MAP_UPDATE_ELEM, _PROG_LOAD, _PROG_ATTACH = 0, 2, 5, 8
_SOCKMAP, _SK_SKB, _STREAM_VERDICT = 15, 14, 5
# r0 = SK_PASS; exit
_PASS = bytes.fromhex("b700000001000000" "9500000000000000")
_LIBC = ctypes.CDLL(None, use_errno=True)


def _address(data: ctypes.Array) -> int:
    return ctypes.addressof(data)


def _bpf(command: int, attributes: bytes) -> int:
    made = ctypes.create_string_buffer(attributes, max(len(attributes), 128))
    ret = _LIBC.syscall(_SYS_BPF, command, made, len(made))
    if ret < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return ret


class SockMap:
    """A sockmap with one entry."""

    def __init__(self) -> None:
        self._map = _bpf(_MAP_CREATE, struct.pack("IIIII", _SOCKMAP, 4, 4, 1, 0))
        code, licence = ctypes.create_string_buffer(_PASS), ctypes.create_string_buffer(b"GPL")
        self._program = _bpf(_PROG_LOAD, struct.pack(
            "IIQQIIQII16sII", _SK_SKB, 2, _address(code), _address(licence), 0, 0, 0, 0, 0, b"", 0,
            _STREAM_VERDICT))
        _bpf(_PROG_ATTACH, struct.pack("IIII", self._map, self._program, _STREAM_VERDICT, 0))

    def add(self, sock: socket.socket) -> int:
        """Adds the socket. 0 or the errno."""
        key = ctypes.create_string_buffer(struct.pack("I", 0))
        value = ctypes.create_string_buffer(struct.pack("I", sock.fileno()))
        try:
            _bpf(_MAP_UPDATE_ELEM, struct.pack("IIQQQ", self._map, 0, _address(key),
                                               _address(value), 0))
        except OSError as error:
            return error.errno
        return 0

    def close(self) -> None:
        os.close(self._map)
        os.close(self._program)
