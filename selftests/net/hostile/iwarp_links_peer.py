#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A peer whose group of links over iWARP works, and that spoils what makes a second link of it, in both
roles. TAP on stdout.

    iwarp_links_peer.py --interface eth0 --address 10.9.0.70 --second-interface port2 \\
        --second-address 10.77.0.70 --target 10.9.0.1 --eid EID [--only REGEX]

At the target runs smc_target.py; both hosts have two iWARP devices of one PNET. Whatever is done, the
connection goes on by its first link, and nothing is kept of the second one.
"""

import argparse
import os
import socket
import struct
import sys
import time
from contextlib import contextmanager
from typing import Callable

import iwarp_peer
import raw_ip
import raw_iwarp
from clc_peer import AT_ONCE_MS_MAX
from iwarp_peer import WORDS
from raw_iwarp import CREDIT, End, Fabric, QueuePair, good_reply
from raw_mpa import ENHANCED, MARKERS, REJECT, REPLY, frame, hello
from raw_smc import (ADD_LINK, CDC, CLOSED, CONFIRM_LINK, DELETE_LINK, MESSAGE_BYTES, MTU_1024, NO_EYECATCHERS,
                     PATIENCE_S, REQ_ADD_LINK, RESPONSE, RMB_ADDRESS, SENDING_DONE, TEST_LINK, VALIDATION, Broken,
                     llc)
from raw_tcp import RawHost
from suite import Suite, expect, parser

REJECTED = 0x40
SECOND_LINK = 2
EXTENSION_AT, EXTENSION_BYTES, PAIR_BYTES = MESSAGE_BYTES, 28, 16
# A server of ours waits so long for an answer to ADD_LINK, and a side for the other one on the new link.
GIVES_UP_S = 8
LOOK_S = 0.05
# Of one group's in a row.
ADDITIONS_MAX = 8
# Fewer at once than there are receives.
MANY, BURST = 240, 24


class SecondLink(End):
    """received: what has come by it, but for CDC messages, which are the connection's."""

    def __init__(self, peer: "Peer", fabric: Fabric) -> None:
        super().__init__(fabric.host)
        self._peer, self._fabric = peer, fabric
        self.number = peer.number | 0x10000
        self.rkey = peer.rkey ^ 0x33
        self.gid = raw_ip.gid_of(fabric.host.address)
        self.own_port, self.own_nonce = peer.number, os.urandom(6)
        self.qp = fabric.queue_pair(self.number, self._message)
        self.qp.regions[self.rkey] = RMB_ADDRESS, peer.memory
        self.link = SECOND_LINK
        self.received: list[bytes] = []
        self.confirms = True

    def add_link(self, flags: int = 0) -> bytes:
        """The request, or with RESPONSE the answer. Our one RMB is known by the first link."""
        body = self.own_nonce + bytes(2) + self.gid + self.number.to_bytes(3, "big") + bytes((self.link, MTU_1024))
        body += self.own_port.to_bytes(3, "big") + bytes(8)
        extension = bytes(2) + self._peer.peer_gid + bytes(8) + struct.pack("<H", 1)
        extension += struct.pack("!IIQ", self._peer.rkey, self.rkey, RMB_ADDRESS)
        return llc(ADD_LINK, flags, body + extension, MESSAGE_BYTES + EXTENSION_BYTES + PAIR_BYTES)

    def take(self, message: bytes) -> None:
        """The other side's end: of its request or its answer."""
        if len(message) < EXTENSION_AT + EXTENSION_BYTES + PAIR_BYTES:
            raise Broken(f"no whole ADD_LINK: {message.hex()}")
        self.nonce, self.link = message[4:10], message[31]
        self.peer_gid = message[12:28]
        old, self.peer_rkey, self.peer_address = struct.unpack("!IIQ", message[72:88])
        address = raw_ip.address_of(self.peer_gid)
        if old != self._peer.peer_rkey or raw_ip.family(address) != raw_ip.family(self._fabric.host.address):
            raise Broken(f"ADD_LINK of another RMB, or no address: {message.hex()}")
        self.qp.connect(address, int.from_bytes(message[28:31], "big"), 0,
                        int.from_bytes(message[33:36], "big"))

    def confirm_link(self, flags: int = NO_EYECATCHERS) -> bytes:
        body = self.own_nonce + self.gid + self.number.to_bytes(3, "big")
        body += struct.pack("!B4sBB", self.link, b"raw2", 2, 255)
        return llc(CONFIRM_LINK, flags, body)

    def has(self, kind: int) -> bool:
        return any(message[0] == kind for message in self.received)

    def _message(self, data: bytes) -> None:
        if data[0] == CDC:
            self._peer.cdc_came(data)
        else:
            self.received.append(data)
            if data[0] == CONFIRM_LINK and not data[3] & RESPONSE and self.confirms:
                self.qp.send(self.confirm_link(RESPONSE | NO_EYECATCHERS))
            elif data[0] == TEST_LINK and not data[3] & RESPONSE:
                self.qp.send(data[:3] + bytes((RESPONSE,)) + data[4:])
        self.came(data, answers=True)

    def finish(self) -> None:
        self.leave()
        self.qp.silent = True
        self._fabric.remove(self.qp)
        if self.qp.offence:
            raise Broken(self.qp.offence)


