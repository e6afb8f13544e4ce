"""Output of commands: tables for people, JSON for programs, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gem_cli.terminal_text import is_hostile, printable, wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["Table", "as_text", "console", "json_option", "print_json", "print_prose", "progress"]

_BETWEEN = 2
"""Characters between two columns."""

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Add ``--json`` to a command, passed on as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def print_json(value: Any) -> None:
    """Print a value as indented JSON; as ASCII where other characters could change more than they show."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    click.echo(json.dumps(value, indent=2) if is_hostile(text) else text)


def as_text(value: Any) -> str:
    """Return an observation or action as text for a terminal.

    Control characters are made visible, as models and environments may emit escape sequences. For pictures see
    :mod:`gem_cli.pictures`.
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list) and value and all(isinstance(part, dict) and "type" in part for part in value):
        from gem_cli.pictures import picture_text

        return "\n".join(
            printable(str(part.get("text", ""))) if part["type"] == "text" else picture_text(part) for part in value
        )
    return repr(value)


def console() -> Console:
    """Return a console on stdout. Piped output is neither coloured nor cut to a narrow width."""
    from rich.console import Console

    piped_width = None if sys.stdout.isatty() else 160
    return Console(highlight=False, width=piped_width, soft_wrap=False)


def print_prose(out: Console, text: str, indent: int = 0, **style: Any) -> None:
    """Print a text without markup: broken between words in a terminal, as it is into a pipe.

    Args:
        out: the console.
        text: the text.
        indent: columns that are taken in the first line, and left free in the others.
        **style: passed on to the console.
    """
    if sys.stdout.isatty():
        text = wrapped(text, out.width - indent).replace("\n", "\n" + " " * indent)
    out.print(text, markup=False, soft_wrap=True, **style)


@dataclass
class Table:
    """Rows of text under column names; the columns in ``right`` hold numbers.

    No word is broken, so that ids can be copied: where the words do not fit side by side, each row becomes a paragraph.
    """

    columns: tuple[str, ...]
    right: tuple[str, ...] = ()
    title: str | None = None
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        self.rows.append(cells)

    def show(self) -> None:
        """Print the table: drawn to the width of a terminal, or as one plain line per row into a pipe."""
        if sys.stdout.isatty():
            out = console()
            widths = self._widths(out.width)
            if widths is not None:
                out.print(self._drawn(widths))
            else:
                click.echo("\n".join(self._paragraphs(out.width)) + "\n")
        else:
            click.echo("\n".join(self._lines()) + "\n")

    def _widths(self, available: int) -> list[int] | None:
        """Return widths that fit, taken from the widest columns; None if whole words do not fit."""
        columns = [*zip(self.columns, *self.rows, strict=True)]
        widths = [max(map(len, cells)) for cells in columns]
        narrowest = [max((len(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
        excess = sum(widths) + _BETWEEN * len(widths) - available
        while excess > 0:
            slack, widest = max((w - n, i) for i, (w, n) in enumerate(zip(widths, narrowest, strict=True)))
            if slack == 0:
                return None
            widths[widest] -= 1
            excess -= 1
        return widths

    def _paragraphs(self, width: int) -> Iterator[str]:
        if self.title is not None:
            yield click.style(self.title, bold=True)
        for cells in self.rows:
            named = [f"{name} {cell}" for name, cell in zip(self.columns, cells, strict=True) if cell]
            yield wrapped(", ".join(named), width - 1).replace("\n", "\n  ")

    def _drawn(self, widths: list[int]) -> Any:
        from rich import box
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(
            title=self.title,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for name, width in zip(self.columns, widths, strict=True):
            drawn.add_column(name, justify="right" if name in self.right else "left", width=width, overflow="fold")
        for cells in self.rows:
            drawn.add_row(*map(Text, cells))
        return drawn

    def _lines(self) -> Iterator[str]:
        if self.title is not None:
            yield self.title
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        for cells in (self.columns, *self.rows):
            aligned = [
                cell.rjust(width) if name in self.right else cell.ljust(width)
                for cell, width, name in zip(cells, widths, self.columns, strict=True)
            ]
            yield "  ".join(aligned).rstrip()


def progress() -> Progress:
    """Return a progress bar on stderr that is silent unless stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
