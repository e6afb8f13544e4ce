"""``gem hub rebuild``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gem.counts import counted
from gem_hub.cli.options import HubPlace, open_store
from gem_hub.errors import HubRefusal
from gem_hub.hosting import Settings
from gem_hub.records import reasons
from gem_hub.store import Store
from gem_hub_client.cli.output import ProgressLine, json_option, print_json

__all__ = ["rebuild_command"]


@click.command("rebuild")
@click.option("--check", is_flag=True, help="Change nothing; exit 1 and list what differs, if anything does.")
@click.option("--fallback", metavar="URL", help="Simple index for names that this hub does not have; '' for none.")
@click.option(
    "--hub",
    "place",
    metavar="DIR",
    default=Path(),
    type=HubPlace(),
    help="Folder of the hub, or s3://BUCKET/FOLDER.  [default: the current folder]",
)
@click.option(
    "--valid-days",
    type=click.IntRange(0, 3650),
    help="Clients install from the hub for so many days after each change or rebuild; 0 for ever.",
)
@json_option
def rebuild_command(
    check: bool, fallback: str | None, valid_days: int | None, place: Path | str, as_json: bool
) -> None:
    """Derive every file of a hub again from its records and events.

    The same records always give the same bytes. Records that a pull request has added are numbered first.

    \b
    Examples:
      gem hub rebuild --hub /srv/hub
      gem hub rebuild --check --hub hub/index
      gem hub rebuild --fallback https://index.example/simple/ --hub /srv/hub
    """
    store = open_store(place)
    if not store.files.exists("root.json") and not store.files.names("releases"):
        raise click.UsageError(f"{place} is no hub (it has neither releases/ nor root.json); name one with --hub DIR")
    changed = {"fallback": fallback, "valid_days": valid_days}
    given = {name: value for name, value in changed.items() if value is not None}
    if given:
        if check:
            raise click.UsageError(
                f"--check changes nothing, so it cannot take --{next(iter(given)).replace('_', '-')}"
            )
        _set(store, given)
    with ProgressLine("deriving packages") as line:
        differing = store.rebuild(check, line.update)
    if as_json:
        print_json({"check": check, "differing": differing})
    else:
        for path in differing:
            click.echo(f"{'differs' if check else 'written'}: {path}")
        click.echo(f"{counted(len(store.packages()), 'package')}; {_verdict(len(differing), check)}", err=True)
    if check and differing:
        click.get_current_context().exit(1)


def _verdict(count: int, check: bool) -> str:
    if not count:
        return "every file is what the records give"
    return f"{count} files are not what the records give; run: gem hub rebuild" if check else f"{count} files written"


def _set(store: Store, changed: dict[str, Any]) -> None:
    try:
        settings = Settings.model_validate({**store.truth.settings().model_dump(), **changed})
    except ValueError as error:
        raise HubRefusal(reasons(error)) from error
    if settings != Settings():
        store.files.replace("hub.json", settings.to_bytes())
    else:
        store.files.remove("hub.json")
