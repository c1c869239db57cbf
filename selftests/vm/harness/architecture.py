# SPDX-License-Identifier: GPL-2.0-only
"""What guests of one processor architecture need: an emulator, and a file tree to run on."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .paths import BUILD, ROOT


@dataclass(frozen=True)
class Architecture:
    """name: of Debian's. emulator: QEMU's program; machine: what it plays; processor: of which
    kind, when it is emulated; console: the device of its serial port. foreign: not that of this
    machine, whose programs do not run in such guests."""

    name: str
    emulator: str
    machine: tuple[str, ...]
    processor: str
    console: str
    foreign: bool = True

    @functools.cached_property
    def root(self) -> Path:
        """The file tree; fetched if need be."""
        if not self.foreign:
            return Path("/")
        done = subprocess.run([ROOT / "scripts/fetch/guest-root", self.name],
                              stdout=subprocess.PIPE, stderr=sys.stderr, text=True, check=True)
        return Path(done.stdout.strip())

    @property
    def shares(self) -> dict[str, tuple[Path, Path]]:
        """What is put over the file tree, by 9p tag, and where: the sources, and the programs that
        were built for it (make guest-programs-arm64) in place of this machine's."""
        if not self.foreign:
            return {}
        return {"tree": (ROOT, ROOT)} | {
            name: (BUILD / self.name / name, BUILD / name) for name in ("selftests", "tools")}


# Without ERMS and FSRM the kernel does not copy by `rep movs`, which emulation is slow at. Without
# CX16 it does without cmpxchg16b (SLUB is full of it), after which QEMU 7.2 has, now and then, bits of
# a pointer in the flags register: single steps, interrupts switched off, copies that run backwards.
OWN = Architecture("amd64", "qemu-system-x86_64", (), "max,-erms,-fsrm,-cx16", "ttyS0", foreign=False)

# A processor of Arm's servers with atomic instructions, and without pointer authentication, whose
# emulation takes most of the time.
_OTHERS = (Architecture("arm64", "qemu-system-aarch64", ("-machine", "virt,gic-version=3"),
                        "neoverse-n1", "ttyAMA0"),)


def architecture(release: str) -> Architecture:
    """Of a kernel, by the end of its release."""
    ending = release.rpartition("-")[2]
    return next((found for found in _OTHERS if found.name == ending), OWN)
