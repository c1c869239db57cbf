# SPDX-License-Identifier: GPL-2.0-only
"""KTAP, as KUnit leaves it in /sys/kernel/debug/kunit/<suite>/results."""

import re
from dataclasses import dataclass

_SUITE = re.compile(r"^    # Subtest: (\S+)$")
_PLAN = re.compile(r"^    1\.\.(\d+)$")
_CASE = re.compile(r"^    (ok|not ok) (\d+) (\S+)(?: # (SKIP\b.*|.*))?$")


@dataclass(frozen=True)
class Result:
    """verdict: "ok", "not ok" or "skip". said: the lines printed while it ran."""

    verdict: str
    said: str


def parse(text: str) -> tuple[dict[str, Result], list[str]]:
    """The results by "<suite>.<case>", and errors of the text as a whole."""
    results: dict[str, Result] = {}
    problems = []
    suite, planned, seen, said = "", None, 0, []

    def end_suite() -> None:
        if suite and seen != planned:
            problems.append(f"{suite}: {planned} cases planned, {seen} reported")

    for line in text.splitlines():
        if found := _SUITE.match(line):
            end_suite()
            suite, planned, seen, said = found[1], None, 0, []
        elif found := _PLAN.match(line):
            planned = int(found[1])
        elif found := _CASE.match(line):
            seen += 1
            name = f"{suite}.{found[3]}"
            if int(found[2]) != seen:
                problems.append(f"{name} has number {found[2]}, not {seen}")
            if name in results:
                problems.append(f"{name} is reported twice")
            skipped = (found[4] or "").startswith("SKIP")
            results[name] = Result("skip" if skipped else found[1], "\n".join(said))
            said = []
        else:
            said.append(line)
    end_suite()
    if not results:
        problems.append("no results")
    return results, problems
