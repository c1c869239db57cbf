#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A peer that keeps to the rules of SMC-R until the link stands, then breaks them. TAP on stdout.

    rdma_peer.py --interface eth0 --address 10.9.0.66 --target 10.9.0.1 --eid EID [--only REGEX]

At the target runs smc_target.py. Whatever is sent, the target ends that connection, or that link
group, and counts it in /proc/net/smc_stat; or it passes over it, where that is harmless. A
well-behaved connection (the bystander) is served meanwhile, and in the end nothing is left.
"""

import argparse
import os
import random
import struct
import sys
import time
from contextlib import contextmanager
from typing import Callable

import clc_peer
from clc_peer import HELLO
from raw_roce import Fabric
from raw_smc import (ABORTED, ADD_LINK, ADD_LINK_CONT, ALL, CDC, CLOSED, CONFIRM_LINK, CONFIRM_RKEY,
                     CONFIRM_RKEY_CONT, CONSUMED_MAX, DELETE_LINK, DELETE_RKEY, MESSAGE_BYTES,
                     NEGATIVE, NO_EYECATCHERS, PATIENCE_S, REQ_ADD_LINK, RESPONSE, SENDING_DONE,
                     TEST_LINK, UPDATE_REQUEST, URGENT_PENDING, URGENT_PRESENT, VALIDATION,
                     WRAPPED, WRITE_BLOCKED, Peer, llc)
from suite import Suite, expect, parser

# The sum of a queue pair's retries, the end of a group, and a CDC message without an answer.
GONE_S = 30
# For 600 messages to an emulated debug kernel.
FLOOD_S = 120
# How far a busy machine moves a median.
NOISE_S = 0.05
# A group ends after so many violations in LLC.
VIOLATIONS_MAX = 16


class Scene(clc_peer.Scene):
    """The raw host with queue pairs, and the counters of the target."""

    fabric_kind, peer_kind = Fabric, Peer

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.fabric = self.fabric_kind(self.host)

    def counters(self) -> dict[str, int]:
        self.order({"counters": True})
        return self.answer()

    def peer(self, tcp) -> Peer:
        return self.peer_kind(self.fabric, tcp, self.args.eid, self.gid)

    @contextmanager
    def as_client(self, confirmed: bool = True, compact: bool = False):
        """A working connection to the target's echo server."""
        peer = self.peer(self.client())
        try:
            peer.propose(compact)
            if confirmed:
                peer.confirmed()
                expect(peer.echoes(), "the connection does not work, before anything was done")
            yield peer
        finally:
            peer.finish()

    @contextmanager
    def unconfirmed(self, compact: bool = False):
        """A client whose CONFIRM_LINK has come, and is not answered."""
        peer = self.peer(self.client())
        peer.confirms = False
        try:
            peer.propose(compact)
            expect(peer.wait(lambda: peer.has(CONFIRM_LINK), PATIENCE_S), "no CONFIRM_LINK")
            yield peer
        finally:
            peer.finish()

    @contextmanager
    def as_server(self, **how: int):
        """The target's client has connected to us and sent its words. how: as for called()."""
        peer = self.peer(self.called(**how))
        try:
            peer.respond()
            peer.qp.send(peer.confirm_link())
            peer.confirmed()
            expect(peer.hear(len(HELLO)) == HELLO.encode(), "the client's words did not come")
            yield peer
        finally:
            peer.finish()

    def connect_s(self) -> float:
        """The time of a connect() between programs of the target."""
        self.order({"connects": 15})
        return self.answer()["median_s"]

    @contextmanager
    def counted(self, *names: str):
        """Each of these counters of the target increases meanwhile. (Those of reasons for TCP are not there
        before the first.)"""
        before = self.counters()
        yield
        now = self.counters()
        for name in names:
            expect(now.get(name, 0) > before.get(name, 0), f"{name} did not grow")

    def settled(self) -> None:
        """The target has no connection left, and serves others."""
        self.bystander()
        deadline_s = time.monotonic() + GONE_S
        while (now := self.counters())["conn_new"] != now["conn_free"]:
            expect(time.monotonic() < deadline_s,
                   f"{now['conn_new'] - now['conn_free']} connections stay")
            time.sleep(0.1)


SUITE = Suite()


