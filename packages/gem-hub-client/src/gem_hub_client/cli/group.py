"""``gem hub``: the group, which imports a subcommand only on use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from gem_hub_client.errors import HubError

__all__ = ["COMMANDS", "REGISTRY_COMMANDS", "hub_command", "registry_is_installed"]

COMMANDS = {
    "search": "gem_hub_client.cli.search:search_command",
    "info": "gem_hub_client.cli.info:info_command",
    "diff": "gem_hub_client.cli.diff:diff_command",
    "sbom": "gem_hub_client.cli.sbom:sbom_command",
    "list": "gem_hub_client.cli.list:list_command",
    "install": "gem_hub_client.cli.install:install_command",
    "lock": "gem_hub_client.cli.lock:lock_command",
    "results": "gem_hub_client.cli.results:results_command",
    "audit": "gem_hub_client.cli.audit:audit_command",
    "verify": "gem_hub_client.cli.verify:verify_command",
    "checkpoint": "gem_hub_client.cli.checkpoint:checkpoint_command",
    "update": "gem_hub_client.cli.update:update_command",
    "use": "gem_hub_client.cli.use:use_command",
    "login": "gem_hub_client.cli.login:login_command",
    "logout": "gem_hub_client.cli.login:logout_command",
    "whoami": "gem_hub_client.cli.login:whoami_command",
    "publish": "gem_hub_client.cli.publish:publish_command",
    "yank": "gem_hub_client.cli.remote_changes:yank_command",
    "unyank": "gem_hub_client.cli.remote_changes:unyank_command",
    "deprecate": "gem_hub_client.cli.remote_changes:deprecate_command",
    "quarantine": "gem_hub_client.cli.remote_changes:quarantine_command",
    "owner": "gem_hub_client.cli.remote_changes:owner_command",
    "report": "gem_hub_client.cli.remote_changes:report_command",
    "downloads": "gem_hub_client.cli.downloads:downloads_command",
    "webhooks": "gem_hub_client.cli.webhooks:webhooks_command",
    "org": "gem_hub_client.cli.org:org_command",
    "tokens": "gem_hub_client.cli.tokens:tokens_command",
    "publishers": "gem_hub_client.cli.publishers:publishers_command",
}
"""The client's own subcommands. Those that change a hub take a folder as well where gem-hub is installed."""

REGISTRY_COMMANDS = {
    "attest": "gem_hub.cli.attest:attest_command",
    "attestations": "gem_hub.cli.attest:attestations_command",
    "check": "gem_hub.cli.check:check_command",
    "keys": "gem_hub.cli.keys:keys_command",
    "sign": "gem_hub.cli.sign:sign_command",
    "rebuild": "gem_hub.cli.rebuild:rebuild_command",
    "serve": "gem_hub.cli.serve:serve_command",
    "admin": "gem_hub.cli.admin:admin_command",
    "site": "gem_hub.cli.site:site_command",
}
"""The subcommands of the registry side, which the distribution gem-hub brings."""

_LONGEST_SUMMARY = 90
"""Characters of a command's description in the list of all commands."""


def registry_is_installed() -> bool:
    """Tell whether gem-hub is there, without importing it."""
    from importlib.util import find_spec

    package = REGISTRY_COMMANDS["rebuild"].partition(".")[0]
    return find_spec(package) is not None


class HubCommands(click.Group):
    """Loads subcommands by name, and presents the client's errors as click presents its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(REGISTRY_COMMANDS if registry_is_installed() else ())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in REGISTRY_COMMANDS and not registry_is_installed():
            raise click.UsageError(f"'gem hub {cmd_name}' comes with gem-hub; run: pip install gem-hub", ctx)
        target = COMMANDS.get(cmd_name) or REGISTRY_COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        try:
            command: click.Command = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise click.ClickException(f"'gem hub {cmd_name}' cannot be loaded: {error}") from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(ctx, name)) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(_unknown(name), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HubError as error:
            raise click.ClickException(str(error)) from error

    def _summary(self, ctx: click.Context, name: str) -> str:
        try:
            command = self.get_command(ctx, name)
        except click.ClickException as error:  # a broken gem-hub must not take the help of all others along
            return f"({error.message})"
        return "" if command is None else command.get_short_help_str(_LONGEST_SUMMARY)


def _unknown(name: str) -> str:
    from gem_hub_client.typo import nearest

    hint = nearest(name, [*COMMANDS, *REGISTRY_COMMANDS])
    found = f"; did you mean 'hub {hint}'?" if hint else ""
    return f"there is no command 'hub {name}'{found}"


@click.group("hub", cls=HubCommands)
def hub_command() -> None:
    """Find, install and publish packages of environments.

    \b
    Examples:
      gem hub search sudoku                     which packages have such an environment
      gem hub info gem-envs-games               everything about one of them
      gem hub install gem-envs-games            exactly that file, checked by its digest
      gem hub use https://hub.example/gem       another hub than the official one
      gem hub update                            load the newest catalogues
      gem hub login --hub https://hub.example   an account at a hub
      gem hub publish                           dist/*.whl, to that hub
    """
