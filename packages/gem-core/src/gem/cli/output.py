"""What commands print: tables for people, JSON for programs, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

__all__ = ["console", "json_option", "print_json", "progress", "table"]

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Add ``--json`` to a command, passed on as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Return a console on stdout. Output that is piped is neither coloured nor cut to a narrow width."""
    from rich.console import Console

    piped_width = None if sys.stdout.isatty() else 160
    return Console(highlight=False, width=piped_width, soft_wrap=False)


def table(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """Return an empty table; the columns in ``right`` hold numbers."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return made


def progress() -> Progress:
    """Return a progress bar on stderr that is silent where stderr is no terminal."""
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
