"""``gem hub``: the group, which imports a subcommand only when it is used."""

from __future__ import annotations

from typing import Any

import click

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

REGISTRY = ("publish", "yank", "unyank", "deprecate", "quarantine", "owner", "rebuild", "serve", "site")
"""The subcommands of gem-hub, so that they can be named where it is not installed."""


class HubTable(click.Group):
    """A group that imports a command only when it is used, and plugins only for what gem-core does not have."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *sorted(_plugin_commands().keys() - COMMANDS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from gem.entry_points import load

        target = COMMANDS.get(cmd_name) or _plugin_commands().get(cmd_name)
        if target is None:
            return None
        command = load(target)
        if not isinstance(command, click.Command):
            raise click.ClickException(
                f"the plugin behind 'gem hub {cmd_name}' offers {command!r}, which is no click command"
            )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(_unknown_command(name, self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)


@click.group("hub", cls=HubTable)
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


def _plugin_commands() -> dict[str, Any]:
    from gem.plugins import names

    found = names("gem_commands")
    return {name.removeprefix("hub "): target for name, target in found.items() if name.startswith("hub ")}


def _unknown_command(name: str, known: list[str]) -> str:
    from gem.arguments import nearest
    from gem.official import install_line

    if name in REGISTRY:
        return f"'gem hub {name}' comes with gem-hub; run: {install_line('gem-hub')}"
    hint = nearest(name, [*known, *REGISTRY])
    return f"there is no command 'hub {name}'" + (f"; did you mean 'hub {hint}'?" if hint else "")
