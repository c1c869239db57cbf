# SPDX-License-Identifier: GPL-2.0-only
"""The rows of connections between two namespaces, by adapters that cost next to nothing
(selftests/adapter), for selftests/bench/count and selftests/bench/profile."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Iterator

from harness.adapters import SIDES, adapters, counters, inside, keep_to_adapters, set_parameters
from harness.guest import Guest

from inside import APART, BULK, SHORT, CountRow, Place
from variant import COSTS_NOTHING, OTHER, OURS

CLIENT, SERVER = SIDES
KIB = 1024


class Apart(Place):
    """Each in a namespace of its own, with an adapter that costs nothing."""

    @contextmanager
    def ready(self, guest: Guest) -> Iterator[None]:
        with adapters(guest, COSTS_NOTHING):
            yield

    def address(self, guest: Guest) -> str:
        return SIDES[SERVER]

    def client(self, command: str) -> str:
        return f"{inside(CLIENT)} {command}"

    def server(self, command: str) -> str:
        return f"{inside(SERVER)} {command}"

    def counted(self, guest: Guest) -> dict[str, int]:
        left, right = (counters(guest, side) for side in SIDES)
        return {name: left[name] + right[name] for name in left}

    def leave(self, guest: Guest, variant: str) -> None:
        pass


@dataclass(frozen=True)
class Timing:
    """When the adapter does what was posted, and when it reports completions."""

    late_us: int
    upcall_us: int

    def __str__(self) -> str:
        work = f"work {self.late_us} µs late" if self.late_us else "work at once"
        return f"{work}, completions {self.upcall_us} µs late" if self.upcall_us else work

    def set(self, guest: Guest) -> None:
        set_parameters(guest, execute="late" if self.late_us else "at_once", late_us=self.late_us,
                       upcall_us=self.upcall_us)


@dataclass(frozen=True)
class AdapterRow(CountRow):
    """buffer_bytes: of each direction, for SMC; TCP chooses its own."""

    timing: Timing = Timing(0, 0)
    buffer_bytes: int = 64 * KIB

    @property
    def label(self) -> str:
        return self.name.removesuffix(f": {self.timing}")

    def measures(self, variant: str, other_has_loopback: bool) -> bool:
        return super().measures(variant, True)

    def prepare(self, guest: Guest, variant: str) -> None:
        self.timing.set(guest)
        if variant not in (OTHER, OURS):
            return
        for side in SIDES:
            guest.run(f"{inside(side)} sysctl -q net.smc.wmem={self.buffer_bytes}"
                      f" net.smc.rmem={self.buffer_bytes}")
        keep_to_adapters(guest)


TIMINGS = tuple(Timing(late_us, upcall_us) for late_us in (0, 2, 10) for upcall_us in (0, 8, 30))
_BUFFERS = {"64 KiB": 64 * KIB, "128 KiB": 128 * KIB, "256 KiB": 256 * KIB, "1 MiB": 1024 * KIB}
_SIZES = {"4 KiB": 4 * KIB, "64 KiB": 64 * KIB, "1 MiB": 1024 * KIB}


def _bulk(size: str, buffer: str) -> tuple[str, str, bool, str, int]:
    return (f"bulk, {size} sends, buffers of {buffer}", "MiB/s", True,
            f"--test bulk --size {_SIZES[size]}", _BUFFERS[buffer])


# Name, unit, whether more is faster, options of smc_bench, buffers. With each timing …
_ALWAYS = (
    ("64-byte round trip", "µs", False, "--test rtt --size 64", 64 * KIB),
    ("64 KiB round trip", "µs", False, "--test rtt --size 65536", 64 * KIB),
    ("64-byte round trip, 64 connections", "µs", False, "--test rtt --size 64 --connections 64",
     64 * KIB),
    ("64-byte messages one way", "1/s", True, "--test rate --size 64", 64 * KIB),
    _bulk("4 KiB", "64 KiB"),
    *(_bulk("64 KiB", buffer) for buffer in _BUFFERS),
)
# … and with the first one besides.
_ONCE = (
    ("1-byte round trip", "µs", False, "--test rtt --size 1", 64 * KIB),
    ("4 KiB round trip", "µs", False, "--test rtt --size 4096", 64 * KIB),
    *((f"64 KiB round trip, buffers of {name}", "µs", False, "--test rtt --size 65536", buffer)
      for name, buffer in _BUFFERS.items() if name != "64 KiB"),
    ("64-byte round trip, 10 connections", "µs", False, "--test rtt --size 64 --connections 10",
     64 * KIB),
    ("64-byte round trip, 1000 connections", "µs", False,
     "--test rtt --size 64 --connections 1000", 16 * KIB),
    *(_bulk("4 KiB", buffer) for buffer in _BUFFERS if buffer != "64 KiB"),
    *(_bulk("1 MiB", buffer) for buffer in _BUFFERS),
    ("short connections", "1/s", True, SHORT, 64 * KIB),
)
_APART = Apart()
BY_ADAPTER = {
    timing: tuple(AdapterRow(f"{what}: {timing}", options, unit, more, device=APART, place=_APART,
                             timing=timing, buffer_bytes=buffer)
                  for what, unit, more, options, buffer in members)
    for timing, members in ((each, _ALWAYS if each != TIMINGS[0] else (*_ALWAYS, *_ONCE))
                            for each in TIMINGS)
}
