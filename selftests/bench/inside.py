# SPDX-License-Identifier: GPL-2.0-only
"""The rows of connections inside one host, for selftests/bench/count and selftests/bench/profile: what they
measure, and where."""

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Iterator

from harness.guest import Guest

from table import Row
from variant import OTHER, OURS, PIPE, PORT, TCP, UNIX, BenchFailed, program

PNET_ID = "SELF"
NONE, ELSEWHERE, HERE = "no device", "device elsewhere", "device"
LOOPBACK, APART = "loopback", "an adapter on each side"
MODES = {TCP: "tcp", UNIX: "unix", PIPE: "pipe"}


class Place:
    """Where client and server are: both in the guest itself."""

    @contextmanager
    def ready(self, guest: Guest) -> Iterator[None]:
        """While no module is loaded."""
        yield

    def address(self, guest: Guest) -> str:
        """The server's."""
        return guest.ip4

    def client(self, command: str) -> str:
        return command

    def server(self, command: str) -> str:
        return command

    def counted(self, guest: Guest) -> dict[str, int]:
        """What its adapters have counted so far; nothing where there are none that count."""
        return {}

    def leave(self, guest: Guest, variant: str) -> None:
        """Before the module is unloaded."""
        set_device(guest, ELSEWHERE, variant)


HOST = Place()


@dataclass(frozen=True)
class CountRow(Row):
    """client, server: the kind of their sockets when a module is loaded. device: NONE, an RDMA
    device that leads from the host to itself (HERE) or elsewhere (ELSEWHERE), LOOPBACK: only the
    module's own device, or APART: those of adapter.py. beside: other things to measure in this row.
    """

    client: str = "smc"
    server: str = "smc"
    device: str = ELSEWHERE
    beside: tuple[str, ...] = ()
    place: Place = HOST

    @property
    def label(self) -> str:
        return re.sub(" over SMC-[RD]$|, fallen back$", "", self.name)

    def measures(self, variant: str, other_has_loopback: bool) -> bool:
        """Whether the row is possible with this variant."""
        if variant == OTHER:
            return self.device != HERE and (self.device != LOOPBACK or other_has_loopback)
        return variant in (TCP, OURS, *self.beside)

    def prepare(self, guest: Guest, variant: str) -> None:
        """With the module loaded, if it is measured."""
        if variant in (OTHER, OURS):
            set_device(guest, self.device, variant)

    def client_of(self, guest: Guest, variant: str, seconds: float, batch: bool) -> str:
        """The client's command line."""
        modes = f"--mode {MODES[variant]}" if variant in MODES else \
            f"--mode {self.client} --server-mode {self.server}"
        return self.place.client(f"{program(batch)} --to {self.place.address(guest)} --port {PORT}"
                                 f" {modes} {self.options} --seconds {seconds}")

    def serve(self, batch: bool) -> str:
        """The server's command line, which is the same for all rows of a place."""
        return self.place.server(f"{program(batch)} --serve --port {PORT}")

    def check(self, answer: dict) -> None:
        """Raises BenchFailed unless the connections were what the row is about."""
        both = "tcp" not in (self.client, self.server)
        smcr, smcd = both and self.device in (HERE, APART), both and self.device == LOOPBACK
        fell = answer["fallbacks"] if self.client != "tcp" else answer["server_fallbacks"]
        wanted = [answer["connections"] if over else 0 for over in (smcr, smcd)]
        if wanted != [answer["smcr"], answer["smcd"]] or (smcr or smcd) == (fell > 0):
            raise BenchFailed(f"{self.name}: not what it was to be: {answer}")


SHORT = "--test connect --size 1"
BULK = "--test bulk --size 65536"
FALLEN_BACK = (
    CountRow("short connections, TCP client", SHORT, "1/s", True, client="tcp"),
    CountRow("short connections, TCP server", SHORT, "1/s", True, server="tcp"),
    CountRow("short connections, TCP server, IPPROTO_SMC", SHORT, "1/s", True,
             client="inet", server="tcp"),
    CountRow("short connections, no device", SHORT, "1/s", True, device=NONE),
    CountRow("short connections, no device, IPPROTO_SMC", SHORT, "1/s", True,
             client="inet", server="inet", device=NONE),
    CountRow("short connections, device elsewhere", SHORT, "1/s", True),
    CountRow("1-byte round trip, fallen back", "--test rtt --size 1", "µs", False),
    CountRow("bulk, 64 KiB sends, fallen back", BULK, "MiB/s", True),
)
OVER_SMCR = (
    CountRow("short connections over SMC-R", SHORT, "1/s", True, device=HERE),
    CountRow("1-byte round trip over SMC-R", "--test rtt --size 1", "µs", False, device=HERE),
    CountRow("4 KiB round trip over SMC-R", "--test rtt --size 4096", "µs", False, device=HERE),
    CountRow("bulk, 64 KiB sends over SMC-R", BULK, "MiB/s", True, device=HERE),
)
# Name, unit, whether more is faster, options of smc_bench.
_LOOPBACK = (
    ("1-byte round trip", "µs", False, "--test rtt --size 1"),
    ("64-byte round trip", "µs", False, "--test rtt --size 64"),
    ("1 KiB round trip", "µs", False, "--test rtt --size 1024"),
    ("4 KiB round trip", "µs", False, "--test rtt --size 4096"),
    ("16 KiB round trip", "µs", False, "--test rtt --size 16384"),
    ("64-byte round trip, 8 connections", "µs", False, "--test rtt --size 64 --connections 8"),
    ("64-byte round trip, 64 connections", "µs", False, "--test rtt --size 64 --connections 64"),
    ("64-byte messages one way", "1/s", True, "--test rate --size 64"),
    ("bulk, 4 KiB sends", "MiB/s", True, "--test bulk --size 4096"),
    ("bulk, 64 KiB sends", "MiB/s", True, BULK),
    ("bulk, 1 MiB sends", "MiB/s", True, "--test bulk --size 1048576"),
)
OVER_SMCD = (
    CountRow("short connections over SMC-D", SHORT, "1/s", True, device=LOOPBACK, beside=(UNIX,)),
    *(CountRow(f"{what} over SMC-D", options, unit, more, device=LOOPBACK, beside=(UNIX, PIPE))
      for what, unit, more, options in _LOOPBACK),
)


def set_device(guest: Guest, device: str, variant: str) -> None:
    """Between the guest and itself the loopback device is used, whatever rxe0 does, which only the
    PNET table brings in."""
    guest.call("smcnl.pnet_flush")
    if variant in (OTHER, OURS):  # --other may be an older one of ours
        guest.run(f"sysctl -q -e net.smc.smcd_loopback={2 if device == LOOPBACK else 0}")
    there = guest.run("rdma link show | grep -q rxe0", check=False).rc == 0
    if there and device in (NONE, LOOPBACK):
        guest.run("rdma link delete rxe0")
    elif not there and device not in (NONE, LOOPBACK):
        guest.run("rdma link add rxe0 type rxe netdev eth0")
        guest.wait_for("rdma link show | grep -q 'rxe0/1 state ACTIVE'")
    if device == HERE:
        guest.call("smcnl.pnet_add", PNET_ID, "lo")
        guest.call("smcnl.pnet_add", PNET_ID, None, "rxe0", 1)
