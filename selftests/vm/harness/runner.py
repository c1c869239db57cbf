# SPDX-License-Identifier: GPL-2.0-only
"""Runs cases, one boot for all of a topology, and prints TAP."""

import time
import traceback
from itertools import count

from .case import Case, Skip
from .channel import AgentError, GuestGone
from .modtree import NoModule
from .tap import Printer
from .topology import Spec, Vm

Group = tuple[tuple[Spec, ...], list[Case]]


def groups(cases: list[Case], version: str) -> list[Group]:
    """Cases that share a boot, by topology in the order of first mention; fresh ones alone."""
    shared: dict[tuple, list[Case]] = {}
    alone = count()
    taken = set()
    for found in cases:
        specs = found.specs(version)
        # Topologies that differ on paper may be the same once the kernel is filled in.
        if (specs, found.file, found.name) in taken:
            continue
        taken.add((specs, found.file, found.name))
        shared.setdefault((specs, next(alone) if found.fresh else -1), []).append(found)
    return [(specs, members) for (specs, _), members in shared.items()]


def run(planned: list[Group]) -> Printer:
    """One line for each case, and one for the verdict on each boot."""
    printer = Printer(sum(len(members) + 1 for _, members in planned))
    for specs, members in planned:
        _run_group(printer, specs, members)
    return printer


def _run_group(printer: Printer, specs: tuple[Spec, ...], members: list[Case]) -> None:
    topology = "+".join(map(str, specs))
    verdict_name = f"{topology}: clean log, no leak, all cases seen"
    waiting = list(members)
    try:
        with Vm(list(specs)) as vm:
            printer.comment(f"{topology}: {vm.directory}")
            while waiting:
                _run_case(printer, vm, waiting.pop(0))
            problems = vm.judge(len(members))
    except (GuestGone, AgentError, NoModule, OSError, AssertionError):
        problems = [traceback.format_exc()]
        for left in waiting:
            printer.not_ok(_title(topology, left), "the guests are gone")
    if problems:
        printer.not_ok(verdict_name, "\n".join(problems))
    else:
        printer.ok(verdict_name)


def _run_case(printer: Printer, vm: Vm, found: Case) -> None:
    title = _title(vm.name, found)
    started = time.monotonic()
    try:
        vm.begin(found.name)
        found.run(vm)
    except Skip as why:
        printer.skip(title, str(why))
    except GuestGone:
        printer.not_ok(title, traceback.format_exc())
        raise
    except Exception:
        printer.not_ok(title, traceback.format_exc())
    else:
        printer.ok(f"{title} ({time.monotonic() - started:.1f} s)")
    vm.end_jobs()
    vm.end()


def _title(topology: str, found: Case) -> str:
    return f"{topology}: {found.file}: {found.name.replace('_', ' ')}"