class Peer(raw_iwarp.Peer):
    """other: its second link's end."""

    _max_links = 2
    _first: QueuePair | None = None

    def second(self, fabric: Fabric) -> SecondLink:
        self.other = SecondLink(self, fabric)
        return self.other

    def _take(self, message: bytes, target: str) -> None:
        super()._take(message, target)
        self.peer_gid = message[16:32]

    def wait(self, condition: Callable[[], object], timeout_s: float) -> bool:
        """What comes by the other link is told to that one's host."""
        deadline_s = time.monotonic() + timeout_s
        while not (found := super().wait(condition, LOOK_S)) and time.monotonic() < deadline_s:
            pass
        return found

    def cdc_came(self, data: bytes) -> None:
        self._cdc(data)

    def answer_to_offer(self) -> bytes | None:
        return next((m for m in self.llc_received if m[0] == ADD_LINK and m[3] & RESPONSE), None)

    def offers(self) -> list[bytes]:
        return [m for m in self.llc_received if m[0] == ADD_LINK and not m[3] & RESPONSE]

    def move(self) -> None:
        """The connection goes on by the other link: its first message there says how far it is."""
        other, self._first = self.other, self.qp
        self.qp, self.peer_rkey, self.peer_address = other.qp, other.peer_rkey, other.peer_address
        self.qp.send(self.cdc(flags=VALIDATION, sequence=self.sequence))

    def finish(self) -> None:
        if self._first:
            self._end_group()
            self.qp = self._first
        super().finish()


