"""``gem terminal``."""

from __future__ import annotations

import click

from gem_cli.command_table import CommandTable

__all__ = ["terminal_command"]

COMMANDS = {
    "engines": "gem_terminal.cli.engines:engines_command",
    "list": "gem_terminal.cli.listing:list_command",
    "shell": "gem_terminal.cli.shell:shell_command",
    "new": "gem_terminal.cli.new:new_command",
    "audit": "gem_terminal.cli.audit:audit_command",
    "verify": "gem_terminal.cli.verify:verify_command",
    "build": "gem_terminal.cli.build:build_command",
    "base": "gem_terminal.cli.base:base_command",
    "export": "gem_terminal.cli.export:export_command",
    "reap": "gem_terminal.cli.reap:reap_command",
    "snapshots": "gem_terminal.cli.snapshots:snapshots_command",
}


class TerminalCommands(CommandTable):
    """The commands of ``gem terminal``."""

    table = COMMANDS
    prefix = "terminal "


@click.group("terminal", cls=TerminalCommands)
def terminal_command() -> None:
    """Tasks in containers: list them, try them, verify them, build their images.

    \b
    Examples:
      gem terminal engines                      the engines that work here
      gem terminal list                         the bundled tasks
      gem terminal shell ledger                 try one of them
      gem terminal new my-task                  write a new task
      gem terminal verify my-task               check that its solution passes and doing nothing fails
      gem terminal audit my-tasks               what many tasks need, and what their verdicts are worth
    """
