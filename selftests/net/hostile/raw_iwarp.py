# SPDX-License-Identifier: GPL-2.0-only
"""An SMC-R peer over iWARP of our own (MPA, DDP and RDMAP, RFC 5044, 5041 and 5040), on the TCP of
raw_tcp: without markers and CRCs.

As raw_smc.Peer it does everything right by itself. How it meets the other side's connection manager is in
steps, so that a test can do one of them wrong.
"""

import struct
import time
from typing import Callable

import raw_mpa
import raw_smc
from raw_smc import MESSAGE_BYTES, PATIENCE_S, Broken
from raw_tcp import Connection, RawHost

# DDP: tagged, and last segment; both versions are 1.
TAGGED, LAST, VERSIONS = 0x8000, 0x4000, 0x0140
WRITE, SEND, SEND_SOLICITED, TERMINATE = 0, 3, 5, 7
UNTAGGED_BYTES, TAGGED_BYTES = 18, 14
WRITE_BYTES_MAX = 16384
MPA_BYTES = 20
# Soft-iWARP gives the reply to its request 10 s, and RDMA's connection manager ends nothing before.
HANGS_UP_S = 14
CREDIT = 0x7C
QUESTION = 0x80
# Soft-iWARP's server misses a message that comes while it takes the connection: a client repeats its first.
GREET_AGAIN_S, GREETINGS_MAX = 0.3, 5
# What a side says of its RDMA reads in enhanced mode (RFC 6581), which soft-iWARP asks for: one at a time.
READS = struct.pack(">HH", 1, 1)


def good_reply(private: bytes = b"") -> bytes:
    return raw_mpa.frame(raw_mpa.REPLY, READS + private, revision=2, flags=raw_mpa.ENHANCED)


class QueuePair:
    """Guarded by the host's condition, as raw_roce's, and to be used like it. stream: the connection that
    it goes by, once the other side has been met. terminated: what the other side's TERMINATE says."""

    def __init__(self, number: int, on_send: Callable[[bytes], None]) -> None:
        self.number = number
        self.on_send = on_send
        self.regions: dict[int, tuple[int, bytearray]] = {}
        self.silent = False
        self.offence: str | None = None
        self.terminated: bytes | None = None
        self.stream: Connection | None = None
        self._sends = 0
        self._coming = b""
        self._greeting = b""
        self._greetings_left = 0
        self._greeted_s = 0.0

    def connect(self, peer: str, number: int, own_psn: int, peer_psn: int) -> None:
        """Where the other side is; of no use before a connection manager has met it."""
        self.peer, self.peer_number, self.peer_port = peer, number, peer_psn

    @property
    def connected(self) -> bool:
        return self.stream is not None and not self.stream.ended

    @property
    def refused(self) -> bool | None:
        lost = self.terminated is not None or (self.stream is not None and self.stream.ended)
        return True if lost else None

    @property
    def idle(self) -> bool:
        return self.stream is None or self.stream.acknowledged

    def send(self, payload: bytes) -> None:
        # The host's thread answers meanwhile.
        with self.stream.changed:
            self._sends += 1
            self._fpdu(LAST | VERSIONS | SEND, struct.pack(">IIII", 0, 0, self._sends, 0), payload)

    def greet(self, greeting: bytes) -> None:
        """Sends a client's first message, and again while nothing comes."""
        with self.stream.changed:
            self._greeting, self._greetings_left = greeting, GREETINGS_MAX
            self._greet(time.monotonic())

    def _greet(self, now_s: float) -> None:
        if self._greetings_left and now_s - self._greeted_s >= GREET_AGAIN_S and not self.stream.finishing:
            self._greetings_left -= 1
            self._greeted_s = now_s
            self.send(self._greeting)

    def write(self, rkey: int, address: int, payload: bytes) -> None:
        for at in range(0, len(payload), WRITE_BYTES_MAX):
            self._fpdu(TAGGED | LAST | VERSIONS | WRITE, struct.pack(">IQ", rkey, address + at),
                       payload[at:at + WRITE_BYTES_MAX])

    def _fpdu(self, control: int, header: bytes, payload: bytes) -> None:
        unit = struct.pack(">H", control) + header + payload
        unit = struct.pack(">H", len(unit)) + unit
        if not self.silent:
            self.stream.send(unit + bytes(-len(unit) % 4) + bytes(4))

    def tick(self, now_s: float) -> bool:
        """Takes in what is whole; whether there was any."""
        taken = False
        self._greet(now_s)
        while self.stream is not None and len(data := self.stream.received) >= 2:
            length = 2 + int.from_bytes(data[:2], "big")
            whole = length + -length % 4 + 4
            if len(data) < whole:
                break
            unit = bytes(data[2:length])
            del data[:whole]
            taken = True
            self._greetings_left = 0
            # An exception in the host's thread fails the running case; the thread goes on.
            try:
                self._take(int.from_bytes(unit[:2], "big"), unit)
            except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
                self.offence = self.offence or f"{type(error).__name__}: {error}"
        return taken

    def _take(self, control: int, unit: bytes) -> None:
        operation = control & 0xF
        if control & TAGGED and operation == WRITE:
            rkey, address = struct.unpack(">IQ", unit[2:TAGGED_BYTES])
            start, memory = self.regions[rkey]
            at, data = address - start, unit[TAGGED_BYTES:]
            if not 0 <= at <= len(memory) - len(data):
                raise ValueError(f"{len(data)} bytes written at {at} of {len(memory)}")
            memory[at:at + len(data)] = data
        elif operation in (SEND, SEND_SOLICITED):
            self._coming += unit[UNTAGGED_BYTES:]
            if control & LAST:
                message, self._coming = self._coming, b""
                self.on_send(message)
        elif operation == TERMINATE:
            self.terminated = unit[UNTAGGED_BYTES:]
        else:
            raise ValueError(f"operation {operation}")


