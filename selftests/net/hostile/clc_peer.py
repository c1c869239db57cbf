#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A peer that breaks every rule of the CLC handshake, in both roles. TAP on stdout.

    clc_peer.py --interface eth0 --address 10.9.0.66 --target 10.9.0.1 --eid EID [--only REGEX]

At the target runs smc_target.py. The address is one that no host has. Whatever is sent, the target
must not hang or lose what is still data: bytes that are no CLC message come back from the echo
server as they are, over plain TCP; a message that is wrong is declined, or ends that connection.
While it happens, a well-behaved connection (the bystander) must be served.
"""

import argparse
import errno
import json
import os
import random
import socket
import sys
import time
from typing import Callable, TextIO

import clc
import raw_ip
from raw_tcp import Connection, RawHost
from smc_target import smc_socket
from suite import Failed, Suite, expect, parser

# The kernel's own module waits 6 s for a CLC message; nothing may take much longer.
PATIENCE_S = 14
CONNECT_MS_MAX = 20000
# A client recognises a stranger at once, and gives up a silent one after 2 s and a bit.
AT_ONCE_MS_MAX = 1000
SILENCE_MS_MAX = 4000
BYSTANDER_S_MAX = 5
HELLO = "hello from the application"
CLIENTS_AT_ONCE = 40


def tell(control: TextIO, what: dict) -> None:
    """An order to the target's programs (smc_target.py)."""
    control.write(json.dumps(what) + "\n")
    control.flush()


