# SPDX-License-Identifier: GPL-2.0-only
"""All rows of selftests/bench/count."""

from adapter import BY_ADAPTER
from inside import FALLEN_BACK, OVER_SMCD, OVER_SMCR, CountRow

ROWS: tuple[CountRow, ...] = (*FALLEN_BACK, *OVER_SMCR, *OVER_SMCD,
                              *(row for rows in BY_ADAPTER.values() for row in rows))
