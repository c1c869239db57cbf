# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's leak detector finds: objects that nothing points to any more.

The module is gone when the scan is made, and with it the names of its functions: keep_symbols() reads
them while it is there. What another module has lost by itself, one with kept symbols, does not count:
soft-iWARP does so with some of the strangers that it accepts. If it is ours that holds on to what that
one made, something of the RDMA core is lost, too, and is found.
"""

import bisect
import re
import time
from pathlib import Path

_FILE = Path("/sys/kernel/debug/kmemleak")
# The detector does not report what is younger than this, nor what changed since the scan before.
_MIN_AGE_S = 5
_ENTRIES_SHOWN = 10
OURS = "smc"
# A frame in code that is unloaded, and how large its offset into a function may be.
_ADDRESS = re.compile(r"^ +(0x[0-9a-f]{16})$", re.MULTILINE)
_FUNCTION_BYTES_MAX = 0x10000

# (address, name, module) of modules' functions, ascending.
_symbols: list[tuple[int, str, str]] = []


def start() -> None:
    """Forgets what is allocated already: it is not the module's."""
    _FILE.write_text("scan")
    _FILE.write_text("clear")


def keep_symbols(module: str) -> None:
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, kind, name, *owner = line.split()
        if owner == [f"[{module}]"] and kind in "tTwW":
            _symbols.append((int(address, 16), name, module))
    _symbols.sort()


def found() -> list[str]:
    """One text for each leak of ours, its backtrace included; at most _ENTRIES_SHOWN, then their number."""
    for _ in range(2):
        time.sleep(_MIN_AGE_S + 1)
        _FILE.write_text("scan")
    text = _FILE.read_text()
    entries = [_ADDRESS.sub(_name, entry.rstrip())
               for entry in re.split(r"(?=^unreferenced object)", text, flags=re.MULTILINE) if entry]
    entries = [entry for entry in entries if _module(entry) in (None, OURS)]
    if len(entries) > _ENTRIES_SHOWN:
        entries[_ENTRIES_SHOWN:] = [f"{len(entries)} unreferenced objects in all"]
    return entries


def _name(match: re.Match) -> str:
    address = int(match[1], 16)
    below = bisect.bisect_right(_symbols, (address, "\x7f"))
    if below == 0 or address - _symbols[below - 1][0] > _FUNCTION_BYTES_MAX:
        return match[0]
    first, name, module = _symbols[below - 1]
    return f"    {name}+{address - first:#x} [{module}, unloaded]"


def _module(entry: str) -> str | None:
    """Whose function allocated it, if symbols of that module were kept."""
    frame = re.search(r"\[(\w+), unloaded\]", entry)
    return frame[1] if frame else None
