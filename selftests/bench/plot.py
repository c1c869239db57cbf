#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tables of ratios as pictures: for each row a bar for each variant, as multiples of TCP.

    selftests/bench/plot.py Documentation/benchmarks.md

draws those of a page again from what its tables say. Nothing is drawn that is not in the table,
so the same table gives the same picture.
"""

import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Iterator

BASE = "TCP"
FOLDER = "plots"

_WIDTH, _MARGIN, _CHARACTER = 820, 12, 6.4
_BAR, _GAP, _TOP, _BOTTOM = 11, 12, 48, 38
_VALUE_WIDTH = 40
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_TICKS_MAX = 8
# In the order of the columns. Readable on white and on black.
_COLOURS = ("#3b82d6", "#e08a2e", "#4f9d69", "#a07cc5")
_STYLE = """
    text { font: 12px sans-serif; fill: #59636e; }
    .value { font-size: 10px; }
    .grid { stroke: #8b949e; stroke-opacity: 0.35; }
    .base, .half { stroke: #59636e; }
    @media (prefers-color-scheme: dark) {
        text { fill: #d1d7e0; }
        .base, .half { stroke: #d1d7e0; }
    }
"""
_RATIO = re.compile(r"\*\*([0-9.]+)\*\*(?: \(([0-9.]+)…([0-9.]+)\))?")
_TABLE = re.compile(r"^\| .*\n\| ---.*\n(?:\| .*\n)+", re.MULTILINE)


@dataclass(frozen=True)
class Ratio:
    """low, high: the middle half of the rounds."""

    median: float
    low: float
    high: float


# variant: its ratio to BASE, where it has one
Ratios = dict[str, Ratio]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _ratio(cell: str) -> Ratio | None:
    found = _RATIO.fullmatch(cell)
    if not found:
        return None
    median, low, high = (float(value or found[1]) for value in found.groups())
    return Ratio(median, low, high)


def read_table(text: str) -> dict[str, Ratios]:
    """The columns "<variant> : TCP", by row."""
    head, _, *lines = text.splitlines()
    columns = {index: name.removesuffix(f" : {BASE}") for index, name in enumerate(_cells(head))
               if name.endswith(f" : {BASE}")}
    rows = {}
    for line in lines:
        cells = _cells(line)
        found = {name: _ratio(cells[index]) for index, name in columns.items()}
        # A ratio has no unit.
        rows[cells[0].rpartition(", ")[0]] = {name: ratio for name, ratio in found.items() if ratio}
    return {label: ratios for label, ratios in rows.items() if ratios}


class _Chart:
    """The chart as drawn so far; y is where the next row begins."""

    def __init__(self, rows: dict[str, Ratios]) -> None:
        self._rows = rows
        ratios = [ratio for row in rows.values() for ratio in row.values()]
        most = max(1.0, *(ratio.high for ratio in ratios))
        self._left = _MARGIN * 2 + max(map(len, rows)) * _CHARACTER
        self._scale = (_WIDTH - self._left - _VALUE_WIDTH) / most
        self._step = next(step for step in _STEPS if most / step <= _TICKS_MAX)
        self._ticks = [number * self._step for number in range(int(most / self._step) + 1)]
        self._names = list(dict.fromkeys(name for row in rows.values() for name in row))
        self._height = _TOP + _BOTTOM + sum(len(row) * _BAR + _GAP for row in rows.values())

    def svg(self, heading: str) -> str:
        title = f"{heading}: as multiples of {BASE}, longer is faster"
        lines = [*self._legend(title), *self._grid(), *self._bars()]
        body = "".join(f"  {line}\n" for line in lines)
        return ("<!-- SPDX-License-Identifier: GPL-2.0-only -->\n"
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{self._height}"'
                f' viewBox="0 0 {_WIDTH} {self._height}" role="img">\n'
                f"  <title>{escape(title)}</title>\n  <style>{_STYLE}  </style>\n{body}</svg>\n")

    def _x(self, ratio: float) -> float:
        return self._left + ratio * self._scale

    def _legend(self, title: str) -> Iterator[str]:
        yield f'<text x="{_MARGIN}" y="18">{escape(title)}</text>'
        x = float(_MARGIN)
        for name, colour in zip(self._names, _COLOURS):
            yield f'<rect x="{x:.1f}" y="29" width="10" height="10" fill="{colour}"/>'
            yield f'<text x="{x + 15:.1f}" y="38">{escape(name)}</text>'
            x += 40 + len(name) * _CHARACTER

    def _grid(self) -> Iterator[str]:
        below = self._height - _BOTTOM
        for tick in self._ticks:
            x = f"{self._x(tick):.1f}"
            yield f'<line class="grid" x1="{x}" y1="{_TOP}" x2="{x}" y2="{below}"/>'
            yield f'<text x="{x}" y="{below + 18}" text-anchor="middle">{tick:g}</text>'
        x = f"{self._x(1):.1f}"
        yield f'<line class="base" x1="{x}" y1="{_TOP}" x2="{x}" y2="{below}"/>'
        yield f'<text class="value" x="{x}" y="{below + 31}" text-anchor="middle">{BASE}</text>'

    def _bars(self) -> Iterator[str]:
        y = _TOP + _GAP / 2
        for label, row in self._rows.items():
            middle = y + len(row) * _BAR / 2 + 4
            yield (f'<text x="{self._left - _MARGIN:.1f}" y="{middle:.1f}" text-anchor="end">'
                   f"{escape(label)}</text>")
            for name, ratio in row.items():
                yield from self._bar(y, ratio, _COLOURS[self._names.index(name)])
                y += _BAR
            y += _GAP

    def _bar(self, y: float, ratio: Ratio, colour: str) -> Iterator[str]:
        yield (f'<rect x="{self._left:.1f}" y="{y:.1f}" width="{ratio.median * self._scale:.1f}"'
               f' height="{_BAR - 2}" fill="{colour}"/>')
        middle = f"{y + _BAR / 2 - 1:.1f}"
        if ratio.low != ratio.high:
            yield (f'<line class="half" x1="{self._x(ratio.low):.1f}" y1="{middle}"'
                   f' x2="{self._x(ratio.high):.1f}" y2="{middle}"/>')
        yield (f'<text class="value" x="{self._x(ratio.high) + 5:.1f}" y="{y + _BAR - 2:.1f}">'
               f"{ratio.median:.2f}</text>")


def picture_of(heading: str) -> str:
    """The path of the picture, relative to the page."""
    return f"{FOLDER}/{re.sub('[^a-z0-9]+', '-', heading.lower())}.svg"


def link(heading: str) -> str:
    return f"![{heading}: as multiples of {BASE}]({picture_of(heading)})"


def draw(page: Path, heading: str, table: str) -> None:
    """Draws the picture beside the page."""
    picture = page.parent / picture_of(heading)
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(_Chart(read_table(table)).svg(heading))


def main() -> int:
    page = Path(sys.argv[1])
    for section in page.read_text().split("\n## ")[1:]:
        table = _TABLE.search(section)
        if table and read_table(table[0]):
            draw(page, section.splitlines()[0], table[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
