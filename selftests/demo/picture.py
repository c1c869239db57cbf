# SPDX-License-Identifier: GPL-2.0-only
"""What was seen, as a picture for a terminal; and that something goes on while one waits."""

import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Iterator

_BAR_MOST = 24
_BY_RDMA, _BY_TCP = "█", "░"


@dataclass(frozen=True)
class Seen:
    """How the connections of one program went, as its client's host counted them."""

    program: str
    smcr: int
    tcp: int
    rdma_bytes: int


def bar(count: int, most: int, mark: str) -> str:
    return mark * max(1, round(count * _BAR_MOST / most)) if count else ""


def picture(parts: dict[str, list[Seen]]) -> list[str]:
    """Its lines. parts: by what distinguishes them."""
    most = max(seen.smcr + seen.tcp for part in parts.values() for seen in part)
    width = max(len(seen.program) for part in parts.values() for seen in part)
    lines = []
    for title, part in parts.items():
        lines.append(title)
        for seen in part:
            drawn = bar(seen.smcr, most, _BY_RDMA) + bar(seen.tcp, most, _BY_TCP)
            words = [f"{count} {name}" for count, name in ((seen.smcr, "SMC-R"), (seen.tcp, "TCP"))
                     if count]
            moved = f"{seen.rdma_bytes / (1 << 20):.1f} MiB by RDMA" if seen.rdma_bytes else "no RDMA"
            lines.append(f"  {seen.program:<{width}}  {drawn:<{_BAR_MOST}}  {', '.join(words):<9}  {moved}")
    return lines


@contextmanager
def going_on(text: str) -> Iterator[None]:
    """On a terminal: for how many seconds it has done so."""
    done = threading.Event()
    started = time.monotonic()

    def show() -> None:
        while not done.wait(1):
            print(f"\r   {text}, {time.monotonic() - started:.0f} s ", end="", flush=True)
        print("\r\033[K", end="", flush=True)

    thread = threading.Thread(target=show, daemon=True) if sys.stdout.isatty() else None
    if thread:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread:
            thread.join()
