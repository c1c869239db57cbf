# SPDX-License-Identifier: GPL-2.0-only
"""What guests of one processor architecture need: an emulator, and a file tree to run on."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .paths import BUILD, ROOT


def _printed_by(script: str, name: str) -> str:
    done = subprocess.run([ROOT / "scripts/fetch" / script, name], stdout=subprocess.PIPE,
                          stderr=sys.stderr, text=True, check=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Architecture:
    """name: of Debian's. qemu: the emulator's program; machine: what it plays; processor: of which
    kind, when it is emulated; console: the device of its serial port; card: its network card;
    bounces: its kernel has bounce buffers for DMA. foreign: not that of this machine, whose
    programs do not run in such guests; fetched: nor does its own release of QEMU do."""

    name: str
    qemu: str
    machine: tuple[str, ...]
    processor: str
    console: str
    # Nothing is booted from it.
    card: str = "virtio-net-pci,romfile="
    bounces: bool = True
    foreign: bool = True
    fetched: bool = False

    @functools.cached_property
    def emulator(self) -> str:
        """Fetched if need be."""
        return _printed_by("fetch-emulator", self.name) if self.fetched else self.qemu

    @functools.cached_property
    def root(self) -> Path:
        """The file tree; fetched if need be."""
        if not self.foreign:
            return Path("/")
        return Path(_printed_by("guest-root", self.name))

    @property
    def shares(self) -> dict[str, tuple[Path, Path]]:
        """What is put over the file tree, by 9p tag, and where: the sources, and the programs that
        were built for it (make guest-programs-<name>) in place of this machine's."""
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
_ARM64 = Architecture("arm64", "qemu-system-aarch64", ("-machine", "virt,gic-version=3"),
                      "neoverse-n1", "ttyAMA0")
# Big-endian.
_S390X = Architecture("s390x", "qemu-system-s390x", ("-machine", "s390-ccw-virtio"), "max",
                      "ttysclp0", "virtio-net-ccw", bounces=False, fetched=True)
_OTHERS = (_ARM64, _S390X)


def architecture(release: str) -> Architecture:
    """Of a kernel, by the end of its release."""
    ending = release.rpartition("-")[2]
    return next((found for found in _OTHERS if found.name == ending), OWN)
