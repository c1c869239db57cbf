# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a benchmark, the figures of several variants taken in turns, and the table of their
ratios."""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Callable


@dataclass(frozen=True)
class Row:
    """One line of the table. faster_is_more: a rate, not a time."""

    name: str
    options: str
    unit: str
    faster_is_more: bool

    def ratio(self, value: float, base: float) -> float:
        """How many times as fast as base."""
        return value / base if self.faster_is_more else base / value


# values[variant][row name] = one figure for each round; none where the variant cannot do it
Values = dict[str, dict[str, list[float]]]


def _median_and_half(values: list[float], form: Callable[[float], str], mark: str = "") -> str:
    """The median, and between what the middle half lies."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 \
        else values * 3
    return f"{mark}{form(statistics.median(values))}{mark} ({form(low)}…{form(high)})"


def figures(values: list[float]) -> str:
    if not values:
        return "–"

    def text(value: float) -> str:
        return f"{value:.0f}" if value >= 100 else f"{value:.1f}"

    return _median_and_half(values, text)


def ratios(row: Row, values: Values, variant: str, base: str) -> str:
    each = [row.ratio(value, other)
            for value, other in zip(values[variant][row.name], values[base][row.name])]
    if not each:
        return "–"
    return _median_and_half(each, "{:.2f}".format, "**")


def table(values: Values, rows: tuple[Row, ...], variants: tuple[str, ...],
          pairs: tuple[tuple[str, str], ...]) -> str:
    heads = ["", *(f"{variant}" for variant in variants)]
    heads += [f"{variant} : {base}" for variant, base in pairs]
    lines = [" | ".join(heads), " | ".join(["---"] * len(heads))]
    for row in rows:
        cells = [f"{row.name}, {row.unit}"]
        cells += [figures(values[variant][row.name]) for variant in variants]
        cells += [ratios(row, values, variant, base) for variant, base in pairs]
        lines.append(" | ".join(cells))
    return "".join(f"| {line} |\n" for line in lines)


def write_results(path: Path, heading: str, text: str) -> None:
    """Replaces what stands under the heading, up to the next one, and leaves the rest."""
    before, found, behind = path.read_text().partition(f"## {heading}\n") if path.exists() else \
        ("<!-- SPDX-License-Identifier: GPL-2.0-only -->\n# Benchmarks\n", "", "")
    _, following, rest = behind.partition("\n## ")
    before = before if found else f"{before}\n"
    path.write_text(f"{before}## {heading}\n\n{text}{following}{rest}")
