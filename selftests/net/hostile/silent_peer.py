#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Peers that say nothing, where an answer is owed. TAP on stdout.

    silent_peer.py --interface eth0 --address 10.9.0.66 --target 10.9.0.1 --eid EID [--only REGEX]

At the target runs smc_target.py, with a backlog far below CROWD. Silence costs the others nothing,
and ends.
"""

import socket
import sys
import time

from clc_peer import PATIENCE_S
from rdma_peer import Scene, cursor, ends
from suite import Suite, expect, parser

CROWD = 40
# The most that a TCP client waits if its server accepts all the time.
SERVED_S_MAX = 3
# Endpoint::kAbortLimit_ms, plus once the time between two checks.
ABORTED_S_MAX = 45
WORDS = b"words of a client that is served"

SUITE = Suite()


def plain_client(scene: Scene) -> None:
    """A TCP client is served without delay."""
    start_s = time.monotonic()
    with socket.create_connection((scene.args.target, scene.args.echo_port), 20) as client:
        client.sendall(WORDS)
        received = b""
        while len(received) < len(WORDS):
            data = client.recv(100)
            expect(bool(data), "the plain client's connection was closed")
            received += data
    took_s = time.monotonic() - start_s
    expect(took_s < SERVED_S_MAX, f"a plain client had to wait for {took_s:.1f} s")


@SUITE.case
def crowd_holds_up_nobody(scene: Scene) -> None:
    """More clients than the backlog offer SMC and send nothing."""
    crowd = [scene.client() for _ in range(CROWD)]
    plain_client(scene)
    scene.bystander()
    plain_client(scene)
    # When one of them sends at last, it is served, too.
    for client in crowd:
        client.send(WORDS)
    for client in crowd:
        scene.echoed(client, WORDS)
        client.fin()


@SUITE.case
def crowd_is_limited(scene: Scene) -> None:
    """With net.smc.limit_smc_hs the server offers SMC to no more clients than its backlog."""
    target, port = scene.args.target, scene.args.echo_port
    with scene.counted("handshake_limited"):
        crowd = [scene.host.connect(target, port) for _ in range(CROWD)]
    offered = [client for client in crowd if client.peer_has_option]
    expect(bool(offered), "nobody was offered SMC")
    expect(len(offered) <= CROWD // 2, f"{len(offered)} of {CROWD} were offered SMC")
    start_s = time.monotonic()
    for client in crowd:
        if client not in offered:
            client.send(WORDS)
            scene.echoed(client, WORDS)
    took_s = time.monotonic() - start_s
    expect(took_s < SERVED_S_MAX, f"those without the option took {took_s:.1f} s")
    plain_client(scene)
    for client in crowd:
        client.fin()
    # There is room again, so SMC is offered again.
    deadline_s = time.monotonic() + 20
    while not (client := scene.host.connect(target, port)).peer_has_option:
        expect(time.monotonic() < deadline_s, "SMC is never offered again")
        client.fin()
        time.sleep(0.5)
    client.fin()
    scene.bystander()


@SUITE.case
def failures_leave_room(scene: Scene) -> None:
    """With room for one handshake, a failed one makes room for the next at once."""
    target, port = scene.args.target, scene.args.echo_port
    for i in range(3):
        client = scene.host.connect(target, port)
        expect(client.peer_has_option, f"SMC is not offered any more, after {i} failures")
        client.send(scene.good)
        client.wait(lambda client=client: client.received or client.ended, PATIENCE_S)
        expect(bool(client.received), "a good proposal is not answered")
        other = scene.host.connect(target, port)
        expect(not other.peer_has_option, "SMC is offered to one more")
        other.fin()
        with scene.counted("server_handshake_error"):
            client.reset()
            time.sleep(1)
    with scene.counted("smcr_server_v2"):
        scene.bystander()


@SUITE.case
def abort_is_not_answered(scene: Scene) -> None:
    """The link acknowledges the abort, but no CDC message answers it."""
    scene.settled()
    with scene.as_client() as peer:
        peer.qp.send(peer.cdc(producer=cursor(7, 0)))
        ends(peer)
        start_s = time.monotonic()
        while (now := scene.counters())["conn_new"] != now["conn_free"]:
            took_s = time.monotonic() - start_s
            expect(took_s < ABORTED_S_MAX, f"it stays for more than {took_s:.0f} s")
            time.sleep(1)
        expect(not peer.group_ended, "the link group ended")
    scene.settled()


def main() -> int:
    return SUITE.main(Scene, parser(__doc__, 7320).parse_args())


if __name__ == "__main__":
    sys.exit(main())
