# SPDX-License-Identifier: GPL-2.0-only
"""A TCP of our own over raw frames, for peers that a kernel would not let one be.

Only a kernel's SMC sockets put the SMC option on a SYN, and no kernel sends half a handshake
message and falls silent. RawHost takes an address that the host itself does not have, by IPv4 or
IPv6, answers those who look for it, and runs connections over AF_PACKET. The wire between two guests
keeps order and hardly loses anything, so this TCP resends what is unacknowledged and drops what comes
out of order; that is all.
"""

import os
import select
import socket
import struct
import threading
import time
from typing import Callable

import raw_ip
from raw_ip import checksum

SMC_OPTION = bytes((1, 1, 254, 6, 0xE2, 0xD4, 0xC3, 0xD9))
MSS_OPTION = struct.pack("!BBH", 2, 4, 1400)
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
SEGMENT_BYTES = 1400
WINDOW_BYTES = 65535
RESEND_S = 1.0
REFUSE_S = 1.0
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_ALLMULTI = 263, 1, 2


class Connection:
    """One connection. All of it is guarded by its host's condition, which also wakes waiters."""

    def __init__(self, host: "RawHost", peer: tuple[str, int], port: int) -> None:
        self._host = host
        self.peer = peer
        self.port = port
        self.received = bytearray()
        self.established = False
        self.peer_has_option = False
        self.fin_seen = False
        self.rst_seen = False
        self.silent = False  # neither sends nor acknowledges any more
        self._start = int.from_bytes(os.urandom(3), "big")
        self._send_next = self._start + 1  # the SYN takes one
        self._acked = self._start
        self._receive_next = 0
        self._pending = bytearray()  # sent or to be sent, from _acked on
        self._pending_from = self._send_next
        self._fin_at: int | None = None
        self._last_sent_s = time.monotonic()
        self.passive = False
        self.answer_option = True

    # --- what a test does ---------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        with self._host.changed:
            self._pending += data
            self._transmit()

    def fin(self) -> None:
        with self._host.changed:
            self._fin_at = self._pending_from + len(self._pending)
            self._transmit()

    def reset(self) -> None:
        with self._host.changed:
            self._segment(RST | ACK, self._send_next)
            self.silent = True

    def vanish(self) -> None:
        with self._host.changed:
            self.silent = True

    def refuse(self, sequence: int | None = None) -> None:
        """Sends a reset, also on a silent connection. The peer ignores a reset whose sequence
        number is not the next one, acknowledged or not."""
        self.silent = False
        self._segment(RST | ACK, self._send_next if sequence is None else sequence)
        self.silent = True

    def reset_syn(self, sequence: int) -> None:
        self._receive_next = sequence + 1
        self._segment(RST | ACK, 0)

    @property
    def changed(self) -> threading.Condition:
        """The host's, for several things that belong together."""
        return self._host.changed

    @property
    def ended(self) -> bool:
        return self.fin_seen or self.rst_seen

    @property
    def finishing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._fin_at is not None or self.silent or self.ended

    @property
    def acknowledged(self) -> bool:
        """Whether the peer has all that was sent."""
        return not self._pending

    def wait(self, condition, timeout_s: float) -> bool:
        """Waits until condition() is true; False after the timeout."""
        with self._host.changed:
            return self._host.changed.wait_for(condition, timeout_s)

    def wait_bytes(self, count: int, timeout_s: float) -> bool:
        """Waits until so many bytes have arrived, or no more can; whether they have."""
        self.wait(lambda: len(self.received) >= count or self.ended, timeout_s)
        return len(self.received) >= count

    # --- what the wire does -------------------------------------------------------------------

    def open(self, with_option: bool) -> None:
        self._with_option = with_option
        self._segment(SYN, self._start, self._syn_options(with_option))

    @staticmethod
    def _syn_options(with_option: bool) -> bytes:
        return MSS_OPTION + (SMC_OPTION if with_option else b"")

    def _segment(self, flags: int, sequence: int, options: bytes = b"", data: bytes = b"") -> None:
        if not self.silent:
            self._last_sent_s = time.monotonic()
            self._host.send_segment(self, flags, sequence & 0xFFFFFFFF,
                                    self._receive_next & 0xFFFFFFFF, options, data)

    def _transmit(self) -> None:
        if not self.established:
            return
        while self._send_next < self._pending_from + len(self._pending):
            begin = self._send_next - self._pending_from
            data = bytes(self._pending[begin:begin + SEGMENT_BYTES])
            self._segment(ACK | PSH, self._send_next, data=data)
            self._send_next += len(data)
        if self._fin_at == self._send_next:
            self._segment(FIN | ACK, self._send_next)
            self._send_next += 1

    def tick(self, now_s: float) -> None:
        """Resends from the first unacknowledged byte."""
        if self.silent or self.rst_seen or now_s - self._last_sent_s < RESEND_S:
            return
        if not self.established:
            if self.passive:
                self._segment(SYN | ACK, self._start, self._syn_options(self.answer_option))
            else:
                self._segment(SYN, self._start, self._syn_options(self._with_option))
        elif self._acked < self._send_next:
            self._send_next = max(self._acked, self._pending_from)
            self._transmit()

    def _take_ack(self, ack: int) -> None:
        advance = (ack - self._acked) & 0xFFFFFFFF
        if advance == 0 or advance > self._send_next - self._acked:
            return
        self._acked += advance
        done = min(self._acked - self._pending_from, len(self._pending))
        if done > 0:
            del self._pending[:done]
            self._pending_from += done

    def segment_arrived(self, flags: int, sequence: int, ack: int, options: bytes,
                        data: bytes) -> None:
        if self.silent:
            return
        if flags & RST:
            self.rst_seen = True
        elif flags & SYN:
            self._syn_arrived(flags, sequence, ack, options)
        elif not self.established and not self.passive:
            pass
        else:
            if flags & ACK:
                self.established = True
                self._take_ack(ack)
            self._data_arrived(flags, sequence, data)
            self._transmit()
        self._host.changed.notify_all()

    def _syn_arrived(self, flags: int, sequence: int, ack: int, options: bytes) -> None:
        self.peer_has_option = SMC_OPTION[2:] in options
        if self.established:
            self._segment(ACK, self._send_next)
            return
        self._receive_next = sequence + 1
        if self.passive:
            self._segment(SYN | ACK, self._start, self._syn_options(self.answer_option))
        elif flags & ACK:
            self.established = True
            self._acked = self._start + 1
            self._segment(ACK, self._send_next)
            self._transmit()

    def _data_arrived(self, flags: int, sequence: int, data: bytes) -> None:
        in_order = (sequence - self._receive_next) & 0xFFFFFFFF == 0
        if in_order:
            self.received += data
            self._receive_next += len(data)
            if flags & FIN and not self.fin_seen:
                self.fin_seen = True
                self._receive_next += 1
        if data or flags & FIN:
            self._segment(ACK, self._send_next)