def ends(peer: Peer, what: str = "the connection") -> None:
    expect(peer.wait(lambda: peer.over, PATIENCE_S), f"{what} goes on")


# --- positive controls ----------------------------------------------------------------------------

@SUITE.case
def honest_client(scene: Scene) -> None:
    with scene.as_client() as peer:
        for count in (1, 1000, 60000, 60000, 65536, 3):
            expect(peer.echoes(count), f"{count} bytes were not echoed")
        peer.qp.send(peer.cdc(state=CLOSED))
        expect(peer.wait(lambda: peer.state & (CLOSED | ABORTED), PATIENCE_S), "no goodbye")


@SUITE.case
def honest_server(scene: Scene) -> None:
    with scene.as_server() as peer:
        peer.say(b"words of a server")
        peer.qp.send(peer.cdc(state=SENDING_DONE | CLOSED))
        answer = scene.outcome()
        expect(bytes.fromhex(answer["received"]) == b"words of a server", f"the client: {answer}")


# --- CDC ------------------------------------------------------------------------------------------

def cursor(wrap: int, count: int) -> bytes:
    return struct.pack("!HHI", 0, wrap, count)


@SUITE.variants(at_the_end=(0, 65536), far_outside=(0, 0x7FFFFFFF), all_ones=(0xFFFF, 0xFFFFFFFF),
          beyond_free_space=(1, 200), many_wraps=(7, 0), backward=(0, 50),
          before_zero=(0xFFFF, 65535))
def absurd_producer(scene: Scene, value: tuple[int, int]) -> None:
    with scene.as_client() as peer, scene.counted("wire_violation", "cdc_bad_cursor"):
        peer.qp.send(peer.cdc(producer=cursor(*value)))
        ends(peer)
    scene.settled()


@SUITE.variants(outside=(0, 65536), far_outside=(3, 0xFFFFFFFF), beyond_sent=(0, 101), next_wrap=(1, 100),
          before_zero=(0xFFFF, 65535))
def absurd_consumer(scene: Scene, value: tuple[int, int]) -> None:
    with scene.as_client() as peer, scene.counted("wire_violation", "cdc_bad_cursor"):
        peer.qp.send(peer.cdc(consumer=cursor(*value)))
        ends(peer)
    scene.settled()


@SUITE.case
def consumer_goes_back(scene: Scene) -> None:
    with scene.as_client() as peer, scene.counted("wire_violation", "cdc_bad_cursor"):
        expect(peer.echoes(), "no echo")
        peer.qp.send(peer.cdc())
        peer.qp.send(peer.cdc(consumer=cursor(0, 3)))
        ends(peer)
    scene.settled()


@SUITE.case
def data_behind_the_end(scene: Scene) -> None:
    """A program that has seen the end would never read this data."""
    with scene.as_client() as peer, scene.counted("wire_violation", "cdc_bad_cursor"):
        expect(peer.echoes(), "no echo")
        peer.qp.send(peer.cdc(state=SENDING_DONE))
        peer.say(b"behind", state=SENDING_DONE)
        expect(peer.wait(lambda: peer.state & ABORTED, PATIENCE_S), "no reset")
    scene.settled()


@SUITE.variants(zero=0, ones=0xFFFFFFFF, own=None)
def wrong_token(scene: Scene, token: int | None) -> None:
    """The token belongs to no connection: counted and ignored."""
    with scene.as_client() as peer:
        with scene.counted("wire_violation", "cdc_bad_token"):
            wrong = peer.token if token is None else token
            peer.qp.send(peer.cdc(producer=cursor(5, 5), token=wrong, sequence=9))
            expect(peer.echoes(), "the connection was harmed")
    scene.settled()


@SUITE.case
def guessed_tokens(scene: Scene) -> None:
    """Tokens close to a known one belong to no connection of ours. That of one that has just ended would
    look like them: what is a farewell is no violation."""
    with scene.as_client() as peer:
        guesses = [peer.peer_token ^ 1 << bit for bit in range(32)]
        violations = scene.counters()["wire_violation"]
        with scene.counted("cdc_bad_token"):
            for guess in guesses:
                peer.qp.send(peer.cdc(state=ABORTED, token=guess, sequence=9))
            expect(peer.echoes(), "the connection was harmed")
        expect(scene.counters()["wire_violation"] == violations, "a farewell is a violation")
        scene.bystander()
    scene.settled()


