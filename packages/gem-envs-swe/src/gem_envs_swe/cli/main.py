"""``gem swe``."""

from __future__ import annotations

import click

from gem_cli.command_table import CommandTable

__all__ = ["swe_command"]

COMMANDS = {
    "check": "gem_envs_swe.cli.check:check_command",
    "make": "gem_envs_swe.cli.make:make_command",
}


class SweCommands(CommandTable):
    """The commands of ``gem swe``."""

    table = COMMANDS
    prefix = "swe "


@click.group("swe", cls=SweCommands)
def swe_command() -> None:
    """Tasks of software engineering: make them from a package, check published ones.

    \b
    Examples:
      gem swe make more-itertools==10.8.0 --tasks 20 --out tasks
      gem eval swe:Folder-v0 --arg path=tasks --agent reference
      gem swe check swe-bench-verified.parquet
    """