class Fabric:
    """The queue pairs at the address of a host."""

    def __init__(self, host: RawHost) -> None:
        self.host = host
        self._queue_pairs: list[QueuePair] = []
        host.on_tick = self._tick

    def queue_pair(self, number: int, on_send: Callable[[bytes], None]) -> QueuePair:
        made = QueuePair(number, on_send)
        with self.host.changed:
            self._queue_pairs.append(made)
        return made

    def remove(self, queue_pair: QueuePair) -> None:
        with self.host.changed:
            self._queue_pairs.remove(queue_pair)

    def _tick(self, now_s: float) -> None:
        if any([queue_pair.tick(now_s) for queue_pair in self._queue_pairs]):
            self.host.changed.notify_all()


class End:
    """One end of a link, on a host's address, and how it meets the other side's connection manager.

    stream: its connection to or from that. nonce: a server's, which its client has to show. shown: what the
    client has shown. own_port: a server's; own_nonce: what it asks of its client.
    """

    number: int
    qp: QueuePair
    own_port: int
    own_nonce: bytes

    def __init__(self, host: RawHost) -> None:
        self._host = host
        self.stream: Connection | None = None
        self.shown = b""
        self.nonce = b""
        self._streams: list[Connection] = []
        self._came = 0

    def _joined(self) -> None:
        with self._host.changed:
            self.qp.stream = self.stream

    def leave(self) -> None:
        for stream in self._streams:
            stream.reset()

    @staticmethod
    def credit(taken: int) -> bytes:
        """How many messages have come, and we have taken in."""
        return struct.pack(">BBxxII", CREDIT, MESSAGE_BYTES, taken, taken).ljust(MESSAGE_BYTES, b"\0")

    def came(self, data: bytes, answers: bool) -> None:
        """A message has, and may ask how many have."""
        self._came += 1
        if answers and data[0] == CREDIT and data[2] & QUESTION:
            self.qp.send(self.credit(self._came))

    # --- as client --------------------------------------------------------------------------------

    def hello(self, nonce: bytes | None = None, server: int | None = None,
              client: int | None = None) -> bytes:
        """What a client has to show; a test says what is wrong in it."""
        return raw_mpa.hello(nonce=self.nonce if nonce is None else nonce,
                             server=self.qp.peer_number if server is None else server,
                             client=self.number if client is None else client)

    def ask(self, private: bytes) -> str:
        """How a request ends that shows this: "accept", "reject", "closed", or "silence"."""
        self.call()
        self.stream.send(raw_mpa.frame(raw_mpa.REQUEST, private, flags=0))
        if not self.stream.wait_bytes(MPA_BYTES, PATIENCE_S):
            return "closed" if self.stream.ended else "silence"
        said = bytes(self.stream.received[:MPA_BYTES])
        if said[:16] != raw_mpa.REPLY or said[18:] != bytes(2):
            raise Broken(f"no reply but {said.hex()}")
        del self.stream.received[:MPA_BYTES]
        return "reject" if said[16] & raw_mpa.REJECT else "accept"

    def call(self) -> None:
        """Connects to where the server's connection manager listens."""
        self.stream = self._host.connect(self.qp.peer, self.qp.peer_port, with_option=False)
        self._streams.append(self.stream)

    def be_taken(self) -> None:
        """Shows the right key, and says no word yet."""
        said = self.ask(self.hello())
        if said != "accept":
            raise Broken(f"{said} though the key is right")
        self._joined()

    def meet(self) -> None:
        self.be_taken()
        self.qp.greet(self.credit(0))

    # --- as server --------------------------------------------------------------------------------

    def expect_client(self) -> None:
        self._host.answer_option = False
        self._host.listen(self.own_port)

    def be_called(self, timeout_s: float = PATIENCE_S) -> None:
        """The client's connection manager connects."""
        self.stream = self._host.accept(self.own_port, timeout_s)
        self._streams.append(self.stream)

    def be_met(self) -> None:
        """It shows what it has been told, too."""
        self.be_called()
        stream = self.stream
        expected = MPA_BYTES + len(READS) + len(raw_mpa.hello())
        if not stream.wait_bytes(expected, PATIENCE_S):
            raise Broken(f"no request but {bytes(stream.received).hex()}")
        request = bytes(stream.received)
        del stream.received[:]
        self.shown = request[MPA_BYTES + len(READS):]
        if request[:16] != raw_mpa.REQUEST or len(request) != expected:
            raise Broken(f"no request of this module but {request.hex()}")
        if self.shown[:-4] != raw_mpa.hello(nonce=self.own_nonce, server=self.number)[:-4]:
            raise Broken(f"a wrong key: {self.shown.hex()}")

    def reply(self, private: bytes = b"") -> None:
        """Takes the client. Its first message comes before any of ours."""
        with self._host.changed:
            self.stream.send(good_reply(private))
            self._joined()

    # --- what a test asks ---------------------------------------------------------------------------

    def hung_up(self, timeout_s: float = HANGS_UP_S) -> bool:
        """Whether the other side has ended all connections of its connection manager's, but for those that
        we have reset."""
        deadline_s = time.monotonic() + timeout_s
        return all(stream.wait(lambda stream=stream: stream.ended or stream.silent,
                               max(0.0, deadline_s - time.monotonic())) for stream in self._streams)