@SUITE.variants(one=CDC.to_bytes(1, "big"), short=bytes((CDC, MESSAGE_BYTES)) + bytes(23),
          long=bytes((CDC, MESSAGE_BYTES)) + bytes(3000 - 2),
          length_zero=bytes((CDC, 0)) + bytes(42), length_wrong=bytes((CDC, 45)) + bytes(42))
def malformed_cdc(scene: Scene, message: bytes) -> None:
    with scene.as_client() as peer:
        with scene.counted("wire_violation"):
            peer.qp.send(message)
            peer.flush()
            peer.echoes()
    scene.settled()


@SUITE.case
def stale_sequence(scene: Scene) -> None:
    """A CDC message with an old sequence number changes nothing."""
    with scene.as_client() as peer:
        for _ in range(4):
            expect(peer.echoes(), "no echo")
        for old in (0, 1, 2, (peer.sequence - 32000) & 0xFFFF):
            peer.qp.send(peer.cdc(producer=cursor(0, 9), state=ABORTED, sequence=old))
        expect(peer.echoes(), "an old message was believed")
    scene.settled()


@SUITE.case
def all_flags(scene: Scene) -> None:
    """With every value of the two flag bytes the connection works or ends in time."""
    chance = random.Random(scene.args.seed)
    some = [(flags, state) for flags in (0, WRITE_BLOCKED, URGENT_PENDING, URGENT_PRESENT,
                                         UPDATE_REQUEST, VALIDATION, 0x07, 0xFF)
            for state in (0, SENDING_DONE, CLOSED, ABORTED, 0x1F, 0xFF)]
    for flags, state in chance.sample(some, min(len(some), scene.args.sessions)):
        with scene.as_client() as peer:
            peer.say(b"flagged", flags=flags, state=state)
            peer.qp.send(peer.cdc(flags=flags ^ 0xFF, state=state))
            peer.flush()
            peer.qp.send(peer.cdc(flags=state, state=flags))
            peer.flush()
    scene.settled()


@SUITE.case
def urgent_without_data(scene: Scene) -> None:
    with scene.as_client() as peer:
        for _ in range(5):
            peer.qp.send(peer.cdc(flags=URGENT_PENDING | URGENT_PRESENT))
        peer.flush()
        peer.wait(lambda: peer.over, 1)
    scene.settled()


@SUITE.case
def cdc_flood(scene: Scene) -> None:
    """Cursor updates are requested over and over; the other side limits its answers."""
    with scene.as_client() as peer:
        for _ in range(600):
            peer.qp.send(peer.cdc(flags=UPDATE_REQUEST))
        expect(peer.flush(FLOOD_S), "not acknowledged")
        scene.bystander()
        expect(peer.echoes(), "the connection was harmed")
    scene.settled()


@SUITE.case
def cdc_before_confirm(scene: Scene) -> None:
    """CDC data before CONFIRM_LINK: no crash, and the connection ends in time."""
    with scene.unconfirmed() as peer:
        peer.say(b"too early")
        peer.qp.send(peer.confirm_link(RESPONSE | NO_EYECATCHERS))
        peer.wait(lambda: peer.over or peer.announced == 9, PATIENCE_S)
        expect(peer.over or peer.hear(9) == b"too early", "neither echoed nor ended")
    scene.settled()


# --- compact messages -----------------------------------------------------------------------------

@SUITE.case
def honest_compact_client(scene: Scene) -> None:
    """Both forms, and writes that go round the ring, at both ends."""
    with scene.counted("compact_rx", "compact_tx", "cdc_rx"), scene.as_client(compact=True) as peer:
        for count in (1, 1000, 60000, 60000, 3, 65536, 3):
            expect(peer.echoes(count), f"{count} bytes were not echoed")
        expect(peer.compact_heard > 1, "no compact message came back")
        peer.qp.send(peer.cdc())
        expect(peer.echoes(), "not behind a message of the long form")
        peer.qp.send(peer.cdc(state=CLOSED))
        expect(peer.wait(lambda: peer.state & (CLOSED | ABORTED), PATIENCE_S), "no goodbye")
    scene.settled()


