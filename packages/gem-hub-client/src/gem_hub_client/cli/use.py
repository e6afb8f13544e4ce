"""``gem hub use``."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from gem_hub_client.cli.output import json_option, note, print_json
from gem_hub_client.config import OFFICIAL, VARIABLE, Hub, hub_at, hubs, use
from gem_hub_client.errors import HubError
from gem_hub_client.folders import config_file

__all__ = ["use_command"]


@click.command("use")
@click.argument("addresses", nargs=-1, metavar="[HUB]...")
@click.option("--unchecked", is_flag=True, help="Do not look whether there is a hub at each address.")
@click.option("--key", metavar="FINGERPRINT", help="Insist that the hub has this key, as gem hub keys list shows it.")
@click.option("--forget-key", is_flag=True, help="Trust the key that the hubs show now, whatever it was before.")
@click.option(
    "--second-address", metavar="URL", help="Where gem hub verify also asks for the hub's log; '' for nowhere."
)
@json_option
def use_command(
    addresses: tuple[str, ...],
    unchecked: bool,
    key: str | None,
    forget_key: bool,
    second_address: str | None,
    as_json: bool,
) -> None:
    """Choose the hubs, in the order in which they are asked; without any, show them.

    A hub is https://…, http://…, file://…, the path of a folder, or 'official': the index inside the client. The
    environment variable GEM_HUB, with one or several of these, overrides the choice.

    A signed hub's key is trusted when it is first seen, and nothing else is accepted from then on. Compare the shown
    fingerprint with the operator's, or name it with --key. The keys of the official index come with this client.

    \b
    Examples:
      gem hub use                                    which hubs there are
      gem hub use https://hub.example/gem official   a hub, and then the official index
      gem hub use https://hub.example/gem --key SHA256:…   only with this key
      gem hub use official                           the default again
    """
    if not addresses:
        if key or forget_key or second_address is not None:
            raise click.UsageError("name the hub that is meant")
        _show(hubs(), as_json)
        return
    chosen = list(dict.fromkeys(hub_at(address) for address in addresses))
    if second_address is not None:
        _watch(chosen, second_address)
    if key is not None:
        _insist(chosen, key)
    elif forget_key:
        from gem_hub_client.trust.pins import forget_pin

        for hub in chosen:
            forget_pin(hub)
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
    _show(chosen, as_json)
    if os.environ.get(VARIABLE):
        click.echo(f"Note: {VARIABLE} is set and overrides this choice in {config_file()}.", err=True)


def _insist(chosen: Sequence[Hub], key: str) -> None:
    """Trust a hub's key only if it has this fingerprint."""
    from time import time

    from gem_hub_client.trust.pins import read_pin, write_pin
    from gem_hub_client.trust.refresh import first_pin

    private = [hub for hub in chosen if hub.name != OFFICIAL]
    if len(private) != 1:
        raise click.UsageError("--key is about one hub; the keys of the official index come with this client")
    (hub,) = private
    pin = read_pin(hub)
    if pin is None or pin.trusted_root.fingerprint != key:
        fresh = first_pin(hub, hub.source, time(), key)
        assert fresh is not None  # a hub without the key is refused
        write_pin(hub, fresh)


def _watch(chosen: Sequence[Hub], address: str) -> None:
    """Configure the second address of a hub."""
    from gem_hub_client.trust.checkpoints import set_witness

    if len(chosen) != 1:
        raise click.UsageError("--second-address is about one hub")
    set_witness(chosen[0], address)


def _show(chosen: Sequence[Hub], as_json: bool) -> None:
    if as_json:
        print_json([hub.name for hub in chosen])
        return
    from gem_hub_client.trust.status import key_sentence

    for hub in chosen:
        click.echo(hub.name)
        note(key_sentence(hub))
