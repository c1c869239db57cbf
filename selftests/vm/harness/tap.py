# SPDX-License-Identifier: GPL-2.0-only
"""TAP, as test programs print it and as the runner does."""

import re
import sys
from dataclasses import dataclass, field

from .paths import RESULTS

_PLAN = re.compile(r"^1\.\.(\d+)\b")
_CASE = re.compile(r"^(not ok|ok)\b\s*(\d*)\s*-?\s*(.*)$")
_SKIP = re.compile(r"#\s*SKIP\b", re.IGNORECASE)


@dataclass
class Report:
    """What one program's output says. planned is None without a plan."""

    planned: int | None = None
    passed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    # Of each failed case: what the program says about it in the line behind, if it does.
    reasons: list[str] = field(default_factory=list)

    def problems(self, status: int) -> list[str]:
        """Why this is no pass, given the program's exit status."""
        found = [f"not ok: {name}" + (f" ({reason})" if reason else "")
                 for name, reason in zip(self.failed, self.reasons)]
        if self.planned is None:
            found.append("no plan in the output")
        elif self.planned != len(self.passed) + len(self.skipped) + len(self.failed):
            found.append(f"{self.planned} cases planned, {len(self.passed)} passed,"
                         f" {len(self.skipped)} skipped, {len(self.failed)} failed")
        if not self.passed:
            found.append("no case passed")
        if status != 0 and not self.failed:
            found.append(f"exit status {status}")
        return found


def parse(text: str) -> Report:
    report = Report()
    failing = False
    for line in text.splitlines():
        if failing and line.startswith("#"):
            report.reasons[-1] = line[1:].strip()
        failing = False
        if plan := _PLAN.match(line):
            report.planned = int(plan[1])
        elif found := _CASE.match(line):
            verdict, _, name = found.groups()
            if _SKIP.search(name):
                report.skipped.append(name)
            elif verdict == "ok":
                report.passed.append(name)
            else:
                report.failed.append(name)
                report.reasons.append("")
                failing = True
    return report


class Printer:
    """Prints a plan and then one line for each case, numbered."""

    def __init__(self, planned: int) -> None:
        self.passed = self.failed = self.skipped = 0
        print(f"TAP version 13\n1..{planned}", flush=True)

    def ok(self, name: str) -> None:
        self.passed += 1
        self._line("ok", name)

    def skip(self, name: str, why: str) -> None:
        self.skipped += 1
        self._line("ok", f"{name} # SKIP {why}")

    def not_ok(self, name: str, why: str) -> None:
        self.failed += 1
        self._line("not ok", name)
        self.comment(why)

    def comment(self, text: str) -> None:
        sys.stdout.write("".join(f"# {line}\n" for line in text.splitlines()))
        sys.stdout.flush()

    def conclude(self, part: str | None) -> None:
        """Prints the tally; with a part it also goes to build/results/<part>."""
        tally = f"{self.passed} passed, {self.failed} failed"
        self.comment(tally)
        if part:
            RESULTS.mkdir(parents=True, exist_ok=True)
            (RESULTS / part).write_text(tally + "\n")

    def _line(self, verdict: str, name: str) -> None:
        number = self.passed + self.failed + self.skipped
        print(f"{verdict} {number} - {name}", flush=True)