class Scene:
    """What each case gets: the raw host, the target's ports, and the usual checks."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.host = RawHost(args.interface, args.address)
        self.gid = raw_ip.gid_of(args.address)
        self.good = clc.proposal(args.eid, self.gid)
        self.stranger = clc.proposal("NOBODY-HAS-THIS-EID", self.gid)
        self._port = 21000
        self._control = socket.create_connection((args.target, args.control_port))
        self._control_lines = self._control.makefile("rw")
        self._unheard = 0

    # --- we are the client ----------------------------------------------------------------------

    def client(self) -> Connection:
        connection = self.host.connect(self.args.target, self.args.echo_port)
        expect(connection.peer_has_option, "the SYN-ACK had no SMC option")
        return connection

    def echoed(self, connection: Connection, sent: bytes, patience_s: float = PATIENCE_S) -> None:
        """The target echoes everything: the connection is plain TCP, and no byte is lost."""
        connection.wait_bytes(len(sent), patience_s)
        expect(bytes(connection.received) == sent,
               f"{len(connection.received)} bytes came back of {len(sent)}, "
               f"begin {bytes(connection.received[:16]).hex()}")

    def declined(self, connection: Connection) -> bytes:
        """Expects a Decline, and returns the bytes behind it."""
        connection.wait(lambda: clc.message_length(connection.received) or connection.ended,
                        PATIENCE_S)
        length = clc.message_length(connection.received)
        expect(length in (28, 44), f"no Decline but {bytes(connection.received[:16]).hex()}")
        expect(connection.received[clc.TYPE_AT] == clc.DECLINE, "another CLC message")
        return bytes(connection.received[length:])

    def settled(self, connection: Connection, sent: bytes) -> str:
        """Expects the connection to end in time without losing data; returns how."""
        data = connection.received
        connection.wait(lambda: connection.ended or clc.message_length(data)
                        or (sent and len(data) >= len(sent)), PATIENCE_S)
        if clc.message_length(data) and data[clc.TYPE_AT] == clc.DECLINE:
            return "declined"
        if sent and bytes(data[:len(sent)]) == sent:
            return "echoed"
        if connection.ended:
            return "closed"
        raise Failed(f"not settled after {PATIENCE_S} s or less,"
                     f" received {bytes(data[:16]).hex() or 'nothing'}")

    def bystander(self) -> None:
        """A connection between the kernel's own sockets works without delay."""
        start_s = time.monotonic()
        payload = os.urandom(20000)
        with smc_socket(raw_ip.family(self.args.target)) as client:
            client.settimeout(BYSTANDER_S_MAX * 2)
            client.connect((self.args.target, self.args.echo_port))
            client.sendall(payload)
            received = b""
            while len(received) < len(payload):
                data = client.recv(65536)
                expect(bool(data), "the bystander's connection was closed")
                received += data
        expect(received == payload, "the bystander's bytes changed")
        took_s = time.monotonic() - start_s
        expect(took_s < BYSTANDER_S_MAX, f"the bystander took {took_s:.1f} s")

    # --- the target's programs ------------------------------------------------------------------

    def order(self, what: dict) -> None:
        """Sends an order. Answers of cases that failed early are read first."""
        while self._unheard:
            self.answer()
        tell(self._control_lines, what)
        self._unheard += 1

    def answer(self) -> dict:
        self._control.settimeout(60)
        self._unheard -= 1
        return json.loads(self._control_lines.readline())

    # --- we are the server ----------------------------------------------------------------------

    def called(self, with_option: bool = True, order: Callable[[dict], None] | None = None,
               **how: int) -> Connection:
        """Has the target's client connect to us, and receives its Proposal. order: of another client."""
        self._port += 1
        self.host.answer_option = with_option
        self.host.listen(self._port)
        (order or self.order)({"address": self.args.address, "port": self._port, "say": HELLO,
                               "timeout_s": 3, **how})
        connection = self.host.accept(self._port)
        expect(connection.peer_has_option, "the SYN had no SMC option")
        if with_option:
            connection.wait(lambda: clc.message_length(connection.received), PATIENCE_S)
            length = clc.message_length(connection.received)
            expect(length > 0 and connection.received[clc.TYPE_AT] == clc.PROPOSAL,
                   "no Proposal from the client")
            self.proposal = bytes(connection.received[:length])
            del connection.received[:length]
        return connection

    def called_again(self, first: Connection) -> Connection:
        """The same client's second connection, which comes by TCP alone."""
        try:
            second = self.host.accept(first.port, PATIENCE_S)
        except TimeoutError as error:
            raise Failed(f"no second connection: {self.answer()}") from error
        expect(not second.peer_has_option, "the second SYN has the option, too")
        return second

    def outcome(self) -> dict:
        """What the target's client reports about its connection, within the time limit."""
        answer = self.answer()
        expect(answer["connect_ms"] < CONNECT_MS_MAX, f"connect took {answer['connect_ms']} ms")
        return answer

    def connected(self, connection: Connection, data: bytes = b"") -> None:
        """The client fell back: it sent its words over TCP, and read our bytes as data."""
        connection.wait(lambda: HELLO.encode() in connection.received or connection.ended,
                        PATIENCE_S)
        expect(HELLO.encode() in connection.received, "the client's words did not come")
        connection.fin()
        answer = self.outcome()
        expect(answer["error"] == 0, f"errno {answer['error']} at the client")
        expect(bytes.fromhex(answer["received"]) == data,
               f"the client read {answer['received'][:60]!r}, not {data[:30].hex()!r}")

    def served_as_tcp(self, first: Connection, data: bytes = b"",
                      limit_ms: int = AT_ONCE_MS_MAX) -> None:
        """The client connects again and is served; the next one does not show the option."""
        self.served(self.called_again(first), data, limit_ms)
        self.order({"address": self.args.address, "port": first.port, "say": HELLO,
                    "timeout_s": 3})
        self.served(self.called_again(first), data, AT_ONCE_MS_MAX)

    def served(self, connection: Connection, data: bytes, limit_ms: int) -> dict:
        connection.wait(lambda: HELLO.encode() in connection.received, PATIENCE_S)
        expect(bytes(connection.received) == HELLO.encode(),
               f"the client says {bytes(connection.received)!r}")
        connection.send(data)
        connection.fin()
        answer = self.outcome()
        expect(answer["error"] == 0, f"errno {answer['error']} at the client")
        expect(bytes.fromhex(answer["received"]) == data, f"the client read {answer['received']!r}")
        expect(answer["connect_ms"] < limit_ms, f"connect took {answer['connect_ms']} ms")
        return answer

    def bounded(self, connection: Connection, data: bytes = b"") -> None:
        """The client fails or falls back; if it connected, it read our bytes or nothing."""
        connection.wait(lambda: HELLO.encode() in connection.received or connection.ended,
                        CONNECT_MS_MAX / 1000)
        if not connection.silent:
            connection.fin()
        answer = self.outcome()
        if answer["error"] == 0:
            received = bytes.fromhex(answer["received"])
            expect(data.endswith(received), f"the client read {received[:30].hex()!r}")


