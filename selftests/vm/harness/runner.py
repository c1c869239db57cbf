# SPDX-License-Identifier: GPL-2.0-only
"""Runs cases, one boot for all of a topology, and prints TAP."""

import time
import traceback
from itertools import count
from pathlib import Path

from .case import Case, Skip
from .channel import AgentError, GuestGone
from .modtree import NoModule
from .tap import Printer
from .topology import Spec, Vm

# Where so many cases failed one after the other the rest would only wait for their timeouts.
_FAILURES_IN_A_ROW = 4

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


def run(planned: list[Group], keep_going: bool = False) -> Printer:
    """One line for each case, and one for the verdict on each boot. keep_going: run the rest of a
    topology, too, when several of its cases failed in a row."""
    printer = Printer(sum(len(members) + 1 for _, members in planned))
    for specs, members in planned:
        _run_group(printer, specs, members, keep_going)
    return printer


class EmulatorDied(Exception):
    """QEMU itself was ended by a signal, which nothing that a guest does explains."""


def _run_group(printer: Printer, specs: tuple[Spec, ...], members: list[Case],
               keep_going: bool) -> None:
    try:
        _run_boot(printer, specs, members, keep_going, again=False)
    except EmulatorDied as death:
        # Says nothing about the module; twice in a row it is a finding about this machine.
        text, left = death.args
        printer.comment(f"the emulator died; its {len(left)} cases are run again:\n{text}")
        _run_boot(printer, specs, left, keep_going, again=True)


def _run_boot(printer: Printer, specs: tuple[Spec, ...], members: list[Case], keep_going: bool,
              again: bool) -> None:
    """Raises EmulatorDied(text, cases left), unless it is tried again already."""
    topology = "+".join(map(str, specs))
    verdict_name = f"{topology}: clean log, no leak, all cases seen"
    waiting = list(members)
    try:
        with Vm(list(specs)) as vm:
            printer.comment(f"{topology}: {vm.directory}")
            failures = 0
            while waiting and (keep_going or failures < _FAILURES_IN_A_ROW):
                failures = 0 if _run_case(printer, vm, waiting.pop(0), again) else failures + 1
            for left in waiting:
                printer.not_ok(_title(topology, left), f"not run: {failures} failed in a row")
            waiting.clear()
            problems = vm.judge(len(members))
    except EmulatorDied as death:
        text, found = death.args
        raise EmulatorDied(text, [found, *waiting]) from None
    except (GuestGone, AgentError, NoModule, OSError, AssertionError) as error:
        problems = [_explain(error)]
        for left in waiting:
            printer.not_ok(_title(topology, left), "not run: the guests are gone")
    if problems:
        printer.not_ok(verdict_name, "\n".join(problems))
    else:
        printer.ok(verdict_name)


def _run_case(printer: Printer, vm: Vm, found: Case, again: bool) -> bool:
    """Whether it passed, or was skipped. Raises GuestGone when no case after it can run, or
    EmulatorDied(text, the case)."""
    title = _title(vm.name, found)
    started = time.monotonic()
    passed = True
    try:
        vm.begin(found.name)
        found.run(vm)
    except Skip as why:
        printer.skip(title, str(why))
    except Exception as error:
        passed = False
        if isinstance(error, GuestGone) and not again and vm.emulator_died():
            raise EmulatorDied(vm.last_words(), found) from None
        if isinstance(error, GuestGone):
            printer.not_ok(title, f"{_explain(error)}\n{vm.last_words()}")
            raise
        printer.not_ok(title, _explain(error))
    else:
        printer.ok(f"{title} ({time.monotonic() - started:.1f} s)")
    vm.end_jobs()
    if not passed:
        vm.restore()
    vm.end()
    return passed


def _explain(error: BaseException) -> str:
    """The error and the way to it, without the harness's own frames."""
    ours = str(Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith(ours)]
    way = "".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.line}\n" for frame in frames)
    return f"{way}{type(error).__name__}: {error}"


def _title(topology: str, found: Case) -> str:
    return f"{topology}: {found.file}: {found.name.replace('_', ' ')}"
