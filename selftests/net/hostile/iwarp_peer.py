#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A peer that offers iWARP in CLC, and then does not meet the other side's connection manager as it
should, in both roles. TAP on stdout.

    iwarp_peer.py --interface eth0 --address 10.9.0.69 --target 10.9.0.1 --eid EID [--only REGEX]

At the target runs smc_target.py; both hosts have an iWARP device. Whatever is done, the target goes on by
TCP, or ends that connection where TCP would, in the time that the handshake has; it keeps nothing of it, and
the next connection meets its peer.
"""

import argparse
import errno
import json
import socket
import struct
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import Callable

import clc
import raw_ip
import rdma_peer
from clc_peer import AT_ONCE_MS_MAX, BYSTANDER_S_MAX, HELLO, PATIENCE_S, SILENCE_MS_MAX, tell
from raw_iwarp import READS, Fabric, Peer, good_reply
from raw_mpa import ENHANCED, MARKERS, REJECT, REPLY, REQUEST, frame, hello
from raw_smc import CLOSED, CONFIRM_LINK, IWARP, NO_EYECATCHERS, RESPONSE, SENDING_DONE
from raw_tcp import Connection
from rdma_peer import GONE_S
from smc_target import smc_listener
from suite import Suite, expect, parser

WORDS = b"words of a server"
ECHOED = b"words of a client"
# Why a side declines.
PEER_DECLINED, NO_CONFIRM_LINK, NO_ROUTE = 0x05000000, 0x02010000, 0x030E0000
NOT_READY, NO_BUFFER = 0x09990002, 0x09990003
# What the handshake gives a connection manager, less what it may take until a clock is read.
LIMIT_MS = 2500
LIMIT_MS_LEAST = 2300
# A client waits for CONFIRM_LINK, and for a Decline, from its Confirm on.
DECLINE_MS, DECLINE_MS_MAX = 9000, 11500
CROWD = 24
# More than a workqueue of the module's runs at the same time on a processor.
SILENT = 24


class Scene(rdma_peer.Scene):
    fabric_kind, peer_kind = Fabric, Peer

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.own = self._control.getsockname()[0]
        self.family = raw_ip.family(args.address)
        self._counting = self._controlled()
        self._honest = smc_listener(0, 8, family=self.family)
        threading.Thread(target=self._serve, daemon=True).start()

    def _controlled(self):
        """The target's programs, apart from the client that order() and answer() are for."""
        return socket.create_connection((self.args.target, self.args.control_port)).makefile("rw")

    def counters(self) -> dict[str, int]:
        """Also while the target's client is busy."""
        tell(self._counting, {"counters": True})
        return json.loads(self._counting.readline())

    def peer(self, tcp: Connection) -> Peer:
        """From here on is counted, for grew()."""
        self._begin = self.counters()
        return super().peer(tcp)

    def grew(self, *names: str) -> None:
        now = self.counters()
        for name in names:
            expect(now.get(name, 0) > self._begin.get(name, 0), f"{name} did not grow")

    # --- IPv4 or IPv6, as the addresses that the peer was given ---------------------------------------

    def either(self, ip4: str, ip6: str) -> str:
        return ip6 if self.family == socket.AF_INET6 else ip4

    def plain_listener(self, port: int) -> socket.socket:
        return socket.create_server(("", port), family=self.family)

    # --- those that keep to the rules -------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            connection, _ = self._honest.accept()
            with connection:
                if connection.recv(len(HELLO), socket.MSG_WAITALL) == HELLO.encode():
                    connection.sendall(WORDS)

    def others(self) -> None:
        """This host's kernel and the target's, in both roles, by the link that they have or a new one."""
        with self.counted("smcr_server_v2"):
            self.bystander()
        with self.counted("smcr_client_v2"):
            self.order({"address": self.own, "port": self._honest.getsockname()[1], "say": HELLO,
                        "timeout_s": 5})
            answer = self.outcome()
        expect(bytes.fromhex(answer["received"]) == WORDS, f"to another server: {answer}")

    def new_link(self) -> None:
        """From the target to a peer without a link so far."""
        with self.counted("smcr_client_v2"), self.as_server() as peer:
            peer.say(WORDS)
            peer.qp.send(peer.cdc(state=SENDING_DONE | CLOSED))
            answer = self.outcome()
            expect(bytes.fromhex(answer["received"]) == WORDS, f"to a new peer: {answer}")

    def standing(self) -> dict[str, int]:
        now = self.counters()
        return {what: now[f"{what}_new"] - now[f"{what}_free"] for what in ("conn", "group", "qp")}

    @contextmanager
    def nothing_stays(self):
        """Of what is done meanwhile; and others are served as before."""
        self.others()
        before = self._settle(lambda now: not now["conn"])
        yield
        self.new_link()
        self.others()
        self._settle(lambda now: now == before)

    def _settle(self, enough: Callable[[dict], bool]) -> dict[str, int]:
        deadline_s = time.monotonic() + GONE_S
        while not enough(now := self.standing()):
            expect(time.monotonic() < deadline_s, f"{now} stay")
            time.sleep(0.1)
        return now

    # --- we are the server ------------------------------------------------------------------------

    @contextmanager
    def serving(self, **how: int):
        """The target's client has offered iWARP."""
        peer = self.peer(self.called(**how))
        offered = self.proposal[52:60]
        expect(offered[:4] == clc.vendor_offer(IWARP)[:4] and offered[5] & IWARP,
               f"no offer of iWARP: {self.proposal.hex()}")
        try:
            yield peer
        finally:
            peer.finish()

    @contextmanager
    def meeting(self):
        """It has connected, and shown the key."""
        with self.serving() as peer:
            peer.accept()
            peer.be_met()
            yield peer

    @contextmanager
    def met(self):
        """It has been taken, has sent its Confirm, and expects CONFIRM_LINK."""
        with self.meeting() as peer:
            peer.reply()
            peer.take_confirm()
            yield peer

    @contextmanager
    def silent_to(self, count: int):
        """So many clients of the target's have connected, and get no reply."""
        peers = []
        controls = [self._controlled() for _ in range(count)]
        try:
            for control in controls:
                peers.append(self.peer(self.called(order=partial(tell, control), timeout_s=1)))
                peers[-1].accept()
                peers[-1].be_met()
            yield peers
            for control in controls:
                answer = json.loads(control.readline())
                expect(answer["error"] == 0, f"errno {answer['error']} at a client")
        finally:
            for peer in peers:
                peer.finish()

    def hears_decline(self, tcp: Connection, *reasons: int) -> int:
        """For one of these reasons; for which."""
        tcp.wait(lambda: clc.message_length(tcp.received) or tcp.ended, PATIENCE_S)
        length = clc.message_length(tcp.received)
        message = bytes(tcp.received[:length])
        expect(length > 0 and message[clc.TYPE_AT] == clc.DECLINE, f"no Decline but {bytes(tcp.received).hex()}")
        said = int.from_bytes(message[clc.DIAGNOSIS_AT:clc.DIAGNOSIS_AT + 4], "big")
        expect(said in reasons, f"declined because of {said:#010x}, not of {[hex(reason) for reason in reasons]}")
        del tcp.received[:length]
        return said

    def goes_on(self, peer: Peer, limits_ms: tuple[int, int], reason: int = NOT_READY,
                declined: bool = True) -> None:
        """By TCP, on the same connection. declined: it says so; else we have said it."""
        if declined:
            self.hears_decline(peer.tcp, reason)
        answer = self.served(peer.tcp, WORDS, limits_ms[1])
        self.grew("client_fallback", f"client_fallback_{reason:#010x}")
        expect(answer["connect_ms"] >= limits_ms[0], f"after {answer['connect_ms']} ms already")
        expect(peer.hung_up(), "the connection manager's connection stays")

    def comes_again(self, peer: Peer, limit_ms: int) -> None:
        """By TCP, with another connection."""
        self.served(self.called_again(peer.tcp), WORDS, limit_ms)
        self.grew("connected_again")
        expect(peer.hung_up(), "the connection manager's connection stays")

    # --- we are the client ------------------------------------------------------------------------

    @contextmanager
    def accepted(self):
        """The target's server has sent its Accept, and expects a client."""
        peer = self.peer(self.client())
        try:
            peer.offer()
            yield peer
        finally:
            peer.finish()

    def declines(self, peer: Peer, *reasons: int) -> float:
        """It goes on by TCP; after how many seconds it says so."""
        start_s = time.monotonic()
        reason = self.hears_decline(peer.tcp, *(reasons or (NOT_READY,)))
        took_s = time.monotonic() - start_s
        self.serves(peer)
        self.grew("server_fallback", f"server_fallback_{reason:#010x}")
        return took_s

    def serves(self, peer: Peer) -> None:
        peer.tcp.send(ECHOED)
        self.echoed(peer.tcp, ECHOED)
        expect(peer.hung_up(), "the connection manager's connection stays")


