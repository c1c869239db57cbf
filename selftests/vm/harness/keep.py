# SPDX-License-Identifier: GPL-2.0-only
"""Guests that outlive the program which booted them, for work by hand (run --keep, then sh)."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

from .channel import Channel
from .paths import RUNS
from .topology import Vm

_STATE = RUNS / "kept.json"


class NothingKept(Exception):
    """There are no kept guests, or they have ended."""


def remember(vm: Vm) -> None:
    """Disconnects from the guests' agents, so that others can talk to them."""
    guests = {}
    for guest in vm.guests:
        guest.channel.close()
        guests[guest.name] = {"pid": guest.machine.process.pid,
                              "agent": str(guest.machine.agent_path),
                              "console": str(guest.machine.console_path)}
    _STATE.write_text(json.dumps(guests))


def _alive(pid: int) -> bool:
    """Whether the process is still the QEMU that was started."""
    try:
        return b"qemu-system" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def kept() -> dict[str, dict]:
    try:
        guests = json.loads(_STATE.read_text())
    except FileNotFoundError:
        raise NothingKept("no guests are kept; start some with run --keep") from None
    if not any(_alive(guest["pid"]) for guest in guests.values()):
        raise NothingKept("the kept guests have ended")
    return guests


def channel(name: str) -> Channel:
    guests = kept()
    if name not in guests:
        raise NothingKept(f"no guest {name!r}, only {' and '.join(guests)}")
    pid = guests[name]["pid"]
    return Channel(Path(guests[name]["agent"]), lambda: _alive(pid))


def stop() -> None:
    for guest in kept().values():
        if _alive(guest["pid"]):
            os.kill(guest["pid"], signal.SIGTERM)
        while _alive(guest["pid"]):
            time.sleep(0.05)
        shutil.rmtree(Path(guest["agent"]).parent, ignore_errors=True)
    _STATE.unlink()
