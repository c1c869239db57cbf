# SPDX-License-Identifier: GPL-2.0-only
"""What a guest's kernel log must not contain."""

import re

_BAD = re.compile("|".join((
    r"WARNING:", r"\bBUG\b", r"\bOops\b", r"Kernel panic", r"Call Trace", r"general protection",
    r"KASAN", r"UBSAN", r"KCSAN", r"KFENCE", r"kmemleak", r"DMA-API", r"ODEBUG", r"ref_tracker:",
    r"possible (recursive|circular|irq lock)", r"inconsistent lock state", r"INFO: task",
    r"INFO: lockdep", r"INFO: trying to register", r"suspicious RCU", r"blocked for more than",
    r"refcount", r"scheduling while atomic", r"sleeping function called", r"rcu.*\bstall",
    r"soft lockup", r"hard LOCKUP", r"workqueue lockup", r"objects remaining", r"still has objects",
    r"unregister_netdevice: waiting", r"list_(add|del) corruption", r"[Bb]ad page",
    r"page allocation failure", r"Unknown symbol", r"disagrees about version",
    r"stack-protector", r"double free", r"segfault at", r"\btraps: ", r"unexpected int3",
    r"NETDEV WATCHDOG", r"Out of memory", r"nobody cared", r"boot.sh ended early",
)))

# Lines that match above and say nothing about the code under test, each with its reason.
_HARMLESS = (
    # How the CPU model of an emulated guest is protected does not matter here.
    re.compile(r"(Spectre|RETBleed|MDS|MMIO|TAA|SRSO|VMSCAPE|ITS).*WARNING:"),
    # Leaks are read from the detector itself, also before the module is loaded.
    re.compile(r"kmemleak: (Kernel memory leak detector initialized|\d+ new suspected memory leaks)"),
    # An allocation of the detector's own was among those that a case let fail: it tracks one object
    # less, or scans more of one. (When it gives up it says so in another line.)
    re.compile(r"ref_tracker: memory allocation failure, unreliable refcount tracker"),
    re.compile(r"kmemleak: Cannot allocate a scan area, scanning the full object"),
    # What a kernel that has them says at boot.
    re.compile(r"kasan: KernelAddressSanitizer initialized"),
)


# A case that lets allocations fail logs this before and after. In between, the kernel's reports of
# failed allocations, with their stacks, are what the case asked for.
FAILING, NOT_FAILING = "allocations fail", "allocations do not fail any more"
_REFUSED = re.compile(r"vmalloc error: .*failed|page allocation failure")
_REPORT_ENDS = re.compile(r"</TASK>")


def _without_refused_allocations(lines: list[str]) -> list[str]:
    kept = []
    failing = reporting = False
    for line in lines:
        if line.endswith((FAILING, NOT_FAILING)):
            failing = line.endswith(FAILING)
        reporting = reporting or (failing and bool(_REFUSED.search(line)))
        if not reporting:
            kept.append(line)
        reporting = reporting and not _REPORT_ENDS.search(line)
    return kept


def bad_lines(console: str) -> list[str]:
    """The lines that turn a run red, in order."""
    return [line for line in _without_refused_allocations(console.splitlines())
            if _BAD.search(line) and not any(fine.search(line) for fine in _HARMLESS)]


# An oops with its registers and its call trace.
_EXCERPT_LINES = 45
_TAIL_LINES = 12


def excerpt(console: str) -> list[str]:
    """The part of a dead guest's log to show: the first bad line and what follows it, or the end of
    the log."""
    lines = console.splitlines()
    for index, line in enumerate(lines):
        if bad_lines(line):
            return lines[index:index + _EXCERPT_LINES]
    return lines[-_TAIL_LINES:]
