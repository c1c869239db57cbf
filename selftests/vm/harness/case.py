# SPDX-License-Identifier: GPL-2.0-only
"""Test cases as they stand in case files.

    from harness import case

    @case(on=["ours@6.12+kernel@6.12", "ours@6.12"])
    def what_is_shown(vm): …

A case takes the running Vm of the topology (one guest: `vm.a`, two: `vm.a`, `vm.b`), returns
when it passed and raises when it did not. Cases of one topology share one boot; a case leaves the
guests as it found them. Where a topology has no kernel version ("ours", "ours+none"), the
runner's --kernel fills it in. fresh=True gives the case a boot of its own, append="ipv6.disable=1"
one with more on the kernel's command line, hardware="iommu" (machine.HARDWARE) one on such a
machine; each shares it with the cases that want the same. With a list, the case runs on each kind.
modules="bridge veth": what these allocate for good when they come first is not looked for.
"""

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from .topology import Spec, Vm

_registered: list["Case"] = []


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


@dataclass(frozen=True)
class Case:
    """topology as written by the author; file: the stem of the case file; append: more of the
    kernel's command line."""

    name: str
    file: str
    topology: str
    fresh: bool
    run: Callable[[Vm], None]
    append: str = ""
    hardware: str = ""
    modules: str = ""

    def specs(self, version: str) -> tuple[Spec, ...]:
        """version: the kernel of guests for which the author named none."""
        return tuple(Spec.parse(part if "@" in part else f"{part}@{version}")
                     for part in self.topology.split("+"))

    def replaced(self, wanted: str, instead: str) -> "Case":
        """The same case with one module variant in place of another, on whatever kernel ("ours",
        "kernel"), or on one kernel only ("ours@6.12", "ours@debug")."""
        parts = [instead + part.removeprefix(wanted) if wanted in (part, part.partition("@")[0])
                 else part for part in self.topology.split("+")]
        return replace(self, topology="+".join(parts))


def case(on: list[str] | str, fresh: bool = False, append: str = "",
         hardware: list[str] | str = "", modules: str = "") -> Callable:
    """Registers the decorated function once for each topology in on, on each kind of hardware."""
    topologies = [on] if isinstance(on, str) else list(on)
    kinds = [hardware] if isinstance(hardware, str) else list(hardware)

    def register(function: Callable[[Vm], None]) -> Callable[[Vm], None]:
        file = function.__module__
        _registered.extend(Case(function.__name__, file, topology, fresh, function, append, kind,
                                modules)
                           for topology in topologies for kind in kinds)
        return function

    return register


def load_cases(files: list[Path]) -> list[Case]:
    """Imports the case files; what they registered, in order. A file may import its neighbours."""
    _registered.clear()
    for file in files:
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return list(_registered)
