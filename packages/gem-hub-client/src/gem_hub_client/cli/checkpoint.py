"""``gem hub checkpoint``."""

from __future__ import annotations

import time
from typing import TextIO

import click

from gem_hub_client.cli.output import json_option
from gem_hub_client.config import hubs
from gem_hub_client.errors import HubError

__all__ = ["checkpoint_command"]


@click.command("checkpoint")
@click.argument("address", required=False, metavar="[URL|DIR]")
@click.option("--compare", "other", type=click.File(encoding="utf-8"), help="What another machine printed with --json.")
@json_option
def checkpoint_command(address: str | None, other: TextIO | None, as_json: bool) -> None:
    """Show what this machine has seen of a signed hub's log, or compare it with another machine's.

    A hub could show one history to you and another to somebody else, each of them sound. Two checkpoints show that:
    with --compare, either the longer log continues the shorter one, or the hub has signed two histories, and the two
    files prove it (exit code 1). Without an address, the first of your hubs is asked.

    \b
    Examples:
      gem hub checkpoint
      gem hub checkpoint --json > mine.json           and on another machine:
      gem hub checkpoint --compare mine.json
    """
    from gem_hub_client.trust.access import trusted_hub
    from gem_hub_client.trust.checkpoints import compare_logs, log_of, parse_log

    hub = hubs(address)[0]
    trusted = trusted_hub(hub, hub.source, time.time())
    if trusted is None:
        raise HubError(f"{hub.name}: is not signed, so it has no log that could be compared")
    if other is not None:
        click.echo(compare_logs(hub, trusted.pin, parse_log(other.read(), other.name)))
        return
    seen = log_of(hub, trusted.pin)
    if as_json:
        click.echo(seen.to_json())
        return
    click.echo(f"{hub.name}: {seen}")
    click.secho("Two machines compare theirs with --json on one and --compare FILE on the other", dim=True)
