"""Tables on a terminal: :class:`Table`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import click

__all__ = ["Table"]

_GAP = "  "


@dataclass
class Table:
    """Rows of text under column names.

    No word is broken, so that ids can be copied: where the words do not fit side by side, each row becomes a paragraph.

    Attributes:
        columns: the names.
        right: the columns with numbers, which end at their right edge.
        title: a line above the table.
        rows: the cells of each row.
        whole: the columns with commands to copy, whose cells stay on one line.
    """

    columns: tuple[str, ...]
    right: tuple[str, ...] = ()
    title: str | None = None
    rows: list[tuple[str, ...]] = field(default_factory=list)
    whole: Collection[str] = ()

    def add_row(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(cells)

    def show(self, end: str = "\n\n") -> None:
        """Print the table and ``end``: folded to the width of a terminal, or as one plain line per row into a pipe."""
        widths = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        terminal = sys.stdout.isatty()
        lines = [] if self.title is None else [click.style(self.title, bold=True)]
        if terminal:
            available = shutil.get_terminal_size().columns - 1
            fitting = self._shrunk(widths, available)
            if fitting is None:
                click.echo("\n".join([*lines, *self._paragraphs(available)]) + end, nl=False)
                return
            widths = fitting
        lines += [click.style(line, bold=True) for line in self._lines(self.columns, widths)]
        if terminal:
            lines.append(click.style("─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), dim=True))
        lines += [line for cells in self.rows for line in self._lines(cells, widths)]
        click.echo("\n".join(lines) + end, nl=False)

    def _shrunk(self, widths: list[int], available: int) -> list[int] | None:
        """Return widths that fit, taken from the widest columns; None if whole words do not fit."""
        widths = list(widths)
        narrowest = [
            width if name in self.whole else max((len(word) for cell in cells for word in cell.split()), default=0)
            for name, width, cells in zip(self.columns, widths, zip(self.columns, *self.rows, strict=True), strict=True)
        ]
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - available
        while excess > 0:
            slack, widest = max((w - n, i) for i, (w, n) in enumerate(zip(widths, narrowest, strict=True)))
            if slack <= 0:
                return None
            widths[widest] -= 1
            excess -= 1
        return widths

    def _lines(self, cells: tuple[str, ...], widths: list[int]) -> Iterator[str]:
        """Yield a row, its cells folded to the widths of their columns."""
        folded = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for number in range(max(map(len, folded))):
            parts = [(lines[number : number + 1] or [""])[0] for lines in folded]
            aligned = [
                part.rjust(width) if name in self.right else part.ljust(width)
                for part, width, name in zip(parts, widths, self.columns, strict=True)
            ]
            yield _GAP.join(aligned).rstrip()

    def _paragraphs(self, width: int) -> Iterator[str]:
        """Yield each row as lines: its first cell, the others with their names, and commands on lines of their own."""
        for cells in self.rows:
            named = [(name, cell) for name, cell in zip(self.columns[1:], cells[1:], strict=True) if cell]
            yield click.style(cells[0], bold=True)
            rest = ", ".join(f"{name} {cell}" for name, cell in named if name not in self.whole)
            for line in _folded(rest, width - 2) if rest else ():
                yield f"  {line}"
            for name, cell in named:
                if name in self.whole:
                    yield f"  {name}: {cell}"


def _folded(text: str, width: int) -> list[str]:
    """Return a cell in lines of at most ``width`` characters; one that fits stays as it is, blanks included."""
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False) or [""]
