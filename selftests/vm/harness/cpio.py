# SPDX-License-Identifier: GPL-2.0-only
"""A writer for the "newc" cpio format that the kernel unpacks as an initramfs."""

import stat


class Archive:
    """Collects members in order; bytes() gives the finished archive. All owned by root."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._inode = 0

    def directory(self, name: str) -> None:
        self._member(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        self._member(name, stat.S_IFREG | mode, content)

    def char_device(self, name: str, major: int, minor: int) -> None:
        self._member(name, stat.S_IFCHR | 0o600, b"", major, minor)

    def bytes(self) -> bytes:
        done = Archive()
        done._out = bytearray(self._out)
        done._member("TRAILER!!!", 0, b"")
        return bytes(done._out)

    def _member(self, name: str, mode: int, content: bytes, major: int = 0, minor: int = 0) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        nlink = 2 if stat.S_ISDIR(mode) else 1
        fields = (self._inode, mode, 0, 0, nlink, 0, len(content), 0, 0, major, minor,
                  len(encoded), 0)
        self._out += b"070701" + b"".join(b"%08x" % field for field in fields)
        self._out += encoded
        self._pad()
        self._out += content
        self._pad()

    def _pad(self) -> None:
        self._out += b"\0" * (-len(self._out) % 4)
