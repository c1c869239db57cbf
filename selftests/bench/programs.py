# SPDX-License-Identifier: GPL-2.0-only
"""Where Debian's programs run that selftests/bench/applications measures, and selftests/bench/profile
takes apart. Needs selftests/programs on the path."""

import contextlib
from dataclasses import dataclass
from typing import Iterator

from guestroot import SMC_RUN, complete
from harness.adapters import SIDES, inside
from harness.guest import Guest
from stage import Stage

from variant import scheduled
from workload import Server

_CLIENT, _SERVER = SIDES


@dataclass(frozen=True)
class Setting:
    """Where programs run, and how."""

    adapter: bool
    batch: bool


def stages(guest: Guest, setting: Setting) -> tuple[Stage, Stage]:
    """How clients run: over TCP, and by smc_run."""
    address, places = (SIDES[_SERVER], (inside(_CLIENT), inside(_SERVER))) if setting.adapter else \
        (guest.ip4, ("", ""))
    started = [f"{place} {scheduled(setting.batch)}" for place in places]
    plain, smc = (Stage(guest, guest, address, launcher, *started) for launcher in ("", SMC_RUN))
    return plain, smc


def prepare(guest: Guest, setting: Setting, servers: list[Server]) -> None:
    """Once in a guest, before any module is loaded."""
    complete(guest)
    for server in servers:
        if server.prepare:
            for stage in stages(guest, setting):
                server.prepare(stage, server.port_of(stage))


@contextlib.contextmanager
def serving(guest: Guest, setting: Setting, servers: list[Server]) -> Iterator[None]:
    """Each server twice: over TCP, and over SMC by the module that is loaded."""
    with contextlib.ExitStack() as running:
        for server in servers:
            for stage in stages(guest, setting):
                running.enter_context(server.serve(stage, server.port_of(stage)))
        yield
