# SPDX-License-Identifier: GPL-2.0-only
"""Allocations that fail on purpose, in a kernel that can do that: the debug kernel.

Only those that a module asks for, by itself or through what it calls.
"""

from pathlib import Path

_DEBUGFS = Path("/sys/kernel/debug")
_KINDS = ("failslab", "fail_page_alloc")
_TIMES = 1_000_000
# TCP does without its FIN when there is no memory for it, and the socket then stays for ever: theirs.
_SPARED = "tcp_send_fin"


def _text_of(module: str) -> tuple[int, int]:
    """From the module's first function to behind the start of its last."""
    addresses = [int(line.split()[0], 16)
                 for line in Path("/proc/kallsyms").read_text().splitlines()
                 if line.endswith(f"\t[{module}]") and line.split()[1] in "tT"]
    return min(addresses), max(addresses) + 0x1000


def _spared() -> tuple[int, int]:
    """From the function that is left alone to the one behind it."""
    text = sorted((int(line.split()[0], 16), line.split()[2])
                  for line in Path("/proc/kallsyms").read_text().splitlines()
                  if line.split()[1] in "tT" and "\t[" not in line)
    index = next(number for number, (_, name) in enumerate(text) if name == _SPARED)
    return text[index][0], text[index + 1][0]


def start(module: str, percent: int, frames: int) -> None:
    """Of a hundred allocations, percent fail, at random. frames: how far up the stack the
    module may be; with few, those of the drivers that it calls succeed."""
    first, end = _text_of(module)
    spared, behind = _spared()
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
    """How many of each kind have failed."""
    failed = {}
    for kind in _KINDS:
        (_DEBUGFS / kind / "probability").write_text("0")
        failed[kind] = _TIMES - int((_DEBUGFS / kind / "times").read_text())
    return failed