class Scene(iwarp_peer.Scene):
    peer_kind = Peer

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.second_host = RawHost(args.second_interface, args.second_address)
        self.second_fabric = Fabric(self.second_host)

    def _settle(self, enough: Callable[[dict], bool]) -> dict[str, int]:
        """Groups of honest hosts have both their links."""
        return super()._settle(lambda now: now["qp"] == 2 * now["group"] and enough(now))

    @contextmanager
    def _with_second(self, peer: Peer):
        other = peer.second(self.second_fabric)
        try:
            yield peer, other
        finally:
            other.finish()

    def add_by(self, peer: Peer, other: SecondLink) -> bytes:
        """What the target answers to our offer. Its connection manager may not have met ours yet."""
        peer.qp.send(other.add_link())
        expect(peer.wait(peer.answer_to_offer, PATIENCE_S), "no answer to ADD_LINK")
        return peer.answer_to_offer()

    def goes(self, limit_s: float) -> None:
        """The target gives up the second link. A connection manager that waits for a silent server may stay."""
        deadline_s = time.monotonic() + limit_s
        while (now := self.standing())["qp"] > 2 * now["group"] - 1:
            expect(time.monotonic() < deadline_s, "the second link stays")
            time.sleep(0.1)

    # --- we are the server ------------------------------------------------------------------------

    @contextmanager
    def serving_links(self):
        """A connection of the target's client, and our end of a second link. The client gets its words in
        the end, by whichever link there is."""
        with self.nothing_stays(), self.as_server(timeout_s=25) as peer, self._with_second(peer) as ends:
            ends[1].expect_client()
            yield ends
            peer.say(WORDS)
            peer.qp.send(peer.cdc(state=SENDING_DONE | CLOSED))
            answer = self.outcome()
            expect(bytes.fromhex(answer["received"]) == WORDS, f"the client: {answer}")

    @contextmanager
    def answered_links(self):
        """The target's client has met our end of the second link, has agreed to it, and expects CONFIRM_LINK."""
        with self.serving_links() as (peer, other):
            message = self.add_by(peer, other)
            expect(not message[3] & REJECTED, "our end of a link is refused")
            other.take(message)
            other.be_met()
            other.reply()
            expect(peer.wait(lambda: other.has(CREDIT), PATIENCE_S), "no first message of the client's")
            if int.from_bytes(other.shown[-4:], "big") != other.qp.peer_number:
                raise Broken("its answer names another queue pair than it has shown")
            yield peer, other

    # --- we are the client ------------------------------------------------------------------------

    @contextmanager
    def offered_links(self):
        """The target's server has offered a second link. The connection works all the time."""
        with self.nothing_stays(), self.as_client() as peer, self._with_second(peer) as (_, other):
            expect(peer.wait(peer.offers, PATIENCE_S), "no ADD_LINK came")
            other.take(peer.offers()[0])
            yield peer, other
            expect(peer.echoes(), "the connection was harmed")


SUITE = Suite()


def deleted(peer: Peer) -> None:
    """The side that gives up a link says so."""
    expect(peer.wait(lambda: peer.has(DELETE_LINK), GIVES_UP_S) and not peer.group_ended, "no DELETE_LINK of it")


def hears_confirm_link(peer: Peer, other: SecondLink) -> None:
    """The request, or the answer to ours."""
    expect(peer.wait(lambda: other.has(CONFIRM_LINK), PATIENCE_S), "no CONFIRM_LINK")


def agree(peer: Peer, other: SecondLink) -> None:
    """As a client that has met the server."""
    peer.qp.send(other.add_link(RESPONSE))
    hears_confirm_link(peer, other)


# --- positive controls ----------------------------------------------------------------------------

@SUITE.case
def honest_server_adds(scene: Scene) -> None:
    """And the first link breaks."""
    with scene.counted("conn_moved"), scene.answered_links() as (peer, other):
        other.qp.send(other.confirm_link())
        hears_confirm_link(peer, other)
        peer.stream.reset()
        peer.move()


@SUITE.case
def honest_client_agrees(scene: Scene) -> None:
    """And the first link breaks."""
    with scene.counted("conn_moved"), scene.offered_links() as (peer, other):
        other.meet()
        agree(peer, other)
        expect(peer.echoes(30000), "not by the first link")
        peer.stream.reset()
        peer.move()
        for count in (1, 1000, 60000, 60000):
            expect(peer.echoes(count), f"{count} bytes were not echoed")


# --- a hostile server -----------------------------------------------------------------------------

@SUITE.variants(refused=lambda scene, other: scene.second_host.refuse(other.own_port),
                zero=lambda _, other: setattr(other, "own_port", 0),
                silent=lambda _, other: setattr(other, "own_port", other.own_port + 1))
def server_is_not_at_its_port(scene: Scene, spoil: Callable[[Scene, SecondLink], None]) -> None:
    """The client gives up."""
    with scene.serving_links() as (peer, other):
        spoil(scene, other)
        scene.add_by(peer, other)
        scene.goes(GIVES_UP_S)