class RawHost:
    """An address on the interface's network, run by a thread. Close it to end all."""

    def __init__(self, interface: str, address: str) -> None:
        self.address = address
        self.changed = threading.Condition(threading.RLock())
        self.answer_option = True
        # Called with a whole IP packet, and with the time several times a second, under the condition.
        self.on_udp: Callable[[bytes], None] | None = None
        self.on_tick: Callable[[float], None] | None = None
        self._connections: dict[tuple[str, int, int], Connection] = {}
        self._listening: dict[int, list[Connection]] = {}
        self._refused: set[int] = set()
        self._next_port = 20000 + int.from_bytes(os.urandom(2), "big") % 30000
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.bind((interface, 0))
        if raw_ip.family(address) == socket.AF_INET6:
            self._hear_all(interface)
        self._own = raw_ip.own(address, self._socket.getsockname()[4])
        self._stopping = self._refusing = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Resets open connections: peers would resend to a missing address for minutes."""
        with self.changed:
            self._refusing = True
            for connection in self._connections.values():
                connection.refuse()
        time.sleep(REFUSE_S)
        self._stopping = True
        self._thread.join()
        self._socket.close()

    def connect(self, address: str, port: int, with_option: bool = True,
                timeout_s: float = 10) -> Connection:
        """A TCP connection that is established; raises TimeoutError without an answer."""
        with self.changed:
            self._resolve(address, timeout_s)
            self._next_port = self._next_port + 1 if self._next_port < 60000 else 20000
            connection = Connection(self, (address, port), self._next_port)
            self._connections[address, port, connection.port] = connection
            connection.open(with_option)
            if not self.changed.wait_for(lambda: connection.established or connection.rst_seen,
                                         timeout_s) or connection.rst_seen:
                raise TimeoutError(f"no connection to {address}:{port}")
        return connection

    def listen(self, port: int) -> None:
        with self.changed:
            self._listening[port] = []

    def refuse(self, port: int) -> None:
        """From now on a SYN to this port is answered by a reset."""
        with self.changed:
            self._refused.add(port)

    def accept(self, port: int, timeout_s: float = 10) -> Connection:
        with self.changed:
            waiting = self._listening[port]
            if not self.changed.wait_for(lambda: any(c.established for c in waiting), timeout_s):
                raise TimeoutError(f"nobody connected to port {port}")
            return waiting.pop(next(i for i, c in enumerate(waiting) if c.established))

    def send_segment(self, connection: Connection, flags: int, sequence: int, ack: int,
                     options: bytes, data: bytes) -> None:
        length = 20 + len(options) + len(data)

        def header(check: int) -> bytes:
            return struct.pack("!HHIIBBHHH", connection.port, connection.peer[1], sequence,
                               ack if flags & ACK else 0, (5 + len(options) // 4) << 4, flags,
                               WINDOW_BYTES, check, 0)

        pseudo = self._own.pseudo(connection.peer[0], raw_ip.TCP, length)
        check = checksum(pseudo + header(0) + options + data)
        self._socket.send(self._own.frame(connection.peer[0], raw_ip.TCP, header(check) + options + data))

    def send_packet(self, packet: bytes) -> None:
        """Sends a whole IPv4 packet to a host whose MAC is known."""
        self._socket.send(self._own.wrap(packet))

    def _hear_all(self, interface: str) -> None:
        """Of multicast, too: that is how a neighbour looks for an IPv6 address."""
        request = struct.pack("iHH8s", socket.if_nametoindex(interface), PACKET_MR_ALLMULTI, 0, bytes(8))
        self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)

    def _resolve(self, address: str, timeout_s: float) -> None:
        if self._own.knows(address):
            return
        self._socket.send(self._own.question(address))
        if not self.changed.wait_for(lambda: self._own.knows(address), timeout_s):
            raise TimeoutError(f"{address} does not answer")

    def _run(self) -> None:
        while not self._stopping:
            readable, _, _ = select.select([self._socket], [], [], 0.1)
            with self.changed:
                if readable:
                    self._frame_arrived(self._socket.recv(65536))
                for connection in self._connections.values():
                    connection.tick(time.monotonic())
                if self.on_tick:
                    self.on_tick(time.monotonic())

    def _frame_arrived(self, frame: bytes) -> None:
        taken = self._own.take(frame)
        if isinstance(taken, bytes):
            if taken:
                self._socket.send(taken)
            self.changed.notify_all()
        elif taken and taken.protocol == raw_ip.TCP:
            self._tcp_arrived(taken.source, taken.payload)
        elif taken and taken.protocol == raw_ip.UDP and self.on_udp:
            self.on_udp(taken.whole)

    def _tcp_arrived(self, source: str, tcp: bytes) -> None:
        source_port, port, sequence, ack, offset, flags = struct.unpack("!HHIIBB", tcp[:14])
        options, data = tcp[20:(offset >> 4) * 4], tcp[(offset >> 4) * 4:]
        connection = self._connections.get((source, source_port, port))
        if connection is not None and (connection.rst_seen or connection.silent) and flags & SYN:
            # The same client, from the same port, once more.
            connection = None
        if connection is None:
            if self._refusing or not flags & SYN or port not in self._listening:
                return
            connection = Connection(self, (source, source_port), port)
            connection.passive = True
            if port in self._refused:
                connection.reset_syn(sequence)
                return
            connection.answer_option = self.answer_option
            self._connections[source, source_port, port] = connection
            self._listening[port].append(connection)
        if self._refusing:
            if not flags & RST:
                connection.refuse(ack)
            return
        connection.segment_arrived(flags, sequence, ack, options, data)