@SUITE.case
def compact_not_agreed(scene: Scene) -> None:
    with scene.as_client() as peer:
        with scene.counted("wire_violation", "cdc_malformed"):
            peer.qp.write_immediate(peer.peer_rkey, peer.peer_address, b"x" * 10,
                                    peer.immediate(1))
            expect(peer.echoes(), "the connection was harmed")
        expect(not peer.compact_heard, "a compact message that nobody asked for")
    scene.settled()


@SUITE.variants(one_too_many=(201, WRAPPED), far_too_many=(65536, WRAPPED),
          nothing_but_a_wrap=(0, WRAPPED | 201), consumed_too_much=(1, 201),
          consumed_far_too_much=(1, CONSUMED_MAX))
def absurd_compact(scene: Scene, value: tuple[int, int]) -> None:
    length, bits = value
    with scene.as_client(compact=True) as peer, scene.counted("wire_violation", "cdc_bad_cursor"):
        # 200 bytes in each direction so far.
        peer.say(bytes(100))
        peer.hear(100)
        peer.qp.write_immediate(peer.peer_rkey, peer.peer_address, bytes(length),
                                peer.immediate(0) | bits)
        ends(peer)
    scene.settled()


@SUITE.case
def compact_for_nobody(scene: Scene) -> None:
    """Slots without a connection: counted and ignored."""
    with scene.as_client(compact=True) as peer:
        own = peer.peer_token & 0xFF
        with scene.counted("wire_violation", "cdc_bad_token"):
            for slot in range(0, 256, 5):
                if slot != own:
                    peer.qp.write_immediate(peer.peer_rkey, peer.peer_address, b"",
                                            peer.immediate(CONSUMED_MAX, slot))
            expect(peer.echoes(), "the connection was harmed")
        scene.bystander()
    scene.settled()


@SUITE.case
def compact_before_confirm(scene: Scene) -> None:
    """It says how far it goes, not where to: nobody can tell before the connection has begun."""
    with scene.unconfirmed(compact=True) as peer:
        peer.qp.write_immediate(peer.peer_rkey, peer.peer_address, b"too early", peer.immediate(0))
        peer.qp.send(peer.confirm_link(RESPONSE | NO_EYECATCHERS))
        peer.wait(lambda: peer.over or len(peer.tcp.received) > 0 or peer.announced == 9,
                  PATIENCE_S)
        expect(peer.over or len(peer.tcp.received) > 0 or peer.hear(9) == b"too early",
               "neither echoed nor ended")
    scene.settled()


@SUITE.case
def compact_at_random(scene: Scene) -> None:
    chance = random.Random(scene.args.seed)
    for number in range(scene.args.sessions):
        with scene.as_client(compact=True) as peer:
            for _ in range(chance.randint(1, 30)):
                length = chance.choice((0, 1, 100, 5000, chance.randrange(65536)))
                bits = chance.choice((0, 0, WRAPPED, chance.getrandbits(24)))
                slot = None if chance.randrange(4) else chance.randrange(256)
                peer.qp.write_immediate(peer.peer_rkey, peer.peer_address, bytes(length),
                                        peer.immediate(bits, slot))
            expect(peer.flush(GONE_S) or peer.over, f"session {number} hangs")
    scene.settled()


# --- RDMA -----------------------------------------------------------------------------------------

@SUITE.variants(behind=lambda peer: (peer.peer_rkey, peer.peer_address + peer.peer_size),
          before=lambda peer: (peer.peer_rkey, peer.peer_address - 4096),
          nobodys_key=lambda peer: (peer.peer_rkey ^ 0xFF00, peer.peer_address))
def writes_outside(scene: Scene, where: Callable[[Peer], tuple[int, int]]) -> None:
    """The adapter refuses the write; link and connection end."""
    with scene.as_client() as peer:
        rkey, address = where(peer)
        peer.qp.write(rkey, address, b"x" * 64)
        expect(peer.wait(lambda: peer.qp.refused is not None, PATIENCE_S), "it was written")
    scene.settled()


@SUITE.case
def oversized_send(scene: Scene) -> None:
    with scene.as_client() as peer:
        peer.qp.send(bytes(9000))
        peer.wait(lambda: peer.over, 2)
    scene.settled()


@SUITE.case
def falls_silent(scene: Scene) -> None:
    """Acknowledgements stop while the other side sends: the link fails in time."""
    with scene.as_client() as peer:
        peer.say(b"last words")
        peer.qp.silent = True
        expect(peer.wait(lambda: peer.tcp.ended, GONE_S), "nobody noticed")
    scene.settled()


