# SPDX-License-Identifier: GPL-2.0-only
"""An SMC-R peer (version 2.1, one link) on raw TCP and raw RoCE, in both roles.

It does everything right by itself: handshake, CONFIRM_LINK, answers to requests, cursors. A test
then sends what is wrong.
"""

import os
import struct
import time
from dataclasses import dataclass

import clc
from raw_roce import Fabric
from raw_tcp import Connection
from suite import Failed

CONFIRM_LINK, ADD_LINK, ADD_LINK_CONT, DELETE_LINK, REQ_ADD_LINK = 0x21, 0x22, 0x23, 0x24, 0x25
CONFIRM_RKEY, TEST_LINK, CONFIRM_RKEY_CONT, DELETE_RKEY = 0x26, 0x27, 0x28, 0x29
CDC = 0xFE
MESSAGE_BYTES = 44
RESPONSE, NO_EYECATCHERS, ALL, ORDERLY, NEGATIVE = 0x80, 0x03, 0x40, 0x20, 0x20
WRITE_BLOCKED, URGENT_PENDING, URGENT_PRESENT, UPDATE_REQUEST, VALIDATION = (
    0x80, 0x40, 0x20, 0x10, 0x08)
SENDING_DONE, CLOSED, ABORTED = 0x80, 0x40, 0x20
# What this module has beyond the protocol: capabilities, and the answer to them. Of compact
# messages, bits of the immediate data.
COMPACT, IWARP, ANSWERED = 0x0001, 0x0004, 0x80000000
WRAPPED, COMPACT_BLOCKED, CONSUMED_MAX = 1 << 23, 1 << 22, (1 << 22) - 1

RMB_BYTES = 65536
RMB_CODE = 2
RMB_ADDRESS = 0x7F0000000000
MTU_1024 = 3
FIRST_CONTACT = 0x08
PATIENCE_S = 10


class Broken(Failed):
    """The peer under test broke the protocol."""


def llc(kind: int, flags: int = 0, body: bytes = b"", length: int = MESSAGE_BYTES) -> bytes:
    return (struct.pack("<BHB", kind, length, flags) + body).ljust(length, b"\0")


