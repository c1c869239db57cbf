# SPDX-License-Identifier: GPL-2.0-only
"""Who meets whom, and a case decorator that lets each pair meet in both roles."""

import functools
import json
from contextlib import contextmanager
from typing import Callable

from harness import Guest, case
from harness.topology import Vm

# This module on two kinds of processors, of one order of bytes or of both. Soft-RoCE has its checksum in
# its machine's order, so that s390x, which is big-endian, meets only itself by it.
SAME_ORDER = ("ours@6.12-arm64+ours@6.12",)
BOTH_ORDERS = ("ours@6.12-s390x+ours@6.12",)
BIG_ENDIAN = ("ours@6.12-s390x+ours@6.12-s390x",)
# Both ends can use soft-RoCE: every connection has to become SMC-R.
SMCR = ("ours@6.12+kernel@6.12", "ours@6.1+kernel@6.12", "ours@6.12+ours@6.12",
        "ours@6.1+ours@6.1", "ours@6.12+ours@6.1", "ours@7.2+kernel@6.12", "ours@7.2+ours@6.12",
        "ours@7.2+ours@7.2", "ours@6.12:own+kernel@6.12",
        *SAME_ORDER, *BIG_ENDIAN)
# The peer has an smc.ko without a device that it could use, or has no SMC at all.
DECLINES = ("ours@6.12:no-rdma+ours@6.12", "ours@6.12+kernel@6.1", "ours@6.1+kernel@6.1", "ours@7.2+kernel@6.1")
PLAIN = ("ours@6.12+none@6.12", "ours@6.1+none@6.12", "ours@7.2+none@6.12")
# Debian 11: its smc.ko knows version 1 alone. Without RoCE v1 it declines at once; with it, it proposes
# version 1 and declines version 2; where both ends have it they meet in SMC-Rv1.
OLD_WITHOUT_DEVICE = ("ours@6.12+kernel@5.10",)
OLD_ALONE = ("ours@6.12+kernel@5.10:v1",)
OLD = ("ours@6.12:v1+kernel@5.10:v1",)

XFER = "build/selftests/smc_xfer"
PORT = 7380


def in_both_roles(*topologies: str) -> Callable:
    """The decorated case(vm, client, server) runs once with each guest as the client."""
    def register(function: Callable) -> Callable:
        for client, server in ((0, 1), (1, 0)):
            @functools.wraps(function)
            def run(vm: Vm, client=client, server=server) -> None:
                function(vm, vm.guests[client], vm.guests[server])

            run.__name__ = f"{function.__name__}_client_{'ab'[client]}"
            case(on=topologies)(run)
        return function

    return register


@contextmanager
def without_eids(*guests: Guest):
    """Version 1 only. Two hosts with this module do without the default EID as well, which they would
    have in common; one that meets the kernel's own module keeps it."""
    default = all(guest.module == "ours" for guest in guests)
    for guest in guests:
        guest.call("smcnl.flush_ueids")
        if default:
            guest.run("sysctl -q net.smc.default_eid=0")
    try:
        yield
    finally:
        for guest in guests:
            guest.call("smcnl.add_ueid", guest.eid)
            if default:
                guest.run("sysctl -q net.smc.default_eid=1")


def counted(guest: Guest, name: str) -> int:
    """A counter of this module, from /proc/net/smc_stat."""
    return int(guest.run(f"awk '$1 == \"{name}\" {{print $2}}' /proc/net/smc_stat").out)


class Server:
    """smc_xfer serving on a guest, as a context."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def __enter__(self) -> "Server":
        self._process = self._guest.spawn(f"{XFER} --serve --port {PORT}")
        self._process.expect(r"\bready\b")
        return self

    def __exit__(self, *_) -> None:
        self._process.kill()
        self._process.wait(10, check=False)


def mode(guest: Guest) -> str:
    """A guest without any smc.ko has TCP sockets only."""
    return "tcp" if guest.module == "none" else "smc"


def transfer(client: Guest, server: Guest, options: str, expect: str = "smcr",
             address: str | None = None, timeout_s: float = 120) -> dict:
    """One run of smc_xfer against a Server; both sides' counters. Fails unless every byte
    arrived, in the way that expect names (smc_xfer --help), counted by both modules."""
    limit_s = timeout_s * client.patience
    for side, guest in (("client", client), ("server", server)):
        if mode(guest) == "smc" and not guest.counts:
            options += f" --uncounted {side}"
    result = client.run(f"{XFER} --to {address or server.ip4} --port {PORT} --mode {mode(client)}"
                        f" --server-mode {mode(server)} --timeout {limit_s:g} --expect {expect}"
                        f" {options}", timeout_s + 30)
    return json.loads(result.out)
