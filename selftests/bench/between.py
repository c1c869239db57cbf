# SPDX-License-Identifier: GPL-2.0-only
"""Rows that are measured between two guests, one client and one server, and pairs of guests that take turns."""

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Callable, ContextManager, Iterator

from harness.guest import Guest
from harness.topology import Spec, Vm

from table import RESULTS, Row, Values
from variant import PORT, PROGRAM, TCP, BenchFailed, load

ROWS = (
    Row("1-byte round trip", "--test rtt --size 1", "µs", False),
    Row("4 KiB round trip", "--test rtt --size 4096", "µs", False),
    Row("bulk, 64 KiB sends", "--test bulk --size 65536", "MiB/s", True),
    Row("short connections", "--test connect --size 1", "1/s", True),
)


def arguments(description: str, rounds: int) -> argparse.ArgumentParser:
    """Those that all of them take. rounds: so many unless told otherwise."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each figure")
    parser.add_argument("--only", default="", metavar="REGEX", help="rows that have it")
    parser.add_argument("--write", type=Path, metavar="FILE", default=RESULTS)
    return parser


def measure(client: Guest, server: Guest, row: Row, variant: str, seconds: float) -> float:
    mode = "tcp" if variant == TCP else "smc"
    result = client.run(f"{PROGRAM} --to {server.ip4} --port {PORT} --mode {mode} {row.options}"
                        f" --seconds {seconds}", timeout_s=60 + 20 * seconds)
    answer = json.loads(result.out)
    if variant != TCP and (answer["smcr"] == 0 or answer["fallbacks"] != 0):
        raise BenchFailed(f"{variant}, {row.name}: not all connections were SMC-R: {answer}")
    if variant == TCP and answer["smcr"] != 0:
        raise BenchFailed(f"{row.name}: TCP was not TCP: {answer}")
    return answer["value"]


@contextlib.contextmanager
def served(vm: Vm, modules: tuple[str, str], own: Path) -> Iterator[Vm]:
    """Loads the client's and the server's module, and starts the server in b."""
    for guest, variant in zip(vm.guests, modules):
        load(guest, variant, own)
    process = vm.b.spawn(f"{PROGRAM} --serve --port {PORT}")
    process.expect(r"\bready\b")
    yield vm
    process.kill()
    process.wait(check=False)
    for guest in vm.guests:
        guest.unload_module()


def run_round(number: int, rows: tuple[Row, ...], places: dict[str, Vm], seconds: float,
              values: Values) -> None:
    """Runs each row on each pair."""
    order = list(places)
    for row in rows:
        for place in range(len(order)):
            variant = order[(number + place) % len(order)]
            vm = places[variant]
            figure = measure(vm.a, vm.b, row, variant, seconds)
            values[variant][row.name].append(figure)
            print(f"#   {variant:16} {row.name:20} {figure:10.1f} {row.unit}", file=sys.stderr)


# Which pair has each variant but TCP, for as long as it lasts.
Placed = Callable[[Vm, Vm], ContextManager[dict[str, Vm]]]


def take_turns(args: argparse.Namespace, rows: tuple[Row, ...], variants: tuple[str, ...],
               placed: Placed) -> Values:
    """Halfway the pairs exchange places, since one pair may have been given better memory at boot."""
    values: Values = {variant: {row.name: [] for row in rows} for variant in variants}
    # The guests' own variant is the kernel's module: modules are loaded and unloaded by hand here.
    specs = [Spec.parse(f"kernel@{args.kernel}")] * 2
    with Vm(specs, load=False) as first, Vm(specs, load=False, beside=first) as second:
        half = (args.rounds + 1) // 2
        for numbers, pairs in ((range(half), (first, second)),
                               (range(half, args.rounds), (second, first))):
            with placed(*pairs) as places:
                for number in numbers:
                    print(f"# round {number + 1} of {args.rounds}", file=sys.stderr)
                    everywhere = {TCP: (first, second)[number % 2], **places}
                    run_round(number, rows, everywhere, args.seconds, values)
    return values