SUITE = Suite()


# --- a hostile client ---------------------------------------------------------------------------

@SUITE.messages(request=lambda _: b"GET / HTTP/1.0\r\n\r\n", one_byte=lambda _: b"\0",
          nearly_eyecatcher=lambda _: clc.EYECATCHER[:3] + b"X" * 100,
          eyecatcher_later=lambda _: b"A" + clc.EYECATCHER + bytes(60),
          large=lambda _: random.Random(1).randbytes(30000))
def garbage_is_data(scene: Scene, message: bytes) -> None:
    client = scene.client()
    client.send(message)
    scene.echoed(client, message)
    client.fin()


@SUITE.case
def silence_becomes_tcp(scene: Scene) -> None:
    client = scene.client()
    scene.bystander()
    time.sleep(8)
    client.send(b"late words")
    scene.echoed(client, b"late words")


@SUITE.messages(two=lambda _: clc.EYECATCHER[:2], eyecatcher=lambda _: clc.EYECATCHER,
          header=lambda scene: scene.good[:8], half=lambda scene: scene.good[:70],
          all_but_one=lambda scene: scene.good[:-1])
def stops_in_the_middle(scene: Scene, message: bytes) -> None:
    client = scene.client()
    client.send(message)
    scene.bystander()
    scene.settled(client, message)


@SUITE.messages(eyecatcher=lambda _: clc.EYECATCHER, half=lambda scene: scene.good[:70])
def ends_in_the_middle(scene: Scene, message: bytes) -> None:
    client = scene.client()
    client.send(message)
    client.fin()
    scene.settled(client, b"")


@SUITE.messages(
    length_zero=lambda s: clc.patched(s.good, clc.LENGTH_AT, b"\0\0"),
    length_seven=lambda s: clc.patched(s.good, clc.LENGTH_AT, b"\0\7"),
    length_short=lambda s: clc.patched(s.good, clc.LENGTH_AT, b"\0\x30"),
    length_one_less=lambda s: clc.patched(s.good, clc.LENGTH_AT, (155).to_bytes(2, "big")),
    length_one_more=lambda s: clc.patched(s.good, clc.LENGTH_AT, (157).to_bytes(2, "big")) + b"x",
    length_huge=lambda s: clc.patched(s.good, clc.LENGTH_AT, b"\xff\xff") + bytes(65535 - 156),
    version_zero=lambda s: clc.patched(s.good, clc.VERSION_AT, b"\x02"),
    type_zero=lambda s: clc.patched(s.good, clc.TYPE_AT, b"\0"),
    type_accept=lambda s: clc.accept(s.args.eid, s.gid, True),
    type_confirm=lambda s: clc.patched(s.good, clc.TYPE_AT, b"\3"),
    type_unknown=lambda s: clc.patched(s.good, clc.TYPE_AT, b"\x77"),
    trailer_wrong=lambda s: s.good[:-4] + b"XXXX",
    prefix_offset=lambda s: clc.patched(s.good, 38, b"\xff\xff"),
    v2_offset=lambda s: clc.patched(s.good, 50, b"\xff\xff"),
    v2_offset_zero=lambda s: clc.patched(s.good, 50, b"\0\0"),
    eid_count=lambda s: clc.patched(s.good, 80, b"\xff"),
    nothing_offered=lambda s: clc.patched(s.good, clc.VERSION_AT, b"\x2a"),
    smcd_without_area=lambda s: clc.patched(s.good, clc.VERSION_AT, b"\x26"))
def wrong_proposal(scene: Scene, message: bytes) -> None:
    client = scene.client()
    client.send(message)
    scene.settled(client, message)
    scene.bystander()


@SUITE.messages(
    version_fifteen=lambda s: clc.patched(s.good, clc.VERSION_AT, b"\xf2"),
    gid_count=lambda s: clc.patched(s.good, 81, b"\xff"),
    smcd_offset=lambda s: clc.patched(s.good, 86, b"\xff\xff"))