class Peer(End, raw_smc.Peer):
    """The PSN of its Accept says the port, and the MAC the nonce."""

    _iwarp = True

    def __init__(self, fabric: Fabric, tcp: Connection, eid: str, gid: bytes) -> None:
        End.__init__(self, fabric.host)
        raw_smc.Peer.__init__(self, fabric, tcp, eid, gid)
        self.own_psn = self.number

    @property
    def own_port(self) -> int:
        return self.own_psn

    @property
    def own_nonce(self) -> bytes:
        return self.mac

    def _take(self, message: bytes, target: str) -> None:
        super()._take(message, target)
        self.nonce = message[32:38]

    def _message(self, data: bytes) -> None:
        super()._message(data)
        self.came(data, self.answers)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.leave()

    # --- as client --------------------------------------------------------------------------------

    def propose(self, compact: bool = False) -> None:
        self.offer()
        self.meet()
        self.confirm()

    # --- as server --------------------------------------------------------------------------------

    def respond(self) -> None:
        self.accept()
        self.be_met()
        self.reply()
        self.take_confirm()

    def accept(self) -> None:
        self.expect_client()
        super().accept()

    def take_confirm(self) -> None:
        super().take_confirm()
        if int.from_bytes(self.shown[-4:], "big") != self.qp.peer_number:
            raise Broken("the Confirm names another queue pair")
        if not self.wait(lambda: self.has(CREDIT), PATIENCE_S):
            raise Broken("no first message of the client's")