@SUITE.variants(target=lambda scene: scene.args.target,
                beyond=lambda scene: scene.either("198.51.100.1", "2001:db8::1"),
                group=lambda scene: scene.either("224.0.0.1", "ff02::2"),
                everybody=lambda scene: scene.either("255.255.255.255", "ff02::1"),
                everybody_there=lambda scene: scene.either("10.77.0.255", "ff05::1"),
                loopback=lambda scene: scene.either("127.0.0.1", "::1"),
                other_family=lambda scene: scene.either("fd77::70", "10.77.0.70"),
                nobody=lambda _: "0.0.0.0", nothing=lambda _: "::")
def server_is_said_to_be_elsewhere(scene: Scene, where: Callable[[Scene], str]) -> None:
    """Where no peer of its network can be: it is not looked for, neither there nor here."""
    with scene.serving_links() as (peer, other), scene.plain_listener(other.own_port) as there:
        there.settimeout(0)
        other.gid = raw_ip.gid_of(where(scene))
        start_s = time.monotonic()
        answer = scene.add_by(peer, other)
        expect(bool(answer[3] & REJECTED), f"such a link is agreed to: {answer.hex()}")
        took_s = time.monotonic() - start_s
        expect(took_s * 1000 < AT_ONCE_MS_MAX, f"refused after {took_s:.1f} s")
        for seek in there.accept, lambda: other.be_called(0):
            try:
                seek()
            except (BlockingIOError, TimeoutError):
                continue
            expect(False, "the client has looked for it")


@SUITE.case
def server_is_said_to_be_a_neighbour(scene: Scene) -> None:
    """Who does not know of it. That is all that a server can have its client ask."""
    with scene.serving_links() as (peer, other), scene.plain_listener(other.own_port) as there:
        there.settimeout(PATIENCE_S)
        other.gid = raw_ip.gid_of(scene.own)
        scene.add_by(peer, other)
        with there.accept()[0] as asked:
            scene.goes(GIVES_UP_S)
            asked.sendall(frame(REPLY, b"", revision=2, flags=ENHANCED | REJECT))


@SUITE.variants(garbage=b"HTTP/1.0 400 Bad R" + struct.pack(">H", 64) + bytes(64),
                rejects=frame(REPLY, raw_iwarp.READS, revision=2, flags=ENHANCED | REJECT),
                markers=frame(REPLY, raw_iwarp.READS, revision=2, flags=ENHANCED | MARKERS),
                old_revision=frame(REPLY, hello(), revision=1, flags=0), half_a_reply=good_reply()[:22], nothing=b"")
def server_replies(scene: Scene, reply: bytes) -> None:
    """Wrongly, or not."""
    with scene.serving_links() as (peer, other):
        scene.add_by(peer, other)
        other.be_met()
        if reply:
            other.stream.send(reply)
        scene.goes(GIVES_UP_S)
        expect(other.hung_up(), "the connection manager's connection stays")


@SUITE.variants(
    garbage=lambda other: other.stream.send(b"GET / HTTP/1.0\r\n\r\n" * 4),
    to_nobodys_memory=lambda other: other.qp.write(other.peer_rkey ^ 0xFF00, other.peer_address, b"x" * 64),
    by_the_other_links_key=lambda other: other.qp.write(other._peer.peer_rkey, other._peer.peer_address, b"x" * 64),
    ends=lambda other: other.stream.fin(), resets=lambda other: other.stream.reset())
def server_spoils_the_link(scene: Scene, spoil: Callable[[SecondLink], None]) -> None:
    """In place of CONFIRM_LINK, and when it stands."""
    for stands in False, True:
        with scene.answered_links() as (peer, other):
            if stands:
                other.qp.send(other.confirm_link())
                hears_confirm_link(peer, other)
            spoil(other)
            expect(other.hung_up(), "the second link stays")


@SUITE.case
def server_does_not_confirm_the_link(scene: Scene) -> None:
    with scene.answered_links() as (_, other):
        expect(other.hung_up(GIVES_UP_S), "the second link waits")


NOT_THIS_LINK: dict[str, Callable[[Peer, SecondLink], None]] = {
    "nobodys_queue_pair": lambda _, other: setattr(other, "number", 0x800777),
    "first_links_address": lambda peer, other: setattr(other, "gid", peer.gid),
}