@dataclass
class Cursor:
    """Bytes since the start of the connection, as a wire cursor."""

    total: int = 0

    def wire(self, size: int) -> bytes:
        return struct.pack("!HHI", 0, self.total // size & 0xFFFF, self.total % size)


class Peer:
    """One connection in a link group of its own. tcp: connected, with no CLC message exchanged yet.

    sent, taken: what we wrote, and what we read of what the other side wrote. llc_received: all
    LLC messages. state: all state flags that came in CDC messages. compact: speaks by compact
    messages where it can, and has heard so many. mac, gid, own_psn: of our end, as CLC says them.
    """

    _next_number = 0x4000
    _iwarp = False
    _max_links = 1

    def __init__(self, fabric: Fabric, tcp: Connection, eid: str, gid: bytes) -> None:
        self._fabric, self.tcp, self._eid = fabric, tcp, eid
        Peer._next_number += 1
        self.number = Peer._next_number
        self.rkey = self.number << 8 | 0x11
        self.token = int.from_bytes(os.urandom(4), "big") | 1
        self.memory = bytearray(RMB_BYTES)
        self.qp = fabric.queue_pair(self.number, self._message)
        self.qp.regions[self.rkey] = RMB_ADDRESS, self.memory
        self.qp.on_immediate = self._immediate
        self.mac = bytes.fromhex("525400000066")
        self.gid = gid
        self.own_psn = int.from_bytes(os.urandom(3), "big")
        self.sent, self.taken = Cursor(), Cursor()
        self.announced = 0  # bytes that the other side says it has written to us
        self.consumed = 0  # bytes that it says it has read
        self.sequence = 0
        self.state = 0
        self.compact = False
        self.compact_heard = 0
        self.told = 0  # of taken, by our messages
        self.llc_received: list[bytes] = []
        self.answers = True  # requests of the other side
        self.confirms = True  # answer CONFIRM_LINK

    # --- handshake --------------------------------------------------------------------------------

    @property
    def _capabilities(self) -> int:
        return (COMPACT if self.compact else 0) | (IWARP if self._iwarp else 0)

    @property
    def _answer(self) -> int:
        return ANSWERED | self._capabilities if self._capabilities else 0

    def _body(self, max_conns: int, max_links: int, first: bool) -> bytes:
        body = b"evilpeer" + self.gid + self.mac + self.number.to_bytes(3, "big")
        body += struct.pack("!IBIBBQB", self.rkey, 1, self.token, RMB_CODE << 4 | MTU_1024, 0,
                            RMB_ADDRESS, 0) + self.own_psn.to_bytes(3, "big")
        body += clc.eid_bytes(self._eid) + bytes(8)
        if first:
            body += struct.pack("!BBH", 0x80, 0x21, 0) + b"raw".ljust(32)
            body += struct.pack("!BBHI", max_conns, max_links, 0, self._answer) + bytes(8)
        return body

    def _clc(self) -> bytes:
        """The next CLC message from the other side."""
        tcp = self.tcp
        tcp.wait(lambda: clc.message_length(tcp.received) or tcp.ended, PATIENCE_S)
        length = clc.message_length(tcp.received)
        if not length:
            raise Broken("no CLC message came")
        message = bytes(tcp.received[:length])
        del tcp.received[:length]
        if message[clc.TYPE_AT] == clc.DECLINE:
            diagnosis = message[clc.DIAGNOSIS_AT:clc.DIAGNOSIS_AT + 4]
            raise Broken(f"declined, diagnosis {diagnosis.hex()}")
        return message

    def _take(self, message: bytes, target: str) -> None:
        """Takes over the fields of the other side's Accept or Confirm."""
        if not message[clc.VERSION_AT] & FIRST_CONTACT:
            raise Broken("an old link group was to be used again")
        self.peer_rkey, _, self.peer_token, sizes, _, self.peer_address = struct.unpack(
            "!IBIBBQ", message[41:60])
        self.peer_size = 16384 << (sizes >> 4)
        self.peer_psn = int.from_bytes(message[61:64], "big")
        self.qp.connect(target, int.from_bytes(message[38:41], "big"), self.own_psn, self.peer_psn)

    def propose(self, compact: bool = False) -> None:
        """The handshake as client, up to CONFIRM_LINK."""
        self.compact = compact
        self.offer()
        self.confirm()

    def offer(self) -> None:
        """Of the handshake as client, up to the Accept."""
        self.tcp.send(clc.proposal(self._eid, self.gid, clc.vendor_offer(self._capabilities),
                                   self._iwarp, self._max_links))
        accept = self._clc()
        if accept[clc.TYPE_AT] != clc.ACCEPT:
            raise Broken(f"no Accept but {accept.hex()}")
        if int.from_bytes(accept[144:148], "big") != self._answer:
            raise Broken(f"another answer to what was offered: {accept[144:148].hex()}")
        self._limits = accept[140], accept[141]
        self._take(accept, self.tcp.peer[0])

    def confirm(self) -> None:
        body = self._body(*self._limits, True)
        gids = struct.pack("!B3x", 1) + self.gid
        length = clc.HEADER_BYTES + len(body) + len(gids) + 4
        self.tcp.send(clc.header(clc.CONFIRM, length, 0x20 | FIRST_CONTACT) + body + gids
                      + clc.EYECATCHER)

    def respond(self) -> None:
        """The handshake as server; the Proposal has been read already."""
        self.accept()
        self.take_confirm()

    def accept(self) -> None:
        body = self._body(255, self._max_links, True)
        length = clc.HEADER_BYTES + len(body) + 4
        self.tcp.send(clc.header(clc.ACCEPT, length, 0x20 | FIRST_CONTACT) + body + clc.EYECATCHER)

    def take_confirm(self) -> None:
        confirm = self._clc()
        if confirm[clc.TYPE_AT] != clc.CONFIRM:
            raise Broken(f"no Confirm but {confirm.hex()}")
        self._take(confirm, self.tcp.peer[0])

    def confirm_link(self, flags: int = NO_EYECATCHERS) -> bytes:
        body = self.mac + self.gid + self.number.to_bytes(3, "big")
        body += struct.pack("!B4sBB", 1, b"raw!", 1, 255)
        return llc(CONFIRM_LINK, flags, body)

    def confirmed(self) -> None:
        """Waits until the link is confirmed; raises if that does not happen."""
        if not self.wait(lambda: self.has(CONFIRM_LINK), PATIENCE_S):
            raise Broken("no CONFIRM_LINK came")
        self.flush()

    # --- what comes -------------------------------------------------------------------------------

    def _message(self, data: bytes) -> None:
        if data[0] == CDC:
            self._cdc(data)
            return
        self.llc_received.append(data)
        kind, flags = data[0], data[3]
        if flags & RESPONSE:
            return
        if kind == CONFIRM_LINK:
            if self.confirms:
                self.qp.send(self.confirm_link(RESPONSE | NO_EYECATCHERS))
        elif not self.answers:
            pass
        elif kind in (TEST_LINK, CONFIRM_RKEY):
            self.qp.send(data[:3] + bytes((flags | RESPONSE,)) + data[4:])
        elif kind == DELETE_RKEY:
            self.qp.send(llc(DELETE_RKEY, RESPONSE, data[4:5]))

    def _cdc(self, data: bytes) -> None:
        _, length, _, token = struct.unpack("!BBHI", data[:8])
        if length != MESSAGE_BYTES or token != self.token:
            raise ValueError(f"CDC with length {length} and token {token:#x}")
        if data[24] & VALIDATION:
            return  # what has been told before may follow
        self.announced = self._advanced(self.announced, data[8:16], RMB_BYTES)
        self.consumed = self._advanced(self.consumed, data[16:24], self.peer_size)
        self.state |= data[25]

    def _immediate(self, immediate: int, length: int) -> None:
        if not self.compact or immediate >> 24 != self.token & 0xFF or self.state:
            raise ValueError(f"immediate data {immediate:#x}")
        if immediate & WRAPPED:
            self.announced += RMB_BYTES - self.announced % RMB_BYTES
        self.announced += length
        self.consumed += immediate & CONSUMED_MAX
        self.compact_heard += 1

    @staticmethod
    def _advanced(total: int, cursor: bytes, size: int) -> int:
        _, wrap, count = struct.unpack("!HHI", cursor)
        return total + (wrap * size + count - total) % (size << 16)

    def wait(self, condition, timeout_s: float) -> bool:
        return self.tcp.wait(condition, timeout_s)

    def has(self, kind: int, response: bool | None = None) -> bool:
        """Whether such an LLC message arrived, as a request or as a response."""
        return any(data[0] == kind and response in (None, bool(data[3] & RESPONSE))
                   for data in self.llc_received)

    def count(self, kind: int) -> int:
        return sum(data[0] == kind for data in self.llc_received)

    @property
    def group_ended(self) -> bool:
        return any(data[0] == DELETE_LINK and data[3] & ALL for data in self.llc_received)

    @property
    def over(self) -> bool:
        """Whether the other side ended the connection: abort, end of the group, or end of TCP."""
        return bool(self.state & (ABORTED | CLOSED) or self.group_ended or self.tcp.ended
                    or self.qp.refused is not None)

    def flush(self, timeout_s: float = PATIENCE_S) -> bool:
        """Waits until everything sent is acknowledged, or the connection has ended; True if
        acknowledged."""
        self.wait(lambda: self.qp.idle or self.over, timeout_s)
        return self.qp.idle

    # --- what an honest peer does -----------------------------------------------------------------

    def cdc(self, producer: bytes | None = None, consumer: bytes | None = None, flags: int = 0,
            state: int = 0, sequence: int | None = None, token: int | None = None) -> bytes:
        """Sends a CDC message; fields that are not given get the correct values."""
        if sequence is None:
            self.sequence = (self.sequence + 1) & 0xFFFF
            sequence = self.sequence
        if consumer is None:
            self.told = self.taken.total
        return (struct.pack("!BBHI", CDC, MESSAGE_BYTES, sequence,
                            self.peer_token if token is None else token)
                + (producer or self.sent.wire(self.peer_size))
                + (consumer or self.taken.wire(RMB_BYTES)) + bytes((flags, state)) + bytes(18))

    def say(self, data: bytes, flags: int = 0, state: int = 0) -> None:
        """Writes into the other side's RMBE, which must have room, and sends a CDC message about
        it."""
        at = self.sent.total % self.peer_size
        first = data[:self.peer_size - at]
        if self.compact and data and not flags and not state and (self.announced or self.consumed):
            self._say_compactly(at, first, data[len(first):])
            return
        self.qp.write(self.peer_rkey, self.peer_address + at, first)
        if len(first) < len(data):
            self.qp.write(self.peer_rkey, self.peer_address, data[len(first):])
        self.sent.total += len(data)
        self.qp.send(self.cdc(flags=flags, state=state))

    def _say_compactly(self, at: int, first: bytes, rest: bytes) -> None:
        immediate = self.immediate(self.taken.total - self.told)
        self.told = self.taken.total
        self.sequence = (self.sequence + 1) & 0xFFFF
        self.sent.total += len(first) + len(rest)
        if not rest:
            self.qp.write_immediate(self.peer_rkey, self.peer_address + at, first, immediate)
            return
        self.qp.write(self.peer_rkey, self.peer_address + at, first)
        self.qp.write_immediate(self.peer_rkey, self.peer_address, rest, immediate | WRAPPED)

    def immediate(self, consumed: int, slot: int | None = None) -> int:
        return (self.peer_token & 0xFF if slot is None else slot) << 24 | consumed

    def hear(self, count: int, timeout_s: float = PATIENCE_S) -> bytes:
        """Reads so many bytes, or fewer if no more come."""
        self.wait(lambda: self.announced - self.taken.total >= count or self.over, timeout_s)
        count = min(count, self.announced - self.taken.total)
        at = self.taken.total % RMB_BYTES
        data = bytes((self.memory * 2)[at:at + count])
        self.taken.total += count
        return data

    def echoes(self, count: int = 100) -> bool:
        """Whether the echo server at the other side still answers."""
        words = os.urandom(count)
        self.say(words)
        return self.hear(count) == words

    def _end_group(self) -> None:
        if self.qp.connected and not self.qp.silent:
            self.qp.send(llc(DELETE_LINK, ALL | ORDERLY, struct.pack("!BI", 0, 0x00020000)))
            self.wait(lambda: self.qp.idle or self.qp.refused is not None, 1)

    def finish(self) -> None:
        """Ends the group, if there is one, and the TCP connection."""
        self._end_group()
        self.tcp.reset()
        time.sleep(0.05)
        self.qp.silent = True
        self._fabric.remove(self.qp)
        if self.qp.offence:
            raise Broken(self.qp.offence)
