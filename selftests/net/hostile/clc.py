# SPDX-License-Identifier: GPL-2.0-only
"""CLC messages as bytes (SMCv2, protocol version 2), good ones to spoil."""

import struct

EYECATCHER = bytes.fromhex("e2d4c3d9")
PROPOSAL, ACCEPT, CONFIRM, DECLINE = 1, 2, 3, 4
HEADER_BYTES = 8
TYPE_AT, LENGTH_AT, VERSION_AT = 4, 5, 7
DIAGNOSIS_AT = 16


def eid_bytes(eid: str) -> bytes:
    return eid.encode().ljust(32)


def header(kind: int, length: int, version: int) -> bytes:
    return EYECATCHER + struct.pack("!BHB", kind, length, version)


def vendor_offer(capabilities: int) -> bytes:
    """What hosts with this module offer each other, as the vendor's part of a Proposal."""
    if not capabilities:
        return bytes(8)
    return bytes.fromhex("02534d01") + struct.pack("!HH", capabilities, 0)


def proposal(eid: str, gid: bytes, vendor: bytes = bytes(8), smcd: bool = False,
             max_links: int = 1) -> bytes:
    """SMC-Rv2 only, release 1, one user EID: 156 bytes. smcd: SMC-Dv2 only, without any device."""
    v1_area = bytes(10) + struct.pack("!H", 28) + vendor + bytes(20)
    extension = struct.pack("!BBBBHH", 1, 0, 0, 0x10, 0, 64)
    extension += gid + struct.pack("!BBH", 255, max_links, 0) + bytes(12)
    extension += eid_bytes(eid) + bytes(48 if smcd else 0)
    body = bytes(32) + v1_area + extension + EYECATCHER
    return header(PROPOSAL, HEADER_BYTES + len(body), 0x26 if smcd else 0x22) + body


def accept(eid: str, gid: bytes, first_contact: bool, token: int = 0x123456) -> bytes:
    """An SMC-Rv2 Accept whose queue pair and keys do not exist."""
    body = bytes.fromhex("beefbeefbeefbeef") + gid + bytes.fromhex("525400000066")
    body += (0x00F00D).to_bytes(3, "big") + struct.pack("!IBIBBQB", 0x777, 1, token, 0x23, 0,
                                                         0x1000, 0)
    body += (0x123).to_bytes(3, "big") + eid_bytes(eid) + bytes(8)
    if first_contact:
        body += struct.pack("!BBH", 0x80, 0x21, 0) + b"hostile".ljust(32)
        body += struct.pack("!BBH", 255, 1, 0) + bytes(12)
    body += EYECATCHER
    return header(ACCEPT, HEADER_BYTES + len(body), 0x28 if first_contact else 0x20) + body


def decline(version: int, diagnosis: int = 0x03030000) -> bytes:
    body = bytes(8) + struct.pack("!I", diagnosis) + bytes(4 if version == 1 else 20) + EYECATCHER
    return header(DECLINE, HEADER_BYTES + len(body), version << 4) + body


def patched(message: bytes, at: int, data: bytes) -> bytes:
    return message[:at] + data + message[at + len(data):]


def message_length(data: bytes) -> int:
    """Length of the CLC message at the start of data; 0 if there is none or only a part."""
    if len(data) < HEADER_BYTES or data[:4] != EYECATCHER:
        return 0
    length = struct.unpack("!H", data[LENGTH_AT:LENGTH_AT + 2])[0]
    return length if HEADER_BYTES < length <= len(data) else 0