@SUITE.variants(**NOT_THIS_LINK, eyecatchers=None)
def server_confirms_another_link(scene: Scene, wrong: Callable[[Peer, SecondLink], None] | None) -> None:
    with scene.answered_links() as (peer, other):
        if wrong:
            with scene.counted("wire_violation"):
                wrong(peer, other)
                other.qp.send(other.confirm_link())
                expect(other.hung_up(), "that is taken for this one")
        else:
            other.qp.send(other.confirm_link(0))
        expect(other.hung_up() and not other.has(CONFIRM_LINK), "that is taken for this one")


@SUITE.case
def server_takes_it_back(scene: Scene) -> None:
    """While the client waits for a reply."""
    with scene.serving_links() as (peer, other):
        scene.add_by(peer, other)
        other.be_met()
        peer.qp.send(llc(DELETE_LINK, 0, struct.pack("!BI", SECOND_LINK, 0x00050000)))
        expect(other.hung_up(), "the second link stays")


@SUITE.case
def server_offers_many(scene: Scene) -> None:
    """One at a time is tried, and no more in a row than a group may have; none, if each is replaced in time."""
    with scene.serving_links() as (peer, other):
        scene.second_host.refuse(other.own_port)
        before = scene.counters()["qp_new"]
        for burst in range(1, MANY // BURST + 1):
            for _ in range(BURST):
                peer.qp.send(other.add_link())
            peer.qp.send(llc(TEST_LINK, 0, b"sixteen bytes of"))
            expect(peer.wait(lambda burst=burst: peer.count(TEST_LINK) == burst, GIVES_UP_S), "no answer meanwhile")
        # A newer offer takes the place of one that is looked at.
        expect(peer.count(ADD_LINK) > MANY // 2, f"{peer.count(ADD_LINK)} are answered")
        made = scene.counters()["qp_new"] - before
        expect(made <= ADDITIONS_MAX + GIVES_UP_S // 2, f"{made} queue pairs were made")
        scene.bystander()


# --- a hostile client -----------------------------------------------------------------------------

@SUITE.case
def refuses(scene: Scene) -> None:
    with scene.offered_links() as (peer, other):
        peer.qp.send(other.add_link(RESPONSE | REJECTED))
        peer.flush()


@SUITE.case
def agrees_and_never_comes(scene: Scene) -> None:
    """The one who comes after that is refused."""
    with scene.offered_links() as (peer, other):
        peer.qp.send(other.add_link(RESPONSE))
        deleted(peer)
        expect(late(scene, other) != "accept", "it is met when the link is given up")


def late(scene: Scene, other: SecondLink) -> str:
    try:
        return other.ask(other.hello())
    except TimeoutError:
        return "nobody"


@SUITE.case
def comes_and_does_not_agree(scene: Scene) -> None:
    with scene.offered_links() as (_, other):
        other.meet()
        expect(other.hung_up(), "the second link waits")


@SUITE.variants(nonce=lambda other: other.hello(nonce=bytes((other.nonce[0] ^ 1,)) + other.nonce[1:]),
                first_links_nonce=lambda other: other.hello(nonce=other._peer.nonce),
                first_links_key=lambda other: other._peer.hello(),
                queue_pair=lambda other: other.hello(server=other.qp.peer_number + 1), none=lambda _: b"")
def shows_a_wrong(scene: Scene, key: Callable[[SecondLink], bytes]) -> None:
    """And is refused. Whoever shows the right one then is not."""
    with scene.offered_links() as (peer, other):
        with scene.counted("iwarp_refused", "wire_violation"):
            said = other.ask(key(other))
        expect(said == "reject", said)
        other.meet()
        agree(peer, other)


@SUITE.case
def comes_for_another(scene: Scene) -> None:
    """The queue pair that is shown is not the answer's, whichever comes first."""
    for first in True, False:
        with scene.offered_links() as (peer, other), scene.counted("iwarp_refused", "wire_violation"):
            if first:
                peer.qp.send(other.add_link(RESPONSE))
            said = other.ask(other.hello(client=other.number ^ 1))
            expect(said == "accept", said)
            if not first:
                peer.qp.send(other.add_link(RESPONSE))
            expect(other.hung_up(), "the second link stays")


@SUITE.variants(word=lambda other: None, answer=lambda other: other.qp.send(other.credit(0)))
def comes_and_says_no(scene: Scene, say: Callable[[SecondLink], None]) -> None:
    """Its first message does not come, or no answer to CONFIRM_LINK."""
    with scene.offered_links() as (peer, other):
        other.confirms = False
        other.be_taken()
        peer.qp.send(other.add_link(RESPONSE))
        say(other)
        deleted(peer)
        expect(other.hung_up(), "the second link stays")


@SUITE.variants(
    garbage=lambda other: other.stream.send(b"GET / HTTP/1.0\r\n\r\n" * 4),
    to_nobodys_memory=lambda other: other.qp.write(other.peer_rkey ^ 0xFF00, other.peer_address, b"x"),
    ends=lambda other: other.stream.fin(), resets=lambda other: other.stream.reset())
def spoils_the_link(scene: Scene, spoil: Callable[[SecondLink], None]) -> None:
    """Before it agrees, before it answers CONFIRM_LINK, and later."""
    for agrees, confirms in (False, False), (True, False), (True, True):
        with scene.offered_links() as (peer, other):
            other.confirms = confirms
            other.meet()
            if agrees:
                agree(peer, other)
            spoil(other)
            expect(other.hung_up(), "the second link stays")
            if not agrees:
                peer.qp.send(other.add_link(RESPONSE))


@SUITE.variants(**NOT_THIS_LINK)
def confirms_another_link(scene: Scene, wrong: Callable[[Peer, SecondLink], None]) -> None:
    with scene.offered_links() as (peer, other), scene.counted("wire_violation"):
        other.confirms = False
        other.meet()
        agree(peer, other)
        wrong(peer, other)
        other.qp.send(other.confirm_link(RESPONSE | NO_EYECATCHERS))
        expect(other.hung_up(), "that is taken for this one")


@SUITE.variants(target=lambda scene: scene.args.target,
                loopback=lambda scene: scene.either("127.0.0.1", "::1"),
                nobody=lambda scene: scene.either("10.77.0.99", "fd77::99"))
def agrees_from_elsewhere(scene: Scene, where: Callable[[Scene], str]) -> None:
    """A server does not look for its client."""
    with scene.offered_links() as (peer, other), scene.plain_listener(other.own_port) as there:
        there.settimeout(0)
        other.gid = raw_ip.gid_of(where(scene))
        peer.qp.send(other.add_link(RESPONSE))
        deleted(peer)
        try:
            there.accept()
        except BlockingIOError:
            return
        expect(False, "the server has looked for it")


@SUITE.case
def answers_twice(scene: Scene) -> None:
    with scene.offered_links() as (peer, other):
        other.meet()
        for _ in range(2):
            peer.qp.send(other.add_link(RESPONSE))
        hears_confirm_link(peer, other)
        other.stream.reset()


@SUITE.case
def asks_for_many(scene: Scene) -> None:
    """It has two links, or none of those that it asks for comes about."""
    with scene.offered_links() as (peer, other):
        peer.qp.send(other.add_link(RESPONSE | REJECTED))
        before = scene.counters()["qp_new"]
        for _ in range(MANY // BURST):
            for _ in range(BURST):
                peer.qp.send(llc(REQ_ADD_LINK, 0, bytes(20) + b"\x01\0\0\0" + other.gid))
            expect(peer.echoes(), "the connection was harmed")
        made = scene.counters()["qp_new"] - before
        expect(made <= ADDITIONS_MAX + GIVES_UP_S // 2, f"{made} queue pairs were made")
        scene.bystander()


def main() -> int:
    arguments = parser(__doc__, 7350)
    arguments.add_argument("--second-interface", required=True)
    arguments.add_argument("--second-address", required=True)
    return SUITE.main(Scene, arguments.parse_args())


if __name__ == "__main__":
    sys.exit(main())
