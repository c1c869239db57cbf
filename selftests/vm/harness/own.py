# SPDX-License-Identifier: GPL-2.0-only
"""Where our smc.ko for a given kernel is."""

import os
from pathlib import Path

from .kernel import Kernel
from .paths import BUILD


def own_module(kernel: Kernel, own_option: bool = False) -> Path:
    """SMC_KO names one file for every kernel; else it is what `make KVER=<version>` built, or
    with SMC_OWN_OPTION=y what `make own-option` did."""
    forced = os.environ.get("SMC_KO")
    if forced:
        return Path(forced)
    return BUILD / ("own-option" if own_option else "") / kernel.release / "smc.ko"