# --- LLC ------------------------------------------------------------------------------------------

MALFORMED_LLC = {
    "one_byte": bytes((TEST_LINK,)),
    "short": llc(TEST_LINK)[:43],
    "length_zero": bytes((TEST_LINK, 0, 0, 0)) + bytes(40),
    "length_huge": bytes((TEST_LINK, 0xFF, 0xFF, 0)) + bytes(40),
    "version_one": bytes((0x07, MESSAGE_BYTES, 0, 0)) + bytes(40),
    "add_link_without_extension": llc(ADD_LINK, 0, bytes(27) + b"\x02\x03"),
    "rkeys_beyond_the_end": llc(DELETE_RKEY, 0, b"\xff"),
    "add_link_without_keys": llc(ADD_LINK, 0, bytes(40) + bytes(26) + b"\xff\xff", 72),
    "gids_beyond_the_end": llc(REQ_ADD_LINK, 0, bytes(20) + b"\xff"),
}
UNEXPECTED_LLC = {
    "test_link_response": llc(TEST_LINK, RESPONSE, b"\x77" * 16),
    "confirm_rkey_response": llc(CONFIRM_RKEY, RESPONSE, bytes(13)),
    "confirm_rkey_refusal": llc(CONFIRM_RKEY, RESPONSE | NEGATIVE, b"\xff" * 40),
    "delete_rkey_response": llc(DELETE_RKEY, RESPONSE, b"\x01"),
    "add_link_response": llc(ADD_LINK, RESPONSE, bytes(40)),
    "add_link_cont": llc(ADD_LINK_CONT, 0, b"\x01\x02"),
    "req_add_link_response": llc(REQ_ADD_LINK, RESPONSE),
    "confirm_link_again": llc(CONFIRM_LINK, NO_EYECATCHERS, bytes(25) + b"\x01"),
    "confirm_link_response_again": llc(CONFIRM_LINK, RESPONSE | NO_EYECATCHERS,
                                       bytes(25) + b"\x01"),
}
HARMLESS_LLC = {
    "unknown_types": b"",
    "confirm_rkey_cont": llc(CONFIRM_RKEY_CONT, 0, b"\x09"),
    "delete_unknown_rkeys": llc(DELETE_RKEY, 0, b"\x03\0\0\0" + b"\xAA" * 12),
    "add_link": llc(ADD_LINK, 0, bytes(27) + b"\x02\x03", 72),
    "req_add_link": llc(REQ_ADD_LINK, 0, bytes(20) + b"\x01\0\0\0" + bytes(16)),
    "delete_unknown_link": llc(DELETE_LINK, 0, struct.pack("!BI", 77, 0x00010000)),
}


@SUITE.variants(**MALFORMED_LLC, **UNEXPECTED_LLC)
def wrong_llc(scene: Scene, message: bytes) -> None:
    """Counted; after some repetitions the group ends."""
    with scene.as_client() as peer, scene.counted("llc_rx"):
        peer.qp.send(message)
        if peer.echoes():
            for _ in range(3 * VIOLATIONS_MAX):
                peer.qp.send(message)
            peer.flush()
            peer.wait(lambda: peer.over, 1)
        expect(peer.over or peer.echoes(), "neither ended nor served")
    scene.settled()


@SUITE.case
def violations_are_counted(scene: Scene) -> None:
    with scene.as_client() as peer:
        with scene.counted("wire_violation", "llc_malformed", "llc_unexpected"):
            for message in (*MALFORMED_LLC.values(), *UNEXPECTED_LLC.values()):
                peer.qp.send(message)
            peer.flush()
            for message in (*MALFORMED_LLC.values(), *UNEXPECTED_LLC.values()):
                peer.qp.send(message)
            ends(peer, "the link group")
    scene.settled()


@SUITE.variants(**HARMLESS_LLC)
def odd_llc(scene: Scene, message: bytes) -> None:
    """Answered or ignored; the connection stays."""
    messages = [message] * 20
    if not message:
        messages = [llc(kind) for kind in (0x20, 0x2A, 0x2F, 0x41, 0xF1, 0x28)]
    with scene.as_client() as peer:
        for one in messages:
            peer.qp.send(one)
        expect(peer.flush(), "not acknowledged")
        expect(peer.echoes(), "the connection was harmed")
    scene.settled()


