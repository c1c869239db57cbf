# SPDX-License-Identifier: GPL-2.0-only
"""Just enough netlink: one request at a time, attributes in and out, generic families by name."""

import errno
import itertools
import os
import socket
import struct
from collections.abc import Iterator

NETLINK_SOCK_DIAG = 4
NETLINK_GENERIC = 16

_HEADER = struct.Struct("=IHHII")
_GENL_HEADER = struct.Struct("=BBH")
_ATTRIBUTE = struct.Struct("=HH")
_F_REQUEST, _F_ACK, _F_DUMP = 0x1, 0x4, 0x300
_MSG_ERROR, _MSG_DONE = 2, 3
_ATTRIBUTE_NESTED, _ATTRIBUTE_TYPE_MASK = 0x8000, 0x3FFF
_CTRL_ID, _CTRL_GETFAMILY, _CTRL_ATTR_ID, _CTRL_ATTR_NAME = 16, 3, 1, 2


def attribute(number: int, value: bytes) -> bytes:
    raw = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), number) + value
    return raw + b"\0" * (-len(raw) % 4)


def text(number: int, value: str) -> bytes:
    return attribute(number, value.encode() + b"\0")


def attributes(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, payload) of each attribute; raises ValueError if a length is wrong."""
    while len(raw) >= _ATTRIBUTE.size:
        size, number = _ATTRIBUTE.unpack_from(raw)
        if not _ATTRIBUTE.size <= size <= len(raw):
            raise ValueError(f"attribute {number} has length {size} of {len(raw)}")
        yield number & _ATTRIBUTE_TYPE_MASK, raw[_ATTRIBUTE.size:size]
        raw = raw[size + (-size % 4):]


def number(payload: bytes) -> int:
    """An unsigned integer of any of netlink's widths."""
    return int.from_bytes(payload, "little" if struct.pack("=H", 1)[0] else "big")


def string(payload: bytes) -> str:
    return payload.split(b"\0", 1)[0].decode("ascii", "replace")


class Netlink:
    """A socket of one protocol. Not for use by several threads."""

    def __init__(self, protocol: int) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._socket.settimeout(10)
        self._sequence = itertools.count(1)

    def __enter__(self) -> "Netlink":
        return self

    def __exit__(self, *_) -> None:
        self._socket.close()

    def request(self, kind: int, body: bytes, dump: bool = False) -> list[bytes]:
        """The bodies of all answers. Raises OSError with the kernel's errno."""
        sequence = next(self._sequence)
        flags = _F_REQUEST | (_F_DUMP if dump else _F_ACK)
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body)
        answers = []
        while True:
            data = self._socket.recv(1 << 20)
            while len(data) >= _HEADER.size:
                size, got, _, answered, _ = _HEADER.unpack_from(data)
                payload, data = data[_HEADER.size:size], data[size + (-size % 4):]
                if answered != sequence:
                    continue
                if got in (_MSG_ERROR, _MSG_DONE):
                    code = -struct.unpack_from("=i", payload)[0] if len(payload) >= 4 else 0
                    if code:
                        raise OSError(code, os.strerror(code))
                    # A request that is no dump may be answered by a multipart message, which
                    # ends in DONE and is followed by the acknowledgement.
                    if got == _MSG_ERROR or dump:
                        return answers
                    continue
                answers.append(payload)


class Generic:
    """One generic netlink family, found by name. Raises FileNotFoundError if there is none."""

    def __init__(self, family: str) -> None:
        self._netlink = Netlink(NETLINK_GENERIC)
        try:
            answers = self._netlink.request(
                _CTRL_ID, _GENL_HEADER.pack(_CTRL_GETFAMILY, 1, 0) + text(_CTRL_ATTR_NAME, family))
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise FileNotFoundError(f"no netlink family {family}: is smc loaded?") from None
            raise
        found = dict(attributes(answers[0][_GENL_HEADER.size:]))
        self.number = number(found[_CTRL_ATTR_ID])

    def __enter__(self) -> "Generic":
        return self

    def __exit__(self, *exception) -> None:
        self._netlink.__exit__(*exception)

    def request(self, command: int, body: bytes = b"",
                dump: bool = False) -> list[list[tuple[int, bytes]]]:
        """The attributes of each answer."""
        answers = self._netlink.request(self.number, _GENL_HEADER.pack(command, 1, 0) + body, dump)
        return [list(attributes(answer[_GENL_HEADER.size:])) for answer in answers]
