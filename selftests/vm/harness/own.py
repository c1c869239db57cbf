# SPDX-License-Identifier: GPL-2.0-only
"""Where our smc.ko for a given kernel is."""

import os
from pathlib import Path

from .kernel import Kernel
from .paths import BUILD


def own_module(kernel: Kernel) -> Path:
    """SMC_KO names one file for every kernel; else it is what `make KVER=<version>` built."""
    forced = os.environ.get("SMC_KO")
    return Path(forced) if forced else BUILD / kernel.release / "smc.ko"
