# SPDX-License-Identifier: GPL-2.0-only
"""RoCE v2 of our own over raw frames: a reliable connection that sends what no driver would.

A QueuePair lives at the address of a RawHost. It sends SEND and RDMA WRITE requests, resends what
is not acknowledged, and acknowledges what comes: SENDs of one packet, and writes into the regions
that it was told of, with immediate data or without. That is all that SMC-R needs. (InfiniBand
Architecture Specification 1.4, volume 1, chapter 9 and annex 17.)
"""

import socket
import struct
import time
import zlib
from typing import Callable

from raw_tcp import RawHost, checksum

UDP_PORT = 4791
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x06, 0x07, 0x08, 0x0A
WRITE_LAST_IMMEDIATE, WRITE_ONLY_IMMEDIATE = 0x09, 0x0B
ACKNOWLEDGE = 0x11
SOLICITED, ACK_REQUEST = 0x80, 0x80
ACK_UNLIMITED = 0x1F
SYNDROME_RNR, SYNDROME_NAK = 1, 3
NAK_SEQUENCE = 0
PAYLOAD_MAX = 1024
PSN_MASK = 0xFFFFFF
RESEND_S = 0.5
RNR_S = 0.02
# How many packets are resent at once. The answers to more of them would overflow the receive queue,
# and everything would be resent for want of answers that had arrived.
RESEND_PACKETS = 32


def invariant_crc(ip_and_rest: bytes) -> bytes:
    """Covers the fields that routers do not change; fields that they may change count as ones."""
    packet = bytearray(ip_and_rest)
    packet[1] = packet[8] = 0xFF
    packet[10:12] = packet[26:28] = b"\xff\xff"
    packet[32] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + packet))


