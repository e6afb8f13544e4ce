"""A group of commands that are imported only when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from gem.errors import GemError

__all__ = ["CommandTable"]

_LONGEST_SUMMARY = 90
"""Characters of a command's description that the list of all commands shows."""


class CommandTable(click.Group):
    """Offers the commands of a table and those of plugins; loads plugins only for names outside the table."""

    table: ClassVar[Mapping[str, str]]
    """Name → ``"module:attribute"``."""
    prefix: ClassVar[str] = ""
    """Prefix of this group's commands in the hook ``gem_commands``, such as ``"terminal "``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.table, *sorted(self._of_plugins().keys() - self.table.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from gem.entry_points import load

        target = self.table.get(cmd_name) or self._of_this_project(cmd_name) or self._of_plugins().get(cmd_name)
        if target is None:
            return None
        command = load(target)
        if not isinstance(command, click.Command):
            raise click.ClickException(
                f"the plugin behind 'gem {self.prefix}{cmd_name}' offers {command!r}, which is not a click command"
            )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(ctx, name)) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(self._unknown(name, self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def _summary(self, ctx: click.Context, name: str) -> str:
        try:
            command = self.get_command(ctx, name)
        except (GemError, click.ClickException) as error:  # a broken plugin must not break the help of all others
            return f"(cannot be loaded: {error})"
        return "" if command is None else command.get_short_help_str(_LONGEST_SUMMARY)

    def _of_this_project(self, name: str) -> Any:
        from gem.discovery.official import COMMANDS
        from gem.plugins import offered_by

        return offered_by(COMMANDS.get(self.prefix + name), "gem_commands", self.prefix + name)

    def _of_plugins(self) -> dict[str, Any]:
        from gem.plugins import names

        found = {
            name.removeprefix(self.prefix): target
            for name, target in names("gem_commands").items()
            if name.startswith(self.prefix)
        }
        return {name: target for name, target in found.items() if " " not in name}

    def _unknown(self, name: str, known: list[str]) -> str:
        from gem.arguments import nearest
        from gem.discovery.official import COMMANDS, install_line

        provider = COMMANDS.get(self.prefix + name)
        if provider is not None:
            return f"'gem {self.prefix}{name}' comes with {provider}; run: {install_line(provider)}"
        installable = [c.removeprefix(self.prefix) for c in COMMANDS if c.startswith(self.prefix)]
        hint = nearest(name, [*known, *(c for c in installable if " " not in c)])
        found = f"; did you mean '{self.prefix}{hint}'?" if hint else ""
        return f"there is no command '{self.prefix}{name}'{found}"
