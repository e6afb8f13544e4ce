"""``gem hub sign``."""

from __future__ import annotations

import click

from gem_hub.cli.options import any_hub_option
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option, print_json
from gem_hub_client.errors import HubError

__all__ = ["sign_command"]


@click.command("sign")
@any_hub_option
@json_option
def sign_command(store: Store, as_json: bool) -> None:
    """Sign a hub anew with its online key, so that its signatures count for longer.

    Each change signs by itself, and gem hub serve signs once a day. A hub that something else serves needs a timer.

    \b
    Examples:
      gem hub sign --hub /srv/hub
      17 4 * * * gem hub sign --hub /srv/hub         a line for cron: once a day
    """
    if not store.sign():
        raise HubError(f"{store.files.address} is not signed; gem hub keys init makes its keys")
    if as_json:
        print_json({"signed": store.files.address})
    else:
        click.echo(f"Signed {store.files.address}.")
