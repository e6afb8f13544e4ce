"""``gem hub deprecate``."""

from __future__ import annotations

import click

from gem_hub.cli.options import by_option, hub_option, name_argument, record
from gem_hub.cli.validated import validated
from gem_hub.events import Deprecate, Undeprecate
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option

__all__ = ["deprecate_command"]


@click.command("deprecate")
@name_argument
@click.option("--reason", help="What to use instead; one line that search and pages show.")
@click.option("--lift", is_flag=True, help="End the deprecation.")
@hub_option
@by_option
@json_option
def deprecate_command(name: str, reason: str | None, lift: bool, store: Store, by: str, as_json: bool) -> None:
    """Mark a package as deprecated: it still works, but users should switch to another one.

    \b
    Examples:
      gem hub deprecate my-envs --reason "my-newer-envs has all of it" --hub /srv/hub
      gem hub deprecate my-envs --lift --hub /srv/hub
    """
    if lift == (reason is not None):
        raise click.UsageError("give either --reason TEXT or --lift")
    if lift:
        undo = validated(Undeprecate, name=name, by=by)
        record(store, undo, f"{name} is no longer deprecated.", f"{name} is not deprecated.", as_json)
        return
    event = validated(Deprecate, name=name, reason=reason, by=by)
    record(store, event, f"Deprecated {name}.", f"{name} is deprecated for this reason already.", as_json)
