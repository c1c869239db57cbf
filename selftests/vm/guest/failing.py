# SPDX-License-Identifier: GPL-2.0-only
"""Allocations that fail on purpose, in a kernel that can do that: the debug kernel.

Only those that a module asks for, by itself or through what it calls.
"""

from functools import cache
from pathlib import Path

_DEBUGFS = Path("/sys/kernel/debug")
_KINDS = ("failslab", "fail_page_alloc")
_TIMES = 1_000_000
# If TCP has no memory for a FIN, the socket stays for ever: a weakness of the kernel.
_SPARED = "tcp_send_fin"


def _symbols() -> list[tuple[int, str, str]]:
    """Address, name and module of each function, by address."""
    found = []
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, kind, name, *module = line.split()
        if kind in "tT":
            found.append((int(address, 16), name, module[0].strip("[]") if module else ""))
    return sorted(found)


@cache
def _function(wanted: str) -> tuple[int, int]:
    """The range of a function of the kernel itself, up to the next function."""
    kernel = [(address, name) for address, name, module in _symbols() if not module]
    index = [name for _, name in kernel].index(wanted)
    return kernel[index][0], kernel[index + 1][0]


def _text_of(module: str) -> tuple[int, int]:
    """The range of the module's code, up to the start of its last function."""
    addresses = [address for address, _, owner in _symbols() if owner == module]
    return addresses[0], addresses[-1] + 0x1000


def places(module: str = "", symbol: str = "") -> dict[str, str]:
    """The places of smc_sweep's command line: "below" the module or a function of the kernel
    allocations fail, below "spared" never."""
    below = _text_of(module) if module else _function(symbol)
    return {name: f"{first:x}-{end:x}"
            for name, (first, end) in (("below", below), ("spared", _function(_SPARED)))}


def start(module: str, percent: int, frames: int) -> None:
    """Of a hundred allocations, percent fail, at random. frames: how many frames above the
    allocation the module may be; with few, allocations of the drivers that it calls succeed."""
    first, end = _text_of(module)
    spared, behind = _function(_SPARED)
    for kind in _KINDS:
        settings = {"stacktrace-depth": frames, "require-start": hex(first),
                    "require-end": hex(end), "reject-start": hex(spared),
                    "reject-end": hex(behind), "ignore-gfp-wait": "N", "verbose": 0,
                    "times": _TIMES, "space": 0, "interval": 1, "probability": percent}
        if kind == "fail_page_alloc":
            settings |= {"min-order": 0, "ignore-gfp-highmem": "N"}
        for name, value in settings.items():
            (_DEBUGFS / kind / name).write_text(str(value))


def stop() -> dict[str, int]:
    """Stops it. How many allocations of each kind have failed."""
    failed = {}
    for kind in _KINDS:
        (_DEBUGFS / kind / "probability").write_text("0")
        failed[kind] = _TIMES - int((_DEBUGFS / kind / "times").read_text())
    return failed