SUITE = Suite()
AT_ONCE_MS = 0, AT_ONCE_MS_MAX
IN_TIME_MS = LIMIT_MS_LEAST, SILENCE_MS_MAX


# --- positive controls ----------------------------------------------------------------------------

@SUITE.case
def honest_client(scene: Scene) -> None:
    with scene.nothing_stays(), scene.counted("smcr_server_v2"), scene.as_client() as peer:
        for count in (1, 1000, 60000, 60000):
            expect(peer.echoes(count), f"{count} bytes were not echoed")


@SUITE.variants(as_usual=b"", with_private_data=hello(version=9) + bytes(200))
def server_is_honest(scene: Scene, private: bytes) -> None:
    """It may say in its reply what it likes."""
    with scene.nothing_stays(), scene.meeting() as peer, scene.counted("smcr_client_v2"):
        peer.reply(private)
        peer.take_confirm()
        peer.qp.send(peer.confirm_link())
        peer.confirmed()
        expect(peer.hear(len(HELLO)) == HELLO.encode(), "the client's words did not come")


# --- a hostile server -----------------------------------------------------------------------------

# What soft-iWARP 6.12 stumbles over itself is left out: a reply in enhanced mode with less than READS in it,
# and one that says a length beyond 512.
@SUITE.variants(
    garbage=b"HTTP/1.0 400 Bad R" + struct.pack(">H", 64) + bytes(64),
    request=frame(REQUEST, READS + hello(), revision=2, flags=ENHANCED),
    no_private_data=frame(REPLY, b"", revision=2, flags=0),
    old_revision=frame(REPLY, hello(), revision=1, flags=0),
    no_revision=frame(REPLY, READS, revision=9, flags=ENHANCED),
    rejects=frame(REPLY, READS, revision=2, flags=ENHANCED | REJECT),
    rejects_with_words=frame(REPLY, READS + hello(), revision=2, flags=ENHANCED | REJECT),
    markers=frame(REPLY, READS, revision=2, flags=ENHANCED | MARKERS),
    reads=frame(REPLY, struct.pack(">HH", 0, 0x3FFF), revision=2, flags=ENHANCED),
    talks_at_once=good_reply() + bytes(64))
