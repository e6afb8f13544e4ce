"""``gem hub admin``: the operator's commands of a registry."""

from __future__ import annotations

from typing import Any

import click

from gem.ids import normalized_distribution
from gem_hub.accounts import account
from gem_hub.cli.registry_options import registry_command
from gem_hub.registry.quotas import DAY
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tokens import SCOPES
from gem_hub_client.cli.output import json_option, print_json
from gem_hub_client.state import utc

__all__ = ["admin_command"]


@click.group("admin")
def admin_command() -> None:
    """Run a registry: accounts, tokens, invites, and what has happened.

    These commands work on the registry's database, also while it serves.

    \b
    Examples:
      gem hub admin account add alice --hub /srv/hub
      gem hub admin token alice --hub /srv/hub
      gem hub admin invite --days 7 --hub /srv/hub
    """


@admin_command.group("account")
def account_group() -> None:
    """Create, list, disable and enable accounts."""


@account_group.command("add")
@click.argument("name")
@registry_command
def add_command(name: str, services: RegistryServices) -> None:
    """Create an account, also under a name that is reserved or owns packages of the hub already."""
    services.accounts.create(name)
    services.audit.add("account.create", name, account=account(), address="command line")
    click.echo(f"There is an account {name}. Next: gem hub admin token {name}")


@account_group.command("disable")
@click.argument("name")
@registry_command
def disable_command(name: str, services: RegistryServices) -> None:
    """Disable an account: all its tokens stop working."""
    _switch(name, services, disabled=True)


@account_group.command("enable")
@click.argument("name")
@registry_command
def enable_command(name: str, services: RegistryServices) -> None:
    """Enable a disabled account: its tokens work again."""
    _switch(name, services, disabled=False)


@account_group.command("list")
@json_option
@registry_command
def list_command(as_json: bool, services: RegistryServices) -> None:
    """List all accounts."""
    names = services.accounts.names()
    if as_json:
        print_json(names)
    for name in () if as_json else names:
        click.echo(name)


@admin_command.command("token")
@click.argument("name")
@click.option("--scope", "scopes", type=click.Choice(sorted(SCOPES)), multiple=True, help="[default: all]")
@click.option("--package", "packages", multiple=True, help="Only for this package; may be repeated.")
@click.option("--days", type=click.IntRange(min=1), help="Its lifetime.  [default: without end]")
@click.option("--label", default="command line", show_default=True, help="What it is for.")
@registry_command
def token_command(
    name: str,
    scopes: tuple[str, ...],
    packages: tuple[str, ...],
    days: int | None,
    label: str,
    services: RegistryServices,
) -> None:
    """Print a new token of an account. It cannot be shown again."""
    row = services.accounts.find(name)
    if row is None:
        raise click.ClickException(f"there is no account {name!r}; run: gem hub admin account add {name}")
    names = [normalized_distribution(package) for package in packages] or None
    token, number = services.tokens.mint(row.id, label, scopes or sorted(SCOPES), names, days and days * DAY)
    services.audit.add("token.create", f"token {number}", account=account(), address="command line", of=name)
    click.echo(token)


@admin_command.command("revoke")
@click.argument("number", type=int)
@registry_command
def revoke_command(number: int, services: RegistryServices) -> None:
    """Revoke a token by its number; see gem hub admin audit."""
    if not services.tokens.revoke(number):
        raise click.ClickException(f"there is no valid token {number}")
    services.audit.add("token.revoke", f"token {number}", account=account(), address="command line")
    click.echo(f"Token {number} is revoked.")


@admin_command.command("invite")
@click.option("--days", type=click.IntRange(min=1), default=14, show_default=True, help="How long it can be used.")
@registry_command
def invite_command(days: int, services: RegistryServices) -> None:
    """Print an invite, with which one person creates one account."""
    click.echo(services.accounts.invite(account(), days * DAY))
    services.audit.add("invite.create", "", account=account(), address="command line")


@admin_command.command("audit")
@click.option("--package", default="", help="Only what concerns this package.")
@click.option("--after", type=int, help="The lines that follow this number.  [default: the newest]")
@click.option("--most", type=click.IntRange(min=1), default=100, show_default=True, help="How many.")
@json_option
@registry_command
def audit_command(package: str, after: int | None, most: int, as_json: bool, services: RegistryServices) -> None:
    """Show the audit log, the newest line last; times are in UTC."""
    lines = [{**line, "created": utc(line["created"])} for line in services.audit.lines(after, most, package)]
    _show(lines, as_json, ("id", "created", "account", "action", "subject"))


@admin_command.command("queue")
@json_option
@registry_command
def queue_command(as_json: bool, services: RegistryServices) -> None:
    """Show how many releases wait for the conformance kit, in the public hub and in private ones."""
    queues = {"public": services.queue, "private": services.private_queue}
    lines = [
        {"hub": hub, "state": state, "releases": number}
        for hub, queue in queues.items()
        for state, number in queue.counts().items()
    ]
    _show(lines, as_json, ("hub", "state", "releases"))


def _switch(name: str, services: RegistryServices, disabled: bool) -> None:
    if not services.accounts.disable(name, disabled):
        raise click.ClickException(f"there is no account {name!r}")
    done = "disabled" if disabled else "enabled"
    services.audit.add(f"account.{done}", name, account=account(), address="command line")
    click.echo(f"The account {name} is {done}.")


def _show(lines: list[dict[str, Any]], as_json: bool, keys: tuple[str, ...]) -> None:
    if as_json:
        print_json(lines)
    for line in () if as_json else lines:
        click.echo("  ".join(ascii(line[key]).strip("'") for key in keys))
