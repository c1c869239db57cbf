# SPDX-License-Identifier: GPL-2.0-only
"""What is measured against what, and how a guest gets it."""

import sys
from pathlib import Path

from harness.guest import Guest
from harness.kernel import Kernel, kernel
from harness.own import own_module

PROGRAM = "build/selftests/smc_bench"
PORT = 7400
# Options of simrnic.ko: an adapter that moves 64 bytes of a write only, since the copies of
# hardware cost the processor nothing. The kernel's own module has a short RNR timer.
COSTS_NOTHING = "copy_bytes=64 rnr_timer_min=0"
TCP, OTHER, OURS = "TCP", "kernel's smc.ko", "this smc.ko"
UNIX, PIPE = "AF_UNIX", "pipe"


def scheduled(batch: bool) -> str:
    """What a command begins with. batch: under SCHED_BATCH, where a woken program waits until the
    running one sleeps. Then the order in which two programs run does not depend on the time of a
    call."""
    return "chrt --batch 0" if batch else ""


def program(batch: bool) -> str:
    return f"{scheduled(batch)} {PROGRAM}"


class BenchFailed(Exception):
    """A figure would not mean what the table says."""


def built(version: str) -> tuple[Kernel, Path]:
    """The kernel to measure on, and this module for it. Ends the program if that is not built."""
    found = kernel(version)
    own = own_module(found)
    if not own.exists():
        sys.exit(f"{own} is not built; make first")
    return found, own


def load(guest: Guest, variant: str, own: Path, other: Path | None = None) -> None:
    """other: replaces the kernel's own smc.ko; below the repository, as own is."""
    file = str(own if variant == OURS else other or guest.run("modinfo -F filename smc").out.strip())
    guest.run(f"for m in ib_core $(modinfo -F depends '{file}' | tr , ' '); do modprobe $m; done; insmod '{file}'")
    guest.call("smcnl.add_ueid", guest.eid)
