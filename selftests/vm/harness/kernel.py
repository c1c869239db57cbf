# SPDX-License-Identifier: GPL-2.0-only
"""A kernel in the cache: a distribution's, fetched by scripts/fetch/fetch-kernel when it is not there, or
"debug", built by scripts/fetch/debug-kernel."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .architecture import Architecture, architecture
from .paths import ROOT


@dataclass(frozen=True)
class Kernel:
    """version is the short name ("6.12", "debug", "6.12-arm64"); release is what uname -r says in the guest."""

    version: str
    release: str
    directory: Path

    @property
    def image(self) -> Path:
        return self.directory / "boot" / f"vmlinuz-{self.release}"

    @property
    def architecture(self) -> Architecture:
        return architecture(self.release)

    @property
    def debug(self) -> bool:
        """Built to find faults: it needs more memory and more time."""
        return self.version == "debug"

    @property
    def has_smc(self) -> bool:
        """It comes with an smc.ko of its own."""
        return (self.modules / "kernel/net/smc").exists()

    @property
    def patience(self) -> int:
        """How many times longer than on a stock kernel anything may take."""
        return 5 if self.debug else 1

    @property
    def modules(self) -> Path:
        """The whole unpacked tree as packaged, without an index."""
        return self.directory / "lib" / "modules" / self.release


def _driver(script: str, version: str) -> Path:
    done = subprocess.run([ROOT / "selftests/vm" / script, version], stdout=subprocess.PIPE,
                          stderr=sys.stderr, text=True, check=True)
    return Path(done.stdout.strip())


@functools.cache
def roce_v1(kernel: Kernel) -> Path:
    """The soft-RoCE of this kernel that has RoCE v1 GIDs, too; built if need be."""
    return _driver("roce-v1", kernel.version)


@functools.cache
def siw(kernel: Kernel) -> Path:
    """soft-iWARP for this kernel, which has none of its own; built if need be."""
    return _driver("siw", kernel.version)


@functools.cache
def kernel(version: str) -> Kernel:
    """Fetches if need be. Raises CalledProcessError when the package cannot be had."""
    script = ROOT / "scripts/fetch/fetch-kernel"
    done = subprocess.run([script, "--image", "--path", version], stdout=subprocess.PIPE, stderr=sys.stderr, text=True,
                          check=True)
    directory = Path(done.stdout.strip()).resolve()
    found = Kernel(version, directory.name, directory)
    if not found.image.exists():
        raise FileNotFoundError(f"{script} {version} gave {directory}, which has no {found.image}")
    return found
