"""Options and arguments of several commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gem_terminal.engines import NAMES

__all__ = ["engine_option", "targets_argument"]

F = TypeVar("F", bound=Callable[..., Any])


def engine_option(command: F) -> F:
    """Add ``--engine``, passed on as ``engine_name``."""
    return click.option(
        "--engine",
        "engine_name",
        type=click.Choice(["auto", *NAMES]),
        default="auto",
        show_default=True,
        help="The container engine; auto is the one in GEM_TERMINAL_ENGINE, or the first that works.",
    )(command)


def targets_argument(command: F) -> F:
    """Add any number of folders and names of tasks, passed on as ``targets``."""
    return click.argument("targets", metavar="[PATH|NAME]...", nargs=-1)(command)