class QueuePair:
    """Everything here is guarded by the host's condition.

    on_send is called with the payload of each SEND that arrives, on_immediate with the immediate
    data and the length of each write that has some. regions: (address, memory) by
    rkey. silent: neither sends nor acknowledges any more. refused: the syndrome of a NAK that came.
    offence: what came and must not have come, the first of it.
    """

    def __init__(self, fabric: "Fabric", number: int, on_send: Callable[[bytes], None]) -> None:
        self._fabric = fabric
        self.number = number
        self.on_send = on_send
        self.on_immediate: Callable[[int, int], None] = lambda immediate, length: None
        self.regions: dict[int, tuple[int, bytearray]] = {}
        self.silent = False
        self.refused: int | None = None
        self.offence: str | None = None
        self._peer = b""
        self._unacknowledged: list[tuple[int, bytes]] = []
        self._in_flight = 0  # of the unacknowledged, from the first on
        self._resend_at_s = 0.0
        self._arrived = 0
        self._write: tuple[bytearray, int] | None = None
        self._write_length = 0

    def connect(self, peer: str, number: int, own_psn: int, peer_psn: int) -> None:
        self._peer = socket.inet_aton(peer)
        self.peer_number = number
        self._send_psn = own_psn
        self._expected_psn = peer_psn

    @property
    def connected(self) -> bool:
        return bool(self._peer)

    @staticmethod
    def _parts(payload: bytes) -> list[bytes]:
        """What goes into one packet each; of nothing there is one, too."""
        return [payload[at:at + PAYLOAD_MAX]
                for at in range(0, max(len(payload), 1), PAYLOAD_MAX)]

    def send(self, payload: bytes) -> None:
        parts = self._parts(payload)
        if len(parts) == 1:
            self._request(SEND_ONLY, b"", payload)
            return
        for number, part in enumerate(parts, 1):
            self._request(SEND_FIRST if number == 1 else
                          SEND_LAST if number == len(parts) else SEND_MIDDLE, b"", part)

    def write(self, rkey: int, address: int, payload: bytes) -> None:
        for at in range(0, len(payload), PAYLOAD_MAX):
            part = payload[at:at + PAYLOAD_MAX]
            self._request(WRITE_ONLY, struct.pack("!QII", address + at, rkey, len(part)), part)

    def write_immediate(self, rkey: int, address: int, payload: bytes, immediate: int) -> None:
        """One request, however many packets."""
        reth = struct.pack("!QII", address, rkey, len(payload))
        tail = struct.pack("!I", immediate)
        parts = self._parts(payload)
        if len(parts) == 1:
            self._request(WRITE_ONLY_IMMEDIATE, reth + tail, payload)
            return
        self._request(WRITE_FIRST, reth, parts[0])
        for part in parts[1:-1]:
            self._request(WRITE_MIDDLE, b"", part)
        self._request(WRITE_LAST_IMMEDIATE, tail, parts[-1])

    @property
    def idle(self) -> bool:
        """Whether the peer has acknowledged everything."""
        return not self._unacknowledged

    def _request(self, opcode: int, header: bytes, payload: bytes) -> None:
        with self._fabric.host.changed:
            packet = self._packet(opcode, self._send_psn, header, payload)
            if not self._unacknowledged:
                self._resend_at_s = time.monotonic() + RESEND_S
            if self._in_flight == len(self._unacknowledged):
                self._in_flight += 1
            self._unacknowledged.append((self._send_psn, packet))
            self._send_psn = (self._send_psn + 1) & PSN_MASK
            self._transmit(packet)

    def _packet(self, opcode: int, psn: int, header: bytes, payload: bytes) -> bytes:
        padding = -len(payload) % 4
        solicited = opcode in (SEND_LAST, SEND_ONLY, WRITE_LAST_IMMEDIATE, WRITE_ONLY_IMMEDIATE)
        flags = (SOLICITED if solicited else 0) | padding << 4
        bth = struct.pack("!BBHII", opcode, flags, 0xFFFF, self.peer_number,
                          ACK_REQUEST << 24 | psn)
        return bth + header + payload + bytes(padding)

    def _transmit(self, packet: bytes) -> None:
        if not self.silent:
            self._fabric.transmit(self._peer, packet)

    def tick(self, now_s: float) -> None:
        if self._unacknowledged and now_s >= self._resend_at_s and self.refused is None:
            again = self._unacknowledged[:RESEND_PACKETS]
            for _, packet in again:
                self._transmit(packet)
            self._in_flight = len(again)
            self._resend_at_s = time.monotonic() + RESEND_S

    def arrived(self, packet: bytes) -> None:
        if self.silent or not self._peer:
            return
        opcode, flags, _, _, ack_psn = struct.unpack("!BBHII", packet[:12])
        psn = ack_psn & PSN_MASK
        if opcode == ACKNOWLEDGE:
            self._acknowledged(psn, packet[12])
            return
        if psn == self._expected_psn:
            self._expected_psn = (psn + 1) & PSN_MASK
            self._arrived += 1
            padding = flags >> 4 & 3
            self._try_to_take(opcode, packet[12:len(packet) - padding])
        elif (psn - self._expected_psn) & PSN_MASK < 1 << 23:
            return  # something was lost: it will be sent again
        if ack_psn >> 24 & ACK_REQUEST:
            self._transmit(self._packet(ACKNOWLEDGE, (self._expected_psn - 1) & PSN_MASK,
                                        struct.pack("!I", ACK_UNLIMITED << 24
                                                    | self._arrived & PSN_MASK), b""))

    def _acknowledged(self, psn: int, syndrome: int) -> None:
        kind = syndrome >> 5 & 3
        below = psn if kind else (psn + 1) & PSN_MASK
        waiting = self._unacknowledged
        while waiting and (below - waiting[0][0] - 1) & PSN_MASK < 1 << 23:
            waiting.pop(0)
            self._in_flight = max(self._in_flight - 1, 0)
            self._resend_at_s = time.monotonic() + (RESEND_S if self._in_flight else 0)
        if kind == SYNDROME_RNR or (kind == SYNDROME_NAK and syndrome & 31 == NAK_SEQUENCE):
            self._resend_at_s = time.monotonic() + RNR_S
        elif kind == SYNDROME_NAK:
            self.refused = syndrome & 31

    def _try_to_take(self, opcode: int, rest: bytes) -> None:
        """An exception in the host's thread fails the running case; the thread goes on."""
        try:
            self._take(opcode, rest)
        except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
            self.offence = self.offence or f"{type(error).__name__}: {error}"

    def _take(self, opcode: int, rest: bytes) -> None:
        if opcode == SEND_ONLY:
            self.on_send(rest)
        elif opcode in (WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMMEDIATE):
            address, rkey, self._write_length = struct.unpack("!QII", rest[:16])
            if rkey not in self.regions:
                raise ValueError(f"written by the key {rkey:#x}")
            start, memory = self.regions[rkey]
            self._write = memory, address - start
            self._store_and_tell(opcode, rest[16:])
        elif opcode in (WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMMEDIATE):
            self._store_and_tell(opcode, rest)

    def _store_and_tell(self, opcode: int, rest: bytes) -> None:
        if opcode not in (WRITE_ONLY_IMMEDIATE, WRITE_LAST_IMMEDIATE):
            self._store(rest)
            return
        self._store(rest[4:])
        self.on_immediate(int.from_bytes(rest[:4], "big"), self._write_length)

    def _store(self, data: bytes) -> None:
        memory, at = self._write
        if at < 0 or at + len(data) > len(memory):
            raise ValueError(f"{len(data)} bytes written at {at} of {len(memory)}")
        memory[at:at + len(data)] = data
        self._write = memory, at + len(data)


class Fabric:
    """The queue pairs at the address of a host."""

    def __init__(self, host: RawHost) -> None:
        self.host = host
        self._queue_pairs: dict[int, QueuePair] = {}
        self._address = socket.inet_aton(host.address)
        host.on_udp = self._arrived
        host.on_tick = self._tick

    def queue_pair(self, number: int, on_send: Callable[[bytes], None]) -> QueuePair:
        with self.host.changed:
            self._queue_pairs[number] = made = QueuePair(self, number, on_send)
        return made

    def remove(self, queue_pair: QueuePair) -> None:
        with self.host.changed:
            del self._queue_pairs[queue_pair.number]

    def transmit(self, peer: bytes, bth_and_rest: bytes) -> None:
        udp_length = 8 + len(bth_and_rest) + 4
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + udp_length, 0, 0x4000, 64, 17, 0)
        ip += self._address + peer
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        packet = ip + struct.pack("!HHHH", 0xD000, UDP_PORT, udp_length, 0) + bth_and_rest
        self.host.send_packet(packet + invariant_crc(packet))

    def _tick(self, now_s: float) -> None:
        for queue_pair in self._queue_pairs.values():
            queue_pair.tick(now_s)

    def _arrived(self, ip: bytes) -> None:
        total = struct.unpack("!H", ip[2:4])[0]
        if struct.unpack("!H", ip[22:24])[0] != UDP_PORT:
            return
        queue_pair = self._queue_pairs.get(int.from_bytes(ip[33:36], "big"))
        if queue_pair is not None:
            queue_pair.arrived(ip[28:total - 4])
            self.host.changed.notify_all()
