"""``gem hub``: the group, which imports a subcommand only when it is used."""

from __future__ import annotations

import click

from gem.cli.command_table import CommandTable

__all__ = ["hub_command"]

COMMANDS = {
    "search": "gem.cli.hub_search:search_command",
    "info": "gem.cli.hub_info:info_command",
    "list": "gem.cli.hub_list:list_command",
    "install": "gem.cli.hub_install:install_command",
    "lock": "gem.cli.hub_lock:lock_command",
    "audit": "gem.cli.hub_audit:audit_command",
    "verify": "gem.cli.hub_verify:verify_command",
    "update": "gem.cli.hub_update:update_command",
    "use": "gem.cli.hub_use:use_command",
}
"""The subcommands of gem-core. Plugins add theirs through the hook ``gem_commands``, as ``hub NAME``."""


class HubCommands(CommandTable):
    """The commands of ``gem hub``; those of the registry side come with gem-hub."""

    table = COMMANDS
    prefix = "hub "


@click.group("hub", cls=HubCommands)
def hub_command() -> None:
    """Find and install packages of environments.

    \b
    Examples:
      gem hub search sudoku                     which packages have such an environment
      gem hub info gem-envs-games               everything about one of them
      gem hub install gem-envs-games            exactly that file, checked by its digest
      gem hub use https://hub.example/gem       another hub than the official one
      gem hub update                            load what is new
    """
