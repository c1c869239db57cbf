# SPDX-License-Identifier: GPL-2.0-only
"""Boots one guest or two joined guests, runs commands in them, and judges the run.

What a test author needs is re-exported here; README.md beside this package shows it in use.
"""

from .case import Skip, case
from .guest import Guest
from .shell import CommandFailed, Process, Result
from .topology import Pair, Solo, Spec

__all__ = ["CommandFailed", "Guest", "Pair", "Process", "Result", "Skip", "Solo", "Spec", "case"]
