"""``gem hub diff``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gem_hub_client.cli.output import ProgressLine, json_option, note, print_json, show_table
from gem_hub_client.cli.read_options import hub_option
from gem_hub_client.config import hubs
from gem_hub_client.errors import HubError
from gem_hub_client.pages import find_page
from gem_hub_client.release_diff import change_kind, compare_files, compare_releases, told
from gem_hub_client.sanitize import sanitize, sanitize_values

if TYPE_CHECKING:
    from gem_hub_client.releases import IndexedRelease

__all__ = ["diff_command"]

_WIDEST = 60
"""Characters of a value in the table; ``--json`` has all of it."""


@click.command("diff")
@click.argument("name")
@click.argument("before", required=False, metavar="[A]")
@click.argument("after", required=False, metavar="[B]")
@click.option("--files/--no-files", default=True, help="Load both wheels and compare the digests of their files.")
@hub_option
@click.option("--offline", is_flag=True, help="Ask no server; use what was read before, without files.")
@json_option
def diff_command(
    name: str, before: str | None, after: str | None, files: bool, address: str | None, offline: bool, as_json: bool
) -> None:
    """Compare two releases of a package: metadata, manifest, conformance, scores and files.

    Without B, the newest release is compared with A, and without A with the release before it. Wheels are loaded by
    their digests, and nothing of them runs. A difference of mean scores is called "within chance" if it is no larger
    than 1.96 standard errors.

    \b
    Examples:
      gem hub diff gem-envs-games
      gem hub diff gem-envs-games 0.1.0 0.2.0 --no-files
      gem hub diff gem-envs-games 0.1.0 --json
    """
    from gem_hub_client.releases import releases_of
    from gem_hub_client.trust.records import check_recorded
    from gem_hub_client.wheel_files import file_digests

    found = find_page(name, hubs(address), offline=offline)
    note(found.note)
    old, new = _pair(releases_of(found.hub, found.page), before, after)
    versions = str(old.version), str(new.version)
    if not offline:
        check_recorded([old, new])
    entries = {entry["version"]: sanitize_values(entry) for entry in found.page["releases"]}
    changes = compare_releases(*(entries[version] for version in versions))
    reason = _no_files(files, offline, old, new)
    if not reason:
        with ProgressLine("loading") as line:
            total = old.size + new.size
            digests = [file_digests(release, lambda length: line.advance(length, total)) for release in (old, new)]
        changes += compare_files(*digests)
    if as_json:
        sides = [
            {
                "version": str(one.version),
                "published": entries[str(one.version)].get("published"),
                "sha256": one.sha256,
            }
            for one in (old, new)
        ]
        print_json(
            {
                "name": found.record["name"],
                "hub": found.hub.name,
                "before": sides[0],
                "after": sides[1],
                "files_compared": not reason,
                "changes": [asdict(change) for change in changes],
            }
        )
        return
    note(reason)
    click.secho(f"{found.record['name']} {versions[0]} → {versions[1]}", bold=True)
    if not changes:
        click.echo("Nothing differs." if not reason else "Nothing differs in what was compared.")
        return
    rows = [
        [one.part, sanitize(one.place), _cell(one.before), _cell(one.after), one.note or change_kind(one)]
        for one in changes
    ]
    show_table(["part", "what", *versions, ""], rows)


def _pair(
    releases: list[IndexedRelease], before: str | None, after: str | None
) -> tuple[IndexedRelease, IndexedRelease]:
    """Return the two releases to compare.

    Args:
        releases: all of a package, newest first.
        before: the version that was asked for, if any.
        after: the other one, if any.
    """
    from gem_hub_client.releases import release_at

    new = releases[0] if after is None else release_at(releases, after)
    older = releases[releases.index(new) + 1 :]
    if before is not None:
        return release_at(releases, before), new
    if not older:
        raise HubError(f"{new} is its first release, so there is nothing to compare it with")
    return older[0], new


def _no_files(files: bool, offline: bool, *releases: IndexedRelease) -> str:
    """Return why no files are compared; empty if they are."""
    if not files or offline:
        return "files were not compared"
    missing = next((release for release in releases if not release.url), None)
    return f"the hub offers no file of {missing}, so files were not compared" if missing is not None else ""


def _cell(value: Any) -> str:
    text = told(value)
    return sanitize(text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…")