def server_replies(scene: Scene, reply: bytes) -> None:
    """To the right key, and the client goes on by TCP at once."""
    with scene.nothing_stays(), scene.meeting() as peer:
        peer.stream.send(reply)
        scene.goes_on(peer, AT_ONCE_MS)


@SUITE.variants(nothing=b"", half_a_reply=good_reply()[:22])
def server_says(scene: Scene, part: bytes) -> None:
    """And no more than that."""
    with scene.nothing_stays(), scene.meeting() as peer:
        peer.stream.send(part)
        scene.goes_on(peer, IN_TIME_MS)


@SUITE.case
def server_is_silent_to_many(scene: Scene) -> None:
    """The ends of their links wait for soft-iWARP; the work of others does not wait with them."""
    with scene.nothing_stays():
        usual = scene.standing()["group"]
        with scene.silent_to(SILENT) as peers:
            for peer in peers:
                scene.hears_decline(peer.tcp, NOT_READY)
                peer.tcp.fin()
            start_s = time.monotonic()
            scene.new_link()
            scene.others()
            took_s = time.monotonic() - start_s
            expect(took_s < BYSTANDER_S_MAX, f"others took {took_s:.1f} s")
            waiting = scene.standing()["group"] - usual
            expect(waiting > SILENT // 2, f"only {waiting} links waited meanwhile")


@SUITE.case
def server_replies_too_late(scene: Scene) -> None:
    with scene.nothing_stays(), scene.meeting() as peer:
        time.sleep((LIMIT_MS + 500) / 1000)
        expect(peer.tcp.received[clc.TYPE_AT:clc.TYPE_AT + 1] == bytes((clc.DECLINE,)), "it waits on")
        peer.reply()
        scene.goes_on(peer, IN_TIME_MS)


@SUITE.variants(ends=lambda stream: stream.fin(), resets=lambda stream: stream.reset(),
                half_a_reply=lambda stream: (stream.send(good_reply()[:22]), stream.fin()))
def server_hangs_up(scene: Scene, how: Callable[[Connection], None]) -> None:
    """Where it was met, with the key or before it has come, which soft-iWARP may miss."""
    for before in True, False:
        with scene.nothing_stays(), scene.serving() as peer:
            peer.accept()
            peer.be_called() if before else peer.be_met()
            how(peer.stream)
            scene.goes_on(peer, (0, SILENCE_MS_MAX if before else AT_ONCE_MS_MAX))


@SUITE.variants(nobody=lambda scene, peer: scene.host.refuse(peer.own_psn),
                zero=lambda _, peer: setattr(peer, "own_psn", 0))
def server_is_not_at_its_port(scene: Scene, spoil: Callable[[Scene, Peer], None]) -> None:
    with scene.nothing_stays(), scene.serving() as peer:
        spoil(scene, peer)
        peer.accept()
        scene.goes_on(peer, (0, SILENCE_MS_MAX))


@SUITE.case
def server_has_no_port_number(scene: Scene) -> None:
    """More than TCP's 16 bits are no port: least of all that of the lower ones."""
    with scene.nothing_stays(), scene.serving() as peer:
        port = peer.own_psn
        scene.host.listen(port)
        peer.own_psn |= 0x10000
        peer.accept()
        scene.goes_on(peer, AT_ONCE_MS)
        try:
            scene.host.accept(port, 0)
        except TimeoutError:
            return
        expect(False, "the client has looked for it")


@SUITE.variants(this_host=lambda scene: scene.own, target=lambda scene: scene.args.target,
                loopback=lambda scene: scene.either("127.0.0.1", "::1"),
                nobody=lambda scene: scene.either("0.0.0.0", "::"),
                everybody=lambda scene: scene.either("255.255.255.255", "ff02::1"))
def server_is_said_to_be_elsewhere(scene: Scene, where: Callable[[Scene], str]) -> None:
    """The client's connection manager does not look for it, neither there nor here."""
    with scene.nothing_stays(), scene.serving() as peer:
        peer.gid = raw_ip.gid_of(where(scene))
        with scene.plain_listener(peer.own_psn) as there:
            there.settimeout(0)
            peer.accept()
            scene.goes_on(peer, AT_ONCE_MS, NO_ROUTE)
            for seek in there.accept, lambda: scene.host.accept(peer.own_psn, 0):
                try:
                    seek()
                except (BlockingIOError, TimeoutError):
                    continue
                expect(False, "the client has looked for it")


@SUITE.variants(
    garbage=lambda peer: peer.stream.send(b"GET / HTTP/1.0\r\n\r\n" * 4),
    to_nobodys_memory=lambda peer: peer.qp.write(peer.peer_rkey ^ 0xFF00, peer.peer_address, b"x" * 64),
    ends=lambda peer: peer.stream.fin(), resets=lambda peer: peer.stream.reset())
def server_spoils_the_link(scene: Scene, spoil: Callable[[Peer], None]) -> None:
    """In place of CONFIRM_LINK. The client leaves it to the server to decline."""
    with scene.nothing_stays(), scene.met() as peer:
        spoil(peer)
        expect(peer.hung_up(), "the link stays")
        peer.tcp.send(clc.decline(2))
        scene.goes_on(peer, AT_ONCE_MS, PEER_DECLINED, declined=False)


@SUITE.case
def server_spoils_the_link_and_is_silent(scene: Scene) -> None:
    with scene.nothing_stays(), scene.met() as peer:
        peer.stream.send(b"\xff" * 64)
        expect(peer.hung_up(), "the link stays")
        scene.comes_again(peer, DECLINE_MS_MAX)


@SUITE.case
def server_does_not_confirm_the_link(scene: Scene) -> None:
    with scene.nothing_stays(), scene.met() as peer:
        time.sleep(1)
        peer.tcp.send(clc.decline(2))
        scene.goes_on(peer, (900, 900 + AT_ONCE_MS_MAX), PEER_DECLINED, declined=False)
    with scene.nothing_stays(), scene.met() as peer:
        start_s = time.monotonic()
        expect(not peer.wait(lambda: peer.tcp.ended or peer.tcp.received, (DECLINE_MS - 500) / 1000), "no patience")
        scene.comes_again(peer, DECLINE_MS_MAX)
        expect(time.monotonic() - start_s < DECLINE_MS_MAX / 1000, "it waits for too long")
        scene.grew("clc_timeout")


@SUITE.variants(nobodys_queue_pair=("number", 0x800777),
                nobodys_address=("gid", bytes(10) + b"\xff\xff" + bytes((10, 9, 0, 2))))
def server_confirms_another_link(scene: Scene, wrong: tuple[str, object]) -> None:
    with scene.nothing_stays(), scene.met() as peer, scene.counted("wire_violation"):
        name, value = wrong
        right = getattr(peer, name)
        setattr(peer, name, value)
        message = peer.confirm_link()
        setattr(peer, name, right)
        peer.qp.send(message)
        expect(peer.flush() and not peer.has(CONFIRM_LINK), "that is taken for this one")
        peer.tcp.send(clc.decline(2))
        scene.goes_on(peer, AT_ONCE_MS, PEER_DECLINED, declined=False)


@SUITE.variants(meeting=lambda scene: scene.meeting(), met=lambda scene: scene.met())
def server_resets_tcp(scene: Scene, until: Callable) -> None:
    """The client comes again, and gets what TCP would give it then."""
    with scene.nothing_stays(), until(scene) as peer:
        peer.tcp.reset()
        scene.comes_again(peer, DECLINE_MS_MAX)
    with scene.nothing_stays(), until(scene) as peer:
        scene.host.refuse(peer.tcp.port)
        peer.tcp.reset()
        answer = scene.outcome()
        expect(answer["error"] == errno.ECONNREFUSED, f"errno {answer['error']} at the client")


# --- a hostile client -----------------------------------------------------------------------------

@SUITE.case
def never_comes(scene: Scene) -> None:
    """With a Confirm, and without one."""
    with scene.nothing_stays():
        with scene.accepted() as peer:
            peer.confirm()
            took_s = scene.declines(peer)
            expect(LIMIT_MS_LEAST <= took_s * 1000 < SILENCE_MS_MAX, f"declined after {took_s} s")
        with scene.accepted() as peer, scene.counted("server_handshake_error"):
            peer.tcp.wait(lambda: peer.tcp.ended, PATIENCE_S)
            expect(peer.tcp.ended, "the server waits for a Confirm for ever")


@SUITE.case
def comes_too_late(scene: Scene) -> None:
    """Others' link keeps the listener there."""
    with scene.nothing_stays(), scene.accepted() as peer:
        peer.confirm()
        scene.declines(peer)
        with scene.counted("iwarp_refused", "wire_violation"):
            said = peer.ask(peer.hello())
        expect(said == "reject", said)
        expect(peer.hung_up(), "the connection manager's connection stays")


@SUITE.variants(nonce=lambda peer: peer.hello(nonce=bytes((peer.nonce[0] ^ 1,)) + peer.nonce[1:]),
                queue_pair=lambda peer: peer.hello(server=peer.qp.peer_number + 1),
                version=lambda peer: hello(version=2, nonce=peer.nonce, server=peer.qp.peer_number),
                short=lambda peer: peer.hello()[:-1], none=lambda _: b"")
def shows_a_wrong(scene: Scene, key: Callable[[Peer], bytes]) -> None:
    """And is refused. Whoever shows the right one then is not."""
    with scene.nothing_stays(), scene.accepted() as peer:
        with scene.counted("iwarp_refused", "wire_violation"):
            said = peer.ask(key(peer))
        expect(said == "reject", said)
        peer.meet()
        peer.confirm()
        peer.confirmed()
        expect(peer.echoes(), "the connection does not work")


@SUITE.case
def comes_twice(scene: Scene) -> None:
    """The key is good for one, before and after the link stands."""
    with scene.nothing_stays(), scene.accepted() as peer:
        peer.meet()
        for stands in False, True:
            with scene.counted("iwarp_refused", "wire_violation"):
                said = peer.ask(peer.hello())
            expect(said == "reject", said)
            if not stands:
                peer.confirm()
                peer.confirmed()
            expect(peer.echoes(), "the connection does not work")


@SUITE.case
def comes_for_another(scene: Scene) -> None:
    """The queue pair that is shown is not the Confirm's, whichever comes first."""
    for first in True, False:
        with scene.nothing_stays(), scene.accepted() as peer, scene.counted("iwarp_refused", "wire_violation"):
            if first:
                peer.confirm()
            said = peer.ask(peer.hello(client=peer.number ^ 1))
            expect(said == "accept", said)
            if not first:
                peer.confirm()
            took_s = scene.declines(peer)
            expect(took_s * 1000 < AT_ONCE_MS_MAX, f"declined after {took_s} s")


@SUITE.variants(garbage=lambda peer: peer.stream.send(b"GET / HTTP/1.0\r\n\r\n" * 4),
                to_nobodys_memory=lambda peer: peer.qp.write(peer.peer_rkey ^ 0xFF00, peer.peer_address, b"x"),
                ends=lambda peer: peer.stream.fin(), resets=lambda peer: peer.stream.reset())
def spoils_the_link(scene: Scene, spoil: Callable[[Peer], None]) -> None:
    """Before its Confirm, before it answers CONFIRM_LINK, and later."""
    with scene.nothing_stays():
        with scene.accepted() as peer:
            peer.meet()
            spoil(peer)
            expect(peer.hung_up(), "the link stays")
            peer.confirm()
            # The server may be at its RMB already.
            scene.declines(peer, NOT_READY, NO_BUFFER)
        with scene.unconfirmed() as peer:
            spoil(peer)
            expect(peer.hung_up(), "the link stays")
            scene.declines(peer, NO_CONFIRM_LINK)
        with scene.as_client() as peer:
            spoil(peer)
            expect(peer.hung_up() and peer.tcp.wait(lambda: peer.tcp.ended, PATIENCE_S), "the connection stays")


@SUITE.case
def comes_and_is_silent(scene: Scene) -> None:
    """It does not answer CONFIRM_LINK; or it has sent no Confirm."""
    with scene.nothing_stays():
        with scene.unconfirmed() as peer:
            scene.declines(peer, NO_CONFIRM_LINK)
        with scene.accepted() as peer, scene.counted("server_handshake_error"):
            peer.meet()
            peer.tcp.wait(lambda: peer.tcp.ended, PATIENCE_S)
            expect(peer.tcp.ended, "the server waits for a Confirm for ever")
            expect(peer.hung_up(), "the link stays")


@SUITE.variants(unknown_link=lambda message: message[:29] + b"\0" + message[30:],
                another_link=lambda message: message[:29] + b"\x63" + message[30:],
                eyecatchers=lambda message: message[:3] + bytes((RESPONSE,)) + message[4:])
def confirms_the_link_wrongly(scene: Scene, spoil: Callable[[bytes], bytes]) -> None:
    with scene.nothing_stays(), scene.unconfirmed() as peer:
        peer.qp.send(spoil(peer.confirm_link(RESPONSE | NO_EYECATCHERS)))
        peer.tcp.wait(lambda: peer.tcp.received or peer.over, PATIENCE_S)
        expect(peer.hung_up(), "the link stays")


@SUITE.variants(before=lambda _: None, while_it_calls=lambda peer: peer.call(),
                when_it_has_met=lambda peer: peer.meet())
def declines_meanwhile(scene: Scene, until: Callable[[Peer], None]) -> None:
    with scene.nothing_stays(), scene.accepted() as peer, scene.counted("server_fallback"):
        until(peer)
        peer.tcp.send(clc.decline(2))
        scene.serves(peer)


@SUITE.variants(target=lambda scene: scene.args.target, other=lambda scene: scene.own,
                loopback=lambda scene: scene.either("127.0.0.1", "::1"),
                nobody=lambda scene: scene.either("10.9.0.99", "fd09::99"))
def is_said_to_be_elsewhere(scene: Scene, where: Callable[[Scene], str]) -> None:
    """No link is made for such a Proposal; nor by such a Confirm, after an honest Proposal."""
    elsewhere = raw_ip.gid_of(where(scene))
    with scene.nothing_stays():
        before = scene.counters()["qp_new"]
        peer = scene.peer(scene.client())
        peer.tcp.send(clc.proposal(scene.args.eid, elsewhere, clc.vendor_offer(IWARP), smcd=True))
        scene.declines(peer, NO_ROUTE)
        peer.finish()
        expect(scene.counters()["qp_new"] == before, "a queue pair was made")
        with scene.accepted() as peer:
            peer.meet()
            peer.gid = elsewhere
            peer.confirm()
            scene.declines(peer, 0x03000000)


@SUITE.case
def takes_in_what_was_never_sent(scene: Scene) -> None:
    """As it says in a credit, before and after the link stands: counted, and passed over."""
    with scene.nothing_stays(), scene.accepted() as peer:
        peer.meet()
        peer.qp.send(peer.credit(1000))
        peer.confirm()
        peer.confirmed()
        expect(peer.echoes(), "the connection was harmed")
        scene.grew("wire_violation", "llc_malformed")
        with scene.counted("wire_violation", "llc_malformed"):
            peer.qp.send(peer.credit(0xFFFFFFFF))
            expect(peer.echoes(), "the connection was harmed")


@SUITE.case
def crowd_at_the_listener(scene: Scene) -> None:
    """That says nothing, and more of it than the listener takes requests: a client with the key is met."""
    with scene.nothing_stays(), scene.accepted() as peer:
        for _ in range(CROWD):
            peer.call()
        peer.meet()
        peer.confirm()
        peer.confirmed()
        expect(peer.echoes(), "the connection does not work")


def main() -> int:
    return SUITE.main(Scene, parser(__doc__, 7340).parse_args())


if __name__ == "__main__":
    sys.exit(main())
