"""``gem hub unyank``."""

from __future__ import annotations

import click

from gem_hub.cli.options import by_option, hub_option, name_argument, record
from gem_hub.cli.validated import validated
from gem_hub.events import Unyank
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option

__all__ = ["unyank_command"]


@click.command("unyank")
@name_argument
@click.argument("version")
@hub_option
@by_option
@json_option
def unyank_command(name: str, version: str, store: Store, by: str, as_json: bool) -> None:
    """Offer a yanked release again.

    \b
    Examples:
      gem hub unyank my-envs 0.2.0 --hub /srv/hub
    """
    event = validated(Unyank, name=name, version=version, by=by)
    record(store, event, f"{name} {version} is offered again.", f"{name} {version} is not yanked.", as_json)