@SUITE.case
def answers_come(scene: Scene) -> None:
    """TEST_LINK is answered, REQ_ADD_LINK refused; an unknown rkey gets a negative answer."""
    with scene.as_client() as peer:
        peer.qp.send(llc(TEST_LINK, 0, b"sixteen bytes of"))
        peer.qp.send(llc(REQ_ADD_LINK, 0, bytes(20) + b"\x01\0\0\0" + bytes(16)))
        peer.qp.send(llc(DELETE_RKEY, 0, b"\x01\0\0\0" + b"\xAA" * 4))
        for kind in (TEST_LINK, REQ_ADD_LINK, DELETE_RKEY):
            expect(peer.wait(lambda: peer.has(kind, response=True), PATIENCE_S),
                   f"no answer to {kind:#x}")
        by_kind = {message[0]: message for message in peer.llc_received}
        expect(by_kind[TEST_LINK][4:20] == b"sixteen bytes of", "another echo")
        expect(by_kind[DELETE_RKEY][3] == RESPONSE | NEGATIVE, "an unknown key was deleted")
    scene.settled()


@SUITE.variants(test_link=lambda _: llc(TEST_LINK, 0, os.urandom(16)),
          confirm_rkey=lambda i: llc(CONFIRM_RKEY, 0, struct.pack("!BIQ", 0, 0x1000 + i, i << 16)),
          delete_rkey=lambda i: llc(DELETE_RKEY, 0, struct.pack("!BxxxI", 1, 0x999 + i)))
def flood(scene: Scene, make: Callable[[int], bytes]) -> None:
    """More rkeys than a table holds: no memory is allocated for them, and others are not
    delayed."""
    with scene.as_client() as peer:
        usual_s = scene.connect_s()
        # What else the machine does may delay one of them.
        times_s = []
        for first in range(0, 600, 200):
            for i in range(first, first + 200):
                peer.qp.send(make(i))
            times_s.append(scene.connect_s())
        flooded_s = min(times_s)
        expect(flooded_s <= 2 * usual_s + NOISE_S,
               f"connect() takes {flooded_s:.3f} s instead of {usual_s:.3f} s")
        scene.bystander()
        expect(peer.flush(FLOOD_S), "not acknowledged")
        expect(peer.over or peer.echoes(), "neither ended nor served")
    scene.settled()


@SUITE.case
def own_rkey_is_deleted(scene: Scene) -> None:
    """The rkey that the other side writes with is deleted while the connection is open."""
    with scene.as_client() as peer:
        peer.qp.send(llc(DELETE_RKEY, 0, struct.pack("!BxxxI", 1, peer.rkey)))
        peer.flush()
        peer.say(b"answer me")
        ends(peer)
    scene.settled()


@SUITE.variants(all=ALL, one=0)
def link_is_deleted(scene: Scene, flags: int) -> None:
    with scene.as_client() as peer:
        peer.qp.send(llc(DELETE_LINK, flags, struct.pack("!BI", 0 if flags else 1, 0x00040000)))
        ends(peer, "the link group")
    scene.settled()


@SUITE.case
def link_is_never_confirmed(scene: Scene) -> None:
    with scene.unconfirmed() as peer:
        scene.bystander()
        # Only the link has failed: TCP goes on.
        expect(peer.wait(lambda: len(peer.tcp.received) > 0, PATIENCE_S), "no Decline")
    scene.settled()


@SUITE.case
def link_is_confirmed_wrongly(scene: Scene) -> None:
    """The answer to CONFIRM_LINK names another link, another link number, or RMBE eyecatchers: TCP,
    or no connection."""
    for number in range(3):
        with scene.unconfirmed() as peer:
            good = bytearray(peer.confirm_link(RESPONSE | NO_EYECATCHERS))
            if number == 0:
                good[29] = 0
            elif number == 1:
                good[29] = 99
            else:
                good[3] = RESPONSE
            peer.qp.send(bytes(good))
            expect(peer.wait(lambda: peer.over or len(peer.tcp.received) > 0, PATIENCE_S),
                   "it waits without an end")
    scene.settled()


# --- TCP under SMC-R ------------------------------------------------------------------------------

