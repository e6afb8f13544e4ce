"""``gem hub owner``."""

from __future__ import annotations

import click

from gem_hub.cli.options import by_option, hub_option, name_argument, record
from gem_hub.cli.validated import validated
from gem_hub.events import Owner
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option, print_json

__all__ = ["owner_command"]


@click.group("owner")
def owner_command() -> None:
    """Manage the owners, who may publish a package.

    \b
    Examples:
      gem hub owner list my-envs --hub /srv/hub
      gem hub owner add my-envs bob --hub /srv/hub
      gem hub owner remove my-envs alice --hub /srv/hub
    """


@owner_command.command("list")
@name_argument
@hub_option
@json_option
def list_command(name: str, store: Store, as_json: bool) -> None:
    """List the accounts that may publish a package, one per line."""
    owners = store.existing(name).owners
    if as_json:
        print_json(owners)
    else:
        click.echo("\n".join(owners))


@owner_command.command("add")
@name_argument
@click.argument("owner")
@hub_option
@by_option
@json_option
def add_command(name: str, owner: str, store: Store, by: str, as_json: bool) -> None:
    """Allow an account to publish a package."""
    event = validated(Owner, name=name, action="add", owner=owner, by=by)
    record(store, event, f"{owner} may publish {name}.", f"{owner} may publish {name} already.", as_json)


@owner_command.command("remove")
@name_argument
@click.argument("owner")
@hub_option
@by_option
@json_option
def remove_command(name: str, owner: str, store: Store, by: str, as_json: bool) -> None:
    """Remove an account's right to publish a package; one owner must remain."""
    event = validated(Owner, name=name, action="remove", owner=owner, by=by)
    record(store, event, f"{owner} may no longer publish {name}.", f"{owner} may not publish {name}.", as_json)
