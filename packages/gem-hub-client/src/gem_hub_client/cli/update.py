"""``gem hub update``."""

from __future__ import annotations

from typing import Any

import click

from gem_hub_client.cli.output import ProgressLine, json_option, note, print_json
from gem_hub_client.config import Hub, hubs, published_hub
from gem_hub_client.errors import HubError
from gem_hub_client.official import MIRROR
from gem_hub_client.sanitize import sanitize
from gem_hub_client.state import State
from gem_hub_client.sync import SyncResult, update
from gem_hub_client.trust.status import key_sentence, trusted_root_of

__all__ = ["update_command"]


@click.command("update")
@click.option(
    "--reset",
    is_flag=True,
    help="Forget what is known of the hubs first, also how new they have been; their keys stay.",
)
@json_option
@click.pass_context
def update_command(ctx: click.Context, reset: bool, as_json: bool) -> None:
    """Load the newest catalogues of the hubs.

    Search does this by itself every five minutes, but for the official index: that one is the snapshot inside the
    client until this command loads the current one for the first time. Every file is checked against its digest before
    it is used, and those of a signed hub against its keys; an index that is older than the one seen before is refused.

    \b
    Example:
      gem hub update
    """
    report: list[dict[str, Any]] = []
    for hub in map(_current, hubs()):
        try:
            outcome = _updated(hub, reset)
        except HubError as error:
            report.append({"hub": hub.name, "error": sanitize(str(error))})
            if not as_json:
                click.echo(f"Error: {sanitize(str(error))}", err=True)
            continue
        report.append({"hub": hub.name, **vars(outcome)})
        if not as_json:
            click.echo(_sentence(hub, outcome))
            if (root := trusted_root_of(hub)) is not None and root.development:
                note(key_sentence(hub))
    if as_json:
        print_json(report)
    if any("error" in entry for entry in report):
        ctx.exit(1)


def _current(hub: Hub) -> Hub:
    """Return the hub to update: the published official index in the place of its snapshot."""
    if not hub.embedded:
        return hub
    published = published_hub()
    if published is None:
        note(
            f"this build of gem-hub-client does not know where the official index is published; {MIRROR} can name the "
            "place. What is searched is the snapshot inside the client"
        )
        return hub
    return published


def _updated(hub: Hub, reset: bool) -> SyncResult:
    with ProgressLine(f"{hub.name}: loading") as loading, ProgressLine(f"{hub.name}: indexing") as indexing:
        lines = {"loading": loading, "indexing": indexing}
        done = update(hub, lambda what, done, total: lines[what].update(done, total), reset=reset)
    state = State.read(hub.cache)
    if state.expired:  # what was loaded can be searched
        raise HubError(state.problem or f"{hub.name}: was valid until {state.expires}")
    return done


def _sentence(hub: Hub, outcome: SyncResult) -> str:
    root = trusted_root_of(hub)
    signed = "not signed" if root is None else "signed with a development key" if root.development else "signed"
    state = f"{outcome.packages:,} packages, serial {outcome.serial}, {signed}"
    if not outcome.changed:
        return f"{hub.name}: nothing new ({state})"
    return f"{hub.name}: {outcome.changed:,} changes, {outcome.transferred / 1000:,.1f} kB ({state})"
