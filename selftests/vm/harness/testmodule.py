# SPDX-License-Identifier: GPL-2.0-only
"""Kernel modules that only tests use, built beside a guest's kernel; the sources stay as they are."""

import functools
import shutil
import subprocess
import sys
from pathlib import Path

from .kernel import Kernel
from .paths import BUILD, ROOT


@functools.cache
def _compiler(kernel: Kernel) -> list[str]:
    """For make; none if that of the headers is here."""
    return subprocess.run(["make", "-s", "-C", ROOT, "usual-cc", f"KVER={kernel.version}"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def built_module(kernel: Kernel, folder: str, name: str) -> Path:
    """<name>.ko, of all that is in the source tree's folder, which has a Kbuild."""
    home = BUILD / kernel.release / name
    home.mkdir(parents=True, exist_ok=True)
    for source in (ROOT / folder).iterdir():
        target = home / source.name
        # What has not changed keeps its time, and so is not compiled again.
        if source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
            shutil.copyfile(source, target)
    subprocess.run([ROOT / "scripts/fetch/build-root", "--for", kernel.directory, "make", "-s", "-C",
                    kernel.directory / "build", f"M={home}", *_compiler(kernel), "modules"],
                   stdout=sys.stderr, check=True)
    return home / f"{name}.ko"
