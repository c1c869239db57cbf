#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Marks the new sockets of a cgroup, by a BPF program of type cgroup/sock_create.

    mark_sockets.py CGROUP MARK    until its input ends
"""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "hostile"))

from bpf import Program

_CGROUP_SOCK, _INET_SOCK_CREATE = 9, 2
_SOCK_MARK = 16  # in struct bpf_sock


def marking(mark: int) -> bytes:
    """r2 = mark; ctx->mark = r2; r0 = 1, which allows the socket; exit"""
    def instruction(code: int, registers: int, offset: int, value: int) -> bytes:
        return struct.pack("<BBhI", code, registers, offset, value)

    return (instruction(0xb7, 2, 0, mark) + instruction(0x63, 0x21, _SOCK_MARK, 0) +
            instruction(0xb7, 0, 0, 1) + instruction(0x95, 0, 0, 0))


def main() -> None:
    cgroup = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    program = Program(_CGROUP_SOCK, _INET_SOCK_CREATE, marking(int(sys.argv[2], 0)))
    program.attach(cgroup)
    print("ready", flush=True)
    sys.stdin.read()
    program.detach(cgroup)
    program.close()


if __name__ == "__main__":
    main()
