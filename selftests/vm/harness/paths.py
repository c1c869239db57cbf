# SPDX-License-Identifier: GPL-2.0-only
"""Where things lie: the source tree, its build directory, and the cache outside of it."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SMC_BUILD", ROOT / "build"))
GUEST_DIR = ROOT / "selftests" / "vm" / "guest"
RUNS = BUILD / "vm"
RESULTS = BUILD / "results"


def cache_dir() -> Path:
    """The cache of kernels and module trees; survives `make clean`."""
    base = os.environ.get("SMC_CACHE_DIR")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "smc"