def odd_proposal(scene: Scene, message: bytes) -> None:
    """A field that SMC-R does not use is wrong; accepting the Proposal is allowed, too."""
    client = scene.client()
    client.send(message)
    client.wait(lambda: clc.message_length(client.received) or client.ended, PATIENCE_S)
    if clc.message_length(client.received) and client.received[clc.TYPE_AT] == clc.ACCEPT:
        client.send(clc.decline(2))
    else:
        scene.settled(client, message)
    scene.bystander()


@SUITE.case
def unknown_eid_is_declined(scene: Scene) -> None:
    client = scene.client()
    client.send(scene.stranger)
    scene.declined(client)
    client.send(b"now as TCP")
    client.wait(lambda: client.received.endswith(b"now as TCP"), PATIENCE_S)
    expect(scene.declined(client) == b"now as TCP", "data after the Decline")


@SUITE.case
def byte_by_byte(scene: Scene) -> None:
    client = scene.client()
    for byte in scene.stranger:
        client.send(bytes((byte,)))
        time.sleep(0.005)
    scene.declined(client)


@SUITE.case
def proposal_twice(scene: Scene) -> None:
    """Only the first Proposal counts; the second comes after the handshake has ended."""
    client = scene.client()
    client.send(scene.stranger * 2)
    scene.declined(client)
    scene.settled(client, scene.stranger)
    scene.bystander()


@SUITE.messages(v1=lambda _: clc.decline(1), v2=lambda _: clc.decline(2))
def decline_comes_first(scene: Scene, message: bytes) -> None:
    client = scene.client()
    client.send(message)
    client.send(b"words")
    client.wait(lambda: client.received.endswith(b"words") or client.ended, PATIENCE_S)
    expect(bytes(client.received) in (b"words", message + b"words") or client.ended,
           f"received {bytes(client.received[:60]).hex()}")


def proposed(scene: Scene) -> Connection:
    """A connection on which the server has sent its Accept."""
    client = scene.client()
    client.send(scene.good)
    client.wait(lambda: clc.message_length(client.received) or client.ended, PATIENCE_S)
    expect(clc.message_length(client.received) > 0, "no CLC message in answer")
    return client


@SUITE.case
def good_proposal_is_accepted(scene: Scene) -> None:
    client = proposed(scene)
    expect(client.received[clc.TYPE_AT] == clc.ACCEPT,
           f"answered with {bytes(client.received).hex()}")
    client.send(clc.decline(2))


@SUITE.case
def silence_after_accept(scene: Scene) -> None:
    client = proposed(scene)
    del client.received[:]
    scene.bystander()
    client.wait(lambda: client.ended or client.received, PATIENCE_S)
    expect(bool(client.ended or client.received), "the server waits for a Confirm for ever")


@SUITE.messages(garbage=lambda _: b"\0" * 200, proposal=lambda s: s.good, accept=lambda s:
          clc.accept(s.args.eid, s.gid, True), cut=lambda s:
          clc.patched(clc.accept(s.args.eid, s.gid, True), clc.TYPE_AT, b"\3")[:90],
          bogus=lambda s: clc.patched(clc.accept(s.args.eid, s.gid, True), clc.TYPE_AT, b"\3"))
def wrong_confirm(scene: Scene, message: bytes) -> None:
    client = proposed(scene)
    del client.received[:]
    client.send(message)
    scene.bystander()
    client.wait(lambda: client.ended or client.received, PATIENCE_S)
    expect(bool(client.ended or client.received), "the server waits for ever")
    client.reset()


@SUITE.case
def reset_in_the_middle(scene: Scene) -> None:
    scene.client().reset()
    client = scene.client()
    client.send(scene.good[:50])
    client.reset()
    client = scene.client()
    client.send(scene.good)
    client.reset()
    proposed(scene).reset()
    scene.bystander()


@SUITE.case
def vanishing_clients(scene: Scene) -> None:
    """Many clients at once, each at another stage, stop answering."""
    for i in range(CLIENTS_AT_ONCE):
        client = scene.client()
        client.send(scene.good[:i * 4])
        client.vanish()
    scene.bystander()
    proposed(scene).vanish()
    scene.bystander()


