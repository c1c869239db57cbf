# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a benchmark, the figures of several variants taken in turns, and the table of their
ratios."""

import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from plot import draw, link


# The default file for tables.
RESULTS = Path(__file__).resolve().parents[2] / "build" / "benchmarks.md"


@dataclass(frozen=True)
class Row:
    """One line of the table. faster_is_more: a rate, not a time."""

    name: str
    options: str
    unit: str
    faster_is_more: bool

    @property
    def label(self) -> str:
        """Its name in the table."""
        return self.name

    def ratio(self, value: float, base: float) -> float:
        """How many times as fast as base."""
        return value / base if self.faster_is_more else base / value


# values[variant][row name] = one figure for each round; none where the variant cannot do it
Values = dict[str, dict[str, list[float]]]


def _median_and_half(values: list[float], form: Callable[[float], str], mark: str = "") -> str:
    """The median, and the middle half if there are several figures."""
    median = f"{mark}{form(statistics.median(values))}{mark}"
    if len(values) == 1:
        return median
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median} ({form(low)}…{form(high)})"


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
        cells = [f"{row.label}, {row.unit}"]
        cells += [figures(values[variant][row.name]) for variant in variants]
        cells += [ratios(row, values, variant, base) for variant, base in pairs]
        lines.append(" | ".join(cells))
    return "".join(f"| {line} |\n" for line in lines)


def how_often(rounds: int, seconds: float) -> str:
    """The end of the sentence before a table."""
    each = f"of {seconds:g} s for each figure."
    if rounds == 1:
        return f"one round {each} Ratios above 1 mean that the one named first is the faster."
    return (f"{rounds} rounds {each} Median (middle half); ratios above 1 mean that the one named"
            " first is the faster.")


# Of an adapter, for each message that a program sends.
COUNTERS = ("requests", "doorbells", "completions", "upcalls", "polls", "arms")
# counted[variant][row name][counter]
Counted = dict[str, dict[str, dict[str, float]]]


def counter_table(counted: Counted, rows: tuple[Row, ...], variants: tuple[str, str]) -> str:
    lines = [" | ".join(["", *COUNTERS]), " | ".join(["---"] * (1 + len(COUNTERS)))]
    for row in rows:
        each = [counted[variant][row.name] for variant in variants]
        lines.append(" | ".join([row.label, *(" / ".join(f"{one[name]:.2f}" for one in each)
                                              for name in COUNTERS)]))
    return "".join(f"| {line} |\n" for line in lines)


def write_results(path: Path, heading: str, about: str, shown: str, command: str,
                  picture: bool = True) -> None:
    """Replaces the text from the heading to the command of selftests/bench, and keeps the text
    behind it. Draws the picture, too."""
    page = path.read_text() if path.exists() else \
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n# Benchmarks\n"
    begin = f"## {heading}\n"
    drawn = f"{link(heading)}\n\n" if picture else ""
    section = f"{begin}\n{about}\n\n{shown}\n{drawn}    {command}\n"
    page, found = re.subn(rf"{re.escape(begin)}((?!## ).*\n)*?    selftests/bench/.*\n",
                          lambda _: section, page, count=1)
    path.parent.mkdir(exist_ok=True)
    path.write_text(page if found else f"{page}\n{section}")
    if picture:
        draw(path, heading, shown)
    print(section)
