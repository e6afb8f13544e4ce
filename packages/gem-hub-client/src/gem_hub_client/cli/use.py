"""``gem hub use``."""

from __future__ import annotations

import os

import click

from gem_hub_client.cli.output import json_option, print_json
from gem_hub_client.config import OFFICIAL, VARIABLE, config_file, hub_at, hubs, use
from gem_hub_client.errors import HubError

__all__ = ["use_command"]


@click.command("use")
@click.argument("addresses", nargs=-1, metavar="[HUB]...")
@click.option("--unchecked", is_flag=True, help="Do not look whether there is a hub at each address.")
@json_option
def use_command(addresses: tuple[str, ...], unchecked: bool, as_json: bool) -> None:
    """Choose the hubs, in the order in which they are asked; without any, show them.

    A hub is https://…, http://…, file://…, the path of a folder, or 'official': the index inside the client. The
    environment variable GEM_HUB, with one or several of these, overrides the choice.

    \b
    Examples:
      gem hub use                                    which hubs there are
      gem hub use https://hub.example/gem official   a hub, and then the official index
      gem hub use official                           the default again
    """
    if not addresses:
        _show([hub.name for hub in hubs()], as_json)
        return
    chosen = list(dict.fromkeys(hub_at(address) for address in addresses))
    if not unchecked:
        from gem_hub_client.sync import update

        for hub in chosen:
            try:
                update(hub)
            except HubError as error:
                raise HubError(f"{error}; nothing was changed (--unchecked skips this look)") from error
    # The default is not written down, so that it may change with the client.
    default = [hub.name for hub in chosen] == [OFFICIAL]
    use([] if default else chosen)
    _show([hub.name for hub in chosen], as_json)
    if os.environ.get(VARIABLE):
        click.echo(f"Note: {VARIABLE} is set and overrides this choice in {config_file()}.", err=True)


def _show(names: list[str], as_json: bool) -> None:
    if as_json:
        print_json(names)
    else:
        click.echo("\n".join(names))
