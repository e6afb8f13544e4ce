"""The failures of episodes on the command line: :func:`print_failures`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import click

from gem_cli.terminal_text import printable

__all__ = ["print_failures"]

_MOST = 3
_LENGTH = 300


def print_failures(share: str, counts: Counter[str], messages: Mapping[str, str], remark: str = "") -> None:
    """Write to standard error how many episodes failed, and the first message of each kind.

    Args:
        share: how many, in words.
        counts: kind → how often it came.
        messages: kind → its first message.
        remark: on a line before the kinds.
    """
    verb = "counts" if share.startswith(("every ", "1 ")) else "count"
    click.secho(f"Warning: {share} failed and {verb} in no mean. The first of each kind:", fg="yellow", err=True)
    if remark:
        click.echo(f"  {remark}", err=True)
    for kind, count in counts.most_common(_MOST):
        click.echo(f"  {count} x {printable(kind)}: {printable(messages.get(kind, ''))[:_LENGTH]}", err=True)