@SUITE.case
def mutated_proposals(scene: Scene) -> None:
    """Proposals with a few bytes changed, many at once; each connection ends in time."""
    chance = random.Random(scene.args.seed)
    clients = []
    for _ in range(CLIENTS_AT_ONCE):
        message = bytearray(scene.good)
        for _ in range(chance.randint(1, 6)):
            message[chance.randrange(len(message))] = chance.choice((0, 1, 127, 128, 255,
                                                                     chance.randrange(256)))
        clients.append(scene.client())
        clients[-1].send(bytes(message))
    scene.bystander()
    for client in clients:
        client.wait(lambda client=client: client.ended or client.received, PATIENCE_S)
        expect(bool(client.ended or client.received), "a mutated proposal was never settled")
        client.reset()


# --- a hostile server ---------------------------------------------------------------------------

@SUITE.case
def server_without_option(scene: Scene) -> None:
    scene.connected(scene.called(with_option=False))


@SUITE.messages(v1=lambda _: clc.decline(1), v2=lambda _: clc.decline(2))
def server_declines(scene: Scene, message: bytes) -> None:
    server = scene.called()
    server.send(message)
    scene.connected(server)


@SUITE.case
def server_declines_byte_by_byte(scene: Scene) -> None:
    server = scene.called()
    for byte in clc.decline(2):
        server.send(bytes((byte,)))
        time.sleep(0.005)
    scene.connected(server)


@SUITE.case
def server_declines_and_talks(scene: Scene) -> None:
    """Bytes behind the Decline in the same segment are data."""
    server = scene.called()
    server.send(clc.decline(2) + b"220 welcome\r\n")
    scene.connected(server, b"220 welcome\r\n")


@SUITE.case
def server_is_silent(scene: Scene) -> None:
    server = scene.called()
    scene.bystander()
    scene.served_as_tcp(server, b"words", SILENCE_MS_MAX)


@SUITE.case
def server_stops_in_the_middle(scene: Scene) -> None:
    server = scene.called()
    server.send(clc.EYECATCHER)
    scene.served_as_tcp(server, b"words", SILENCE_MS_MAX)


@SUITE.messages(smtp=lambda _: b"220 smtp.example.org ESMTP\r\n", ssh=lambda _: b"SSH-2.0-any\r\n",
                mysql=lambda _: b"\x4a\0\0\0\x0a8.0.1\0", byte=lambda _: b"\0",
                eyecatcher=lambda _: clc.EYECATCHER + b"\x09\0\x10\0")
def server_greets(scene: Scene, message: bytes) -> None:
    server = scene.called()
    server.send(message)
    scene.served_as_tcp(server, message)


@SUITE.case
def server_echoes(scene: Scene) -> None:
    server = scene.called()
    server.send(scene.proposal)
    scene.served_as_tcp(server, b"words")


@SUITE.case
def server_greets_a_client_with_a_port(scene: Scene) -> None:
    """The second connection comes from the same port, right behind the first one's reset, whether
    the program or bind() has chosen it."""
    for asked in 17001, 17002, 0:
        server = scene.called(bind=asked)
        bind = server.peer[1]
        expect(asked in (0, bind), f"the client's port is {bind}")
        server.send(b"220 welcome\r\n")
        second = scene.called_again(server)
        expect(second.peer[1] == bind, f"the client's second port is {second.peer[1]}")
        scene.served(second, b"220 welcome\r\n", AT_ONCE_MS_MAX)


@SUITE.case
def server_echoes_byte_by_byte(scene: Scene) -> None:
    server = scene.called()
    for byte in scene.proposal:
        server.send(bytes((byte,)))
    scene.served_as_tcp(server, b"words")


@SUITE.case
def server_is_silent_and_client_turns(scene: Scene) -> None:
    """The client gives up and listens: its old handshake does not affect the listener."""
    scene.called(turn=True)
    answer = scene.outcome()
    # The errno of connect().
    expect(answer["error"] == errno.EINPROGRESS, f"errno {answer['error']}")
    expect(answer["accepts"] == 1, "it does not listen any more")
    expect(bytes.fromhex(answer["received"]) == HELLO.encode(), "it does not serve")


@SUITE.case
def server_is_silent_and_gone(scene: Scene) -> None:
    server = scene.called()
    server.vanish()
    scene.served_as_tcp(server, b"words", SILENCE_MS_MAX)


