# SPDX-License-Identifier: GPL-2.0-only
"""Whether a run counts as passed.

A guest that passes ends its console with a token that is drawn anew for each run. It is asked to
print the token only after smc.ko was unloaded and nothing was found leaked. The run is green if
the token is the last word, the log is clean, and as many cases began and ended in the guest as
were planned, and at least one.
"""

import re

from .consolelog import bad_lines

_CASE = re.compile(r"smc-vm: case (begin|end) (\d+)\b")
# The kernel may print its own last lines after the token; and soft-RoCE of Linux 5.10 reports what a
# peer still repeats to a queue pair that has gone.
_FAREWELL = re.compile(r"^(\[[ .0-9]+\] )?(reboot: |ACPI: |kvm: exiting|sd |"
                       r"rdma_rxe: no qp matches qpn |$)")


def begin_line(number: int, name: str) -> str:
    return f"case begin {number} {name}"


def end_line(number: int) -> str:
    return f"case end {number}"


def token_line(nonce: str) -> str:
    return f"verdict {nonce}"


def judge(console: str, nonce: str, expected: int, ended_well: bool) -> list[str]:
    """What is wrong with one guest's run; empty if it passed."""
    problems = [f"log: {line}" for line in bad_lines(console)]
    if not ended_well:
        problems.append("the guest did not power off by itself")
    if expected < 1:
        problems.append("no case was planned")
    seen: dict[str, list[int]] = {"begin": [], "end": []}
    for kind, number in _CASE.findall(console):
        seen[kind].append(int(number))
    planned = list(range(1, expected + 1))
    for kind, numbers in seen.items():
        if numbers != planned:
            problems.append(f"{len(numbers)} cases {kind} in the guest, {expected} planned")
    lines = [line for line in console.splitlines() if not _FAREWELL.match(line)]
    if not lines or not lines[-1].endswith(f"smc-vm: {token_line(nonce)}"):
        problems.append("the last line is not this run's token")
    return problems
