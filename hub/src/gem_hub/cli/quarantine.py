"""``gem hub quarantine``."""

from __future__ import annotations

import click

from gem_hub.cli.options import by_option, hub_option, name_argument, record
from gem_hub.cli.validated import validated
from gem_hub.events import Lift, Quarantine
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option

__all__ = ["quarantine_command"]


@click.command("quarantine")
@name_argument
@click.option("--reason", required=True, help="One line that audits and pages show, or why the quarantine ends.")
@click.option("--lift", is_flag=True, help="End the quarantine.")
@hub_option
@by_option
@json_option
def quarantine_command(name: str, reason: str, lift: bool, store: Store, by: str, as_json: bool) -> None:
    """Stop offering all files of a package that may be unsafe.

    'gem hub audit' then reports it wherever it is installed.

    \b
    Examples:
      gem hub quarantine my-envs --reason "reads credentials at import" --hub /srv/hub
      gem hub quarantine my-envs --lift --reason "a false alarm" --hub /srv/hub
    """
    if lift:
        end = validated(Lift, name=name, reason=reason, by=by)
        record(store, end, f"{name} is offered again.", f"{name} is not quarantined.", as_json)
        return
    event = validated(Quarantine, name=name, reason=reason, by=by)
    record(store, event, f"Quarantined {name}.", f"{name} is quarantined for this reason already.", as_json)
