# SPDX-License-Identifier: GPL-2.0-only
"""Runs cases, one boot for all of a topology, and prints TAP."""

import time
import traceback
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from .case import Case, Skip
from .channel import AgentError, GuestGone
from .modtree import NoModule
from .tap import Printer
from .topology import Spec, Vm

# After so many failures in a row the other cases would only wait for their timeouts.
_FAILURES_IN_A_ROW = 4


@dataclass(frozen=True)
class Boot:
    """What is booted for a group of cases."""

    specs: tuple[Spec, ...]
    append: str = ""
    hardware: str = ""
    modules: str = ""

    def vm(self) -> Vm:
        return Vm(list(self.specs), append=self.append, hardware=self.hardware,
                  modules=self.modules)

    def __str__(self) -> str:
        return " ".join(filter(None, ("+".join(map(str, self.specs)), self.append,
                                      self.hardware and f"({self.hardware})")))


Group = tuple[Boot, list[Case]]


def groups(cases: list[Case], version: str) -> list[Group]:
    """Cases that share a boot, in the order of first mention; fresh ones alone."""
    shared: dict[tuple, list[Case]] = {}
    alone = count()
    taken = set()
    for found in cases:
        boot = Boot(found.specs(version), found.append, found.hardware,
                    found.modules)
        # Topologies that differ on paper may be the same once the kernel is filled in.
        if (boot, found.file, found.name) in taken:
            continue
        taken.add((boot, found.file, found.name))
        shared.setdefault((boot, next(alone) if found.fresh else -1), []).append(found)
    return [(boot, members) for (boot, _), members in shared.items()]


def run(planned: list[Group], keep_going: bool = False) -> Printer:
    """One line for each case, and one for the verdict on each boot. keep_going: run the rest of a
    topology, too, when several of its cases failed in a row."""
    printer = Printer(sum(len(members) + 1 for _, members in planned))
    for boot, members in planned:
        _run_group(printer, boot, members, keep_going)
    return printer


class EmulatorDied(Exception):
    """A signal ended QEMU itself, which no guest can cause."""


def _run_group(printer: Printer, boot: Boot, members: list[Case], keep_going: bool) -> None:
    try:
        _run_boot(printer, boot, members, keep_going, again=False)
    except EmulatorDied as death:
        # Once, it says nothing about the module; twice in a row, something about this machine.
        text, left = death.args
        printer.comment(f"the emulator died; its {len(left)} cases are run again:\n{text}")
        _run_boot(printer, boot, left, keep_going, again=True)


def _run_boot(printer: Printer, boot: Boot, members: list[Case], keep_going: bool,
              again: bool) -> None:
    """Raises EmulatorDied(text, cases left), unless it is tried again already."""
    verdict_name = f"{boot}: clean log, no leak, all cases seen"
    waiting = list(members)
    try:
        with boot.vm() as vm:
            printer.comment(f"{boot}: {vm.directory}")
            failures = 0
            while waiting and (keep_going or failures < _FAILURES_IN_A_ROW):
                failures = 0 if _run_case(printer, vm, boot, waiting.pop(0), again) else failures + 1
            for left in waiting:
                printer.not_ok(_title(boot, left), f"not run: {failures} failed in a row")
            waiting.clear()
            problems = vm.judge(len(members))
    except EmulatorDied as death:
        text, found = death.args
        raise EmulatorDied(text, [found, *waiting]) from None
    except (GuestGone, AgentError, NoModule, OSError, AssertionError) as error:
        problems = [_explain(error)]
        for left in waiting:
            printer.not_ok(_title(boot, left), "not run: the guests are gone")
    if problems:
        printer.not_ok(verdict_name, "\n".join(problems))
    else:
        printer.ok(verdict_name)


def _run_case(printer: Printer, vm: Vm, boot: Boot, found: Case, again: bool) -> bool:
    """Whether it passed, or was skipped. Raises GuestGone when no case after it can run, or
    EmulatorDied(text, the case)."""
    title = _title(boot, found)
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
    """The error and its traceback, without the harness's own frames."""
    ours = str(Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith(ours)]
    way = "".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.line}\n" for frame in frames)
    return f"{way}{type(error).__name__}: {error}"


def _title(boot: Boot, found: Case) -> str:
    return f"{boot}: {found.file}: {found.name.replace('_', ' ')}"