@SUITE.messages(
    garbage=lambda _: b"220 smtp.example.org\r\n", byte=lambda _: b"\0",
    half=lambda s: clc.accept(s.args.eid, s.gid, True)[:60],
    proposal=lambda s: s.good,
    trailer=lambda s: clc.accept(s.args.eid, s.gid, True)[:-4] + b"XXXX",
    length_zero=lambda s: clc.patched(clc.accept(s.args.eid, s.gid, True), 5, b"\0\0"),
    length_huge=lambda s: clc.patched(clc.accept(s.args.eid, s.gid, True), 5, b"\xff\xff")
    + bytes(65535 - 160),
    wrong_version=lambda s: clc.patched(clc.accept(s.args.eid, s.gid, True), 7, b"\x18"),
    transport_not_offered=lambda s: clc.patched(clc.accept(s.args.eid, s.gid, True), 7, b"\x29"),
    index_zero=lambda s: clc.patched(clc.accept(s.args.eid, s.gid, True), 45, b"\0"),
    bogus_link=lambda s: clc.accept(s.args.eid, s.gid, True),
    other_eid=lambda s: clc.accept("NOBODY-HAS-THIS-EID", s.gid, True),
    unknown_group=lambda s: clc.accept(s.args.eid, s.gid, False))
def server_answers(scene: Scene, message: bytes) -> None:
    server = scene.called()
    server.send(message)
    scene.bounded(server, message)
    scene.bystander()


@SUITE.case
def server_resets(scene: Scene) -> None:
    server = scene.called()
    server.reset()
    scene.served_as_tcp(server, b"words")


@SUITE.case
def server_resets_and_refuses(scene: Scene) -> None:
    """The client gets TCP's error."""
    server = scene.called()
    scene.host.refuse(server.port)
    server.reset()
    answer = scene.outcome()
    expect(answer["error"] == errno.ECONNREFUSED, f"errno {answer['error']} at the client")


def told_as_tcp(scene: Scene, outcome: str) -> None:
    answer = scene.outcome()
    expect(answer["told"] == answer[outcome], f"{answer['told']} and not {answer[outcome]}")


@SUITE.case
def server_resets_a_watched_client(scene: Scene) -> None:
    """poll() and later calls report the second connection, and nothing of the first one."""
    scene.called(watch=True).reset()
    told_as_tcp(scene, "tcp_connected")


@SUITE.case
def server_is_silent_to_a_watched_client(scene: Scene) -> None:
    scene.called(watch=True)
    told_as_tcp(scene, "tcp_connected")


@SUITE.case
def server_refuses_a_watched_client(scene: Scene) -> None:
    """The second connection fails as on TCP."""
    server = scene.called(watch=True)
    scene.host.refuse(server.port)
    server.send(b"220 welcome\r\n")
    told_as_tcp(scene, "tcp_refused")


@SUITE.case
def server_is_silent_to_a_client_for_a_sockmap(scene: Scene) -> None:
    """The handshake reads its messages itself; a sockmap would take them away."""
    scene.called(map=True)
    answer = scene.outcome()
    expect((answer["in_handshake"], answer["tcp"]) == (errno.EBUSY, 0), answer)


@SUITE.case
def server_ends(scene: Scene) -> None:
    server = scene.called()
    server.fin()
    scene.served_as_tcp(server, b"words")


@SUITE.case
def server_resets_after_accept(scene: Scene) -> None:
    server = scene.called()
    server.send(clc.accept(scene.args.eid, scene.gid, True))
    server.reset()
    scene.served(scene.called_again(server), b"words", CONNECT_MS_MAX)
    scene.bystander()


@SUITE.case
def mutated_accepts(scene: Scene) -> None:
    chance = random.Random(scene.args.seed + 1)
    for _ in range(scene.args.mutations):
        message = bytearray(clc.accept(scene.args.eid, scene.gid, True))
        for _ in range(chance.randint(1, 6)):
            message[chance.randrange(len(message))] = chance.randrange(256)
        server = scene.called()
        server.send(bytes(message))
        server.fin()
        answer = scene.outcome()
        expect(answer["connect_ms"] < CONNECT_MS_MAX, "a mutated Accept held connect()")
    scene.bystander()


def main() -> int:
    arguments = parser(__doc__, 7300)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--mutations", type=int, default=8)
    return SUITE.main(Scene, arguments.parse_args())


if __name__ == "__main__":
    sys.exit(main())
