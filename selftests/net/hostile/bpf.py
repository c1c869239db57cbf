# SPDX-License-Identifier: GPL-2.0-only
"""The bpf() system call, and programs as bytes: for guests, which have no tools for that."""

import ctypes
import os
import struct

_SYS_BPF = 321
_MAP_CREATE, _MAP_UPDATE_ELEM, _PROG_LOAD, _PROG_ATTACH, _PROG_DETACH = 0, 2, 5, 8, 9
_LIBC = ctypes.CDLL(None, use_errno=True)


def _address(data: ctypes.Array) -> int:
    return ctypes.addressof(data)


def _bpf(command: int, attributes: bytes) -> int:
    made = ctypes.create_string_buffer(attributes, max(len(attributes), 128))
    ret = _LIBC.syscall(_SYS_BPF, command, made, len(made))
    if ret < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return ret


def new_map(kind: int, key_bytes: int, value_bytes: int, entries: int) -> int:
    """A descriptor of the map."""
    return _bpf(_MAP_CREATE, struct.pack("IIIII", kind, key_bytes, value_bytes, entries, 0))


def update(fd: int, key: bytes, value: bytes) -> None:
    keys, values = ctypes.create_string_buffer(key), ctypes.create_string_buffer(value)
    _bpf(_MAP_UPDATE_ELEM, struct.pack("IIQQQ", fd, 0, _address(keys), _address(values), 0))


class Program:
    """A loaded program; kind and attachment are numbers of enum bpf_prog_type and
    bpf_attach_type. target: the descriptor that it is attached to."""

    def __init__(self, kind: int, attachment: int, code: bytes) -> None:
        self._attachment = attachment
        codes, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
        self._fd = _bpf(_PROG_LOAD, struct.pack(
            "IIQQIIQII16sII", kind, len(code) // 8, _address(codes), _address(licence), 0, 0, 0, 0,
            0, b"", 0, attachment))

    def attach(self, target: int) -> None:
        _bpf(_PROG_ATTACH, struct.pack("IIII", target, self._fd, self._attachment, 0))

    def detach(self, target: int) -> None:
        _bpf(_PROG_DETACH, struct.pack("IIII", target, self._fd, self._attachment, 0))

    def close(self) -> None:
        os.close(self._fd)