@SUITE.case
def tcp_is_reset(scene: Scene) -> None:
    """Noticed at once, not by the next send()."""
    with scene.as_client() as peer, scene.counted("tcp_died"):
        peer.tcp.reset()
        expect(peer.wait(lambda: peer.state & (CLOSED | ABORTED), 3), "not noticed within 3 s")
    scene.settled()


@SUITE.case
def tcp_ends_before_the_data(scene: Scene) -> None:
    """A FIN does not mean that no more data comes by RDMA."""
    with scene.as_client() as peer:
        peer.tcp.fin()
        peer.say(b"after the FIN")
        expect(peer.hear(13) == b"after the FIN", "data was cut short")
    scene.settled()


# --- a hostile server -----------------------------------------------------------------------------

@SUITE.variants(producer=lambda peer: peer.cdc(producer=cursor(9, 9)),
          consumer=lambda peer: peer.cdc(consumer=cursor(9, 9)),
          abort=lambda peer: peer.cdc(state=ABORTED),
          delete_all=lambda _: llc(DELETE_LINK, ALL, struct.pack("!BI", 0, 0x00040000)))
def server_ends_it(scene: Scene, make: Callable[[Peer], bytes]) -> None:
    """The client's recv() ends with an error, soon."""
    with scene.as_server() as peer:
        peer.qp.send(make(peer))
        answer = scene.outcome()
        expect(answer["error"] != 0, f"no error at the client: {answer}")
    scene.settled()


@SUITE.variants(add_link=llc(ADD_LINK, 0, bytes(27) + b"\x02\x03", 72),
          add_link_with_key=llc(ADD_LINK, 0, bytes(27) + b"\x02\x03" + bytes(37) + b"\x01\0", 88),
          req_add_link=llc(REQ_ADD_LINK, 0, bytes(20) + b"\x01"),
          delete_unknown_link=llc(DELETE_LINK, 0, struct.pack("!BI", 77, 0x00010000)))
def server_asks(scene: Scene, message: bytes) -> None:
    with scene.as_server() as peer:
        peer.qp.send(message)
        peer.say(b"words of a server")
        peer.qp.send(peer.cdc(state=SENDING_DONE | CLOSED))
        answer = scene.outcome()
        expect(bytes.fromhex(answer["received"]) == b"words of a server", f"the client: {answer}")
        if message[0] == ADD_LINK:
            expect(peer.wait(lambda: peer.has(ADD_LINK, response=True), PATIENCE_S),
                   "ADD_LINK was not answered")
            replies = [m for m in peer.llc_received if m[0] == ADD_LINK]
            expect(len(replies) == 1 and replies[0][3] & 0xC0 == 0xC0, "ADD_LINK was not rejected")
    scene.settled()


# --- generated ------------------------------------------------------------------------------------

def random_message(chance: random.Random, peer: Peer) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.choice((1, 4, 26, 43, 44, 45, 72, 200, 1024)))
    if kind == 1:
        known = (*MALFORMED_LLC.values(), *UNEXPECTED_LLC.values(), *HARMLESS_LLC.values())
        return chance.choice([message for message in known if message])
    if kind == 2:
        return llc(chance.randrange(0x20, 0x30), chance.choice((0, RESPONSE, 0xFF, 0x40, 0x20)),
                   chance.randbytes(40))
    if kind == 3:
        return peer.cdc()
    message = bytearray(peer.cdc())
    for _ in range(chance.randint(1, 3)):
        at = chance.choice((1, 2, 3, 4, 7, 11, 12, 15, 19, 23, 24, 25, chance.randrange(44)))
        message[at] = chance.choice((0, 1, 0xFF, chance.randrange(256)))
    return bytes(message)


@SUITE.case
def generated_sessions(scene: Scene) -> None:
    chance = random.Random(scene.args.seed)
    print(f"# seed {scene.args.seed}", flush=True)
    for number in range(scene.args.sessions):
        with scene.as_client() as peer:
            for _ in range(chance.randint(1, 30)):
                peer.qp.send(random_message(chance, peer))
            expect(peer.flush(GONE_S) or peer.over, f"session {number} hangs")
    scene.settled()


def main() -> int:
    arguments = parser(__doc__, 7300)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--sessions", type=int, default=16)
    return SUITE.main(Scene, arguments.parse_args())


if __name__ == "__main__":
    sys.exit(main())
