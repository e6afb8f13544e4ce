"""``gem hub yank``."""

from __future__ import annotations

import click

from gem_hub.cli.options import by_option, hub_option, name_argument, reason_option, record
from gem_hub.cli.validated import validated
from gem_hub.events import Yank
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option

__all__ = ["yank_command"]


@click.command("yank")
@name_argument
@click.argument("version")
@reason_option("One line that installers and audits show.")
@hub_option
@by_option
@json_option
def yank_command(name: str, version: str, reason: str, store: Store, by: str, as_json: bool) -> None:
    """Keep installers from choosing a release; a user who asks for exactly that version still gets it.

    \b
    Examples:
      gem hub yank my-envs 0.2.0 --reason "rewards were doubled" --hub /srv/hub
    """
    event = validated(Yank, name=name, version=version, reason=reason, by=by)
    record(store, event, f"Yanked {name} {version}.", f"{name} {version} is yanked for this reason already.", as_json)
