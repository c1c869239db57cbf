# SPDX-License-Identifier: GPL-2.0-only
"""Test cases as they stand in case files.

    from harness import case

    @case(on=["ours@6.12+kernel@6.12", "ours@6.12"])
    def what_is_shown(vm): …

A case takes the running Vm of the topology (one guest: `vm.a`, two: `vm.a`, `vm.b`), returns
when it passed and raises when it did not. Cases of one topology share one boot; a case leaves the
guests as it found them. Where a topology has no kernel version ("ours", "ours+none"), the
runner's --kernel fills it in. fresh=True gives the case a boot of its own.
"""

from dataclasses import dataclass
from typing import Callable

from .topology import Vm

CASES: list["Case"] = []


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why. Counts as neither."""


@dataclass(frozen=True)
class Case:
    name: str
    topology: str
    run: Callable[[Vm], None]
    fresh: bool
    part: str


def case(on: list[str] | str, fresh: bool = False) -> Callable:
    """Registers the decorated function once for each topology in on."""
    topologies = [on] if isinstance(on, str) else on

    def register(function: Callable[[Vm], None]) -> Callable[[Vm], None]:
        part = function.__module__
        for topology in topologies:
            CASES.append(Case(function.__name__, topology, function, fresh, part))
        return function

    return register
