"""``gem hub check``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from gem.ids import normalized_distribution
from gem_hub.cli.options import any_hub_option, by_option
from gem_hub.errors import HubRefusal
from gem_hub.records import Release
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option, print_json

__all__ = ["check_command"]


@click.command("check")
@click.argument("names", metavar="[NAME[==VERSION]]...", nargs=-1)
@click.option(
    "--missing",
    "--outdated",
    "missing",
    is_flag=True,
    help="All offered releases that the hub has not run with this gem-core, or not signed with its present key.",
)
@any_hub_option
@by_option
@click.option("--find-links", metavar="PLACE", multiple=True, help="Folder or page of wheels with dependencies.")
@click.option("--index-url", metavar="URL", default="", help="Index of dependencies.  [default: as pip or uv has it]")
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=1800.0, show_default=True, help="Seconds the kit may take."
)
@click.option(
    "--events",
    "target",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the results into this folder, and do not change the hub.",
)
@json_option
def check_command(
    names: tuple[str, ...],
    missing: bool,
    store: Store,
    by: str,
    find_links: tuple[str, ...],
    index_url: str,
    timeout: float,
    target: Path | None,
    as_json: bool,
) -> None:
    """Run the conformance kit on published releases, with the gem-core that is installed here.

    A release that was published without a run, or before this gem-core, gets its result. Exit code 1 if a release has
    none.

    \b
    Examples:
      gem hub check my-envs --hub /srv/hub
      gem hub check --outdated --hub /srv/hub
    """
    from gem_hub.installation import Sources
    from gem_hub.recheck import recheck, unchecked
    from gem_hub.sandbox import Bounds, isolation

    if bool(names) == missing:
        raise click.UsageError("name packages, or ask for --outdated")
    if isolation() == "none":
        raise click.ClickException("nothing here keeps a stranger's code apart; use Linux with user namespaces")
    releases = unchecked(store) if missing else [_release(store, name) for name in names]
    told = []
    for release in releases:
        label = f"{release.name} {release.version}"
        try:
            event, _ = recheck(store, release, by, Sources(find_links, index_url), Bounds(seconds=timeout), _say(label))
            if target is None:
                store.add_event(event)
            else:
                HubFolder(target).create(event.path, event.to_bytes())
            told.append({"name": release.name, "version": release.version, **event.counts()})
        except HubRefusal as error:
            told.append({"name": release.name, "version": release.version, "problem": str(error)})
    if as_json:
        print_json(told)
    for one in () if as_json else told:
        result = one.get("problem") or f"{one['holds']} clauses hold, {one['violated']} violated"
        click.echo(f"{one['name']} {one['version']}: {result}")
    if any("problem" in one for one in told):
        raise click.exceptions.Exit(1)


def _say(label: str) -> Callable[[str], None]:
    return lambda what: click.secho(f"{label}: {what} …", dim=True, err=True)


def _release(store: Store, name: str) -> Release:
    wanted, _, version = name.partition("==")
    package = store.existing(normalized_distribution(wanted))
    release = package.offered if not version else next((r for r in package.records if r.version == version), None)
    if release is None:
        raise HubRefusal(
            f"{name}: there is no such release; there are {', '.join(r.version for r in package.releases)}"
        )
    return release
