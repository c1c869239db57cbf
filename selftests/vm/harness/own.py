# SPDX-License-Identifier: GPL-2.0-only
"""Where our smc.ko for a given kernel is."""

import os
from pathlib import Path

from .kernel import Kernel
from .paths import BUILD


# By what follows the kernel in a topology: the folder of `make own-option`'s and `make no-rdma`'s.
BUILDS = {"own": "own-option", "no-rdma": "no-rdma"}


def own_module(kernel: Kernel, build: str = "") -> Path:
    """SMC_KO names one file for every kernel; else it is what `make KVER=<version>` built, or
    one that was built in another way (BUILDS)."""
    forced = os.environ.get("SMC_KO")
    if forced:
        return Path(forced)
    return BUILD / BUILDS.get(build, "") / kernel.release / "smc.ko"
