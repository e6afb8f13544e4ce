"""Output of commands: tables and prose for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import click

from gem_cli.terminal_text import is_hostile, printable, wrapped
from gem_hub_client.cli.output import json_option
from gem_hub_client.terminal_table import Table

__all__ = ["Table", "as_text", "json_option", "print_json", "print_prose"]


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


def print_prose(text: str = "", style: str = "", *, indent: int = 0, end: str = "\n") -> None:
    """Print a text: broken between words in a terminal, as it is into a pipe.

    Args:
        text: the text.
        style: words for a terminal, such as ``"bold cyan"``: ``bold``, ``dim``, and colours.
        indent: columns that are taken in the first line, and left free in the others.
        end: what follows the text.
    """
    if sys.stdout.isatty():
        text = wrapped(text, shutil.get_terminal_size().columns - indent).replace("\n", "\n" + " " * indent)
    words = style.split()
    colour = next((word for word in words if word not in ("bold", "dim")), None)
    styled = click.style(text, fg=colour, bold="bold" in words or None, dim="dim" in words or None) if words else text
    click.echo(styled + end, nl=False)
