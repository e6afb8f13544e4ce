"""The gate for a pull request that adds one release record or event to an index; a workflow runs it.

A record in a pull request is an untrusted claim about a wheel. So the wheel is fetched from the address in it, goes
through the gate and the conformance kit, and the record must equal, field for field, the one that the hub would have
written itself. Only the index's code runs here; the pull request is only read as data::

    python -m gem_hub.pull_request hub/index record.json --author NAME
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click
from pydantic import ValidationError

from gem.errors import ArgumentError, GemError
from gem_hub.admission import check_event
from gem_hub.conformance import check
from gem_hub.errors import HubRefusal
from gem_hub.events import EVENT, Deprecate, Event, Owner, Undeprecate, Unyank, Yank
from gem_hub.installation import Sources
from gem_hub.policy import HubPolicy
from gem_hub.publishing import Attempt, Destination, examine_all, read_file
from gem_hub.recheck import fetch
from gem_hub.records import Release, now, reasons
from gem_hub.sandbox import Bounds, isolation
from gem_hub.store import Store
from gem_hub_client.errors import HubError

__all__ = ["command", "examine_event", "examine_record"]

_MOST_RECORD = 8 * 2**20


@click.command()
@click.argument("hub", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("record", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--author", required=True, help="Who opened the pull request; must be the publisher in the record.")
@click.option("--wheel", type=click.Path(path_type=Path), help="The wheel, instead of fetching it.")
@click.option("--no-check", is_flag=True, help="Only the static gate.")
@click.option("--report", type=click.Path(path_type=Path), help="Write the conformance record here.")
@click.option("--timeout", type=float, default=1800.0, show_default=True, help="Seconds the kit may take.")
@click.option(
    "--unreleased",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Snapshot of the index with what has no release yet; those packages own their ids as well.",
)
@click.option("--find-links", multiple=True, help="Folder or page of wheels with dependencies.")
@click.option("--public-index", default="", help="The public index, to look up a new name: the address of its simple/.")
def command(
    hub: Path,
    record: Path,
    author: str,
    wheel: Path | None,
    no_check: bool,
    report: Path | None,
    timeout: float,
    unreleased: Path | None,
    find_links: tuple[str, ...],
    public_index: str,
) -> None:
    """Check a release record that a pull request adds to an index. Exit code 1 if the gate refuses it."""
    try:
        if _is_event(record):
            event = examine_event(hub, record, author)
            click.echo(f"{event.name}: {event.kind} by {author}: passed")
            return
        attempt = examine_record(hub, record, author, wheel, unreleased, public_index)
        if attempt.wants_check and not no_check:
            if isolation() == "none":
                raise HubError("nothing here keeps a stranger's code apart, so the kit is not run")
            policy = HubPolicy.of(hub)
            sources, bounds = Sources(find_links), Bounds(seconds=timeout)
            attempt = attempt.after(check(attempt.verdict, attempt.content, sources, bounds, policy))
    except GemError as error:
        click.echo(f"Refused: {error}", err=True)
        sys.exit(1)
    for warning in attempt.warnings:
        click.echo(f"Warning: {warning}")
    for refusal in attempt.refusals:
        click.echo(f"Refused: {refusal}")
    if attempt.refusals:
        sys.exit(1)
    if report is not None and attempt.checked is not None and attempt.checked.record is not None:
        attempt.checked.record.write(report)
    click.echo(f"{attempt.verdict.filename}: passed")


def examine_record(
    hub: Path,
    record: Path,
    author: str,
    wheel: Path | None = None,
    unreleased: Path | None = None,
    public_index: str = "",
) -> Attempt:
    """Run the gate on the wheel of a record; no code of the wheel runs.

    Args:
        hub: the target index, without the record.
        record: the record.
        author: the account that opened the pull request.
        wheel: the wheel; fetched by default.
        unreleased: a snapshot of the index that also lists unreleased packages.
        public_index: the address of the public index, to look up a new name.

    Raises:
        HubRefusal: if the record is invalid, or differs from the hub's own.
        HubError: if the wheel cannot be fetched.
    """
    release = _parsed(record)
    if release.serial != 0 or release.mode != "link":
        raise HubRefusal(
            "a record in a pull request links to a wheel and has serial 0; the index numbers it after the merge"
        )
    if release.publisher != author:
        raise HubRefusal(f"the record names {release.publisher!r} as publisher, and {author!r} opened the pull request")
    if release.published > now():
        raise HubRefusal(f"the record is from the future ({release.published}); write it anew: gem hub publish")
    content = _fetched(release.url) if wheel is None else read_file(wheel)
    destination = Destination(Store(hub), author, HubPolicy.of(hub), release.url, public_index, unreleased)
    (attempt,) = examine_all([(release.filename, content, wheel)], destination)
    if attempt.stage == "already published":
        raise HubRefusal(f"{release.filename}: is in the index already")
    if attempt.verdict.passed:
        expected = attempt.verdict.release(author, "link", release.url, release.published)
        differing = [key for key in Release.model_fields if getattr(expected, key) != getattr(release, key)]
        if differing:
            raise HubRefusal(
                f"{release.filename}: the record differs from what the wheel says in {', '.join(differing)}; "
                "write it anew: gem hub publish --pull-request"
            )
        _check_form(record, release.to_bytes())
    return attempt


def examine_event(hub: Path, path: Path, author: str) -> Event:
    """Check an event that a pull request adds: a yank, a deprecation, the end of one, or a change of owners.

    Args:
        hub: the target index, without the event.
        path: the event.
        author: the account that opened the pull request.

    Raises:
        HubRefusal: if the event is invalid, or its author may not request it.
    """
    try:
        event = EVENT.validate_json(_content(path), strict=True)
    except ValidationError as error:
        raise HubRefusal(f"{path.name}: is no event: {reasons(error)}") from error
    if event.serial != 0:
        raise HubRefusal("an event in a pull request has serial 0; the index numbers it after the merge")
    if not isinstance(event, Yank | Unyank | Deprecate | Undeprecate | Owner):
        raise HubRefusal(f"{event.kind!r} is nothing that a pull request may add; the hub itself does that")
    if event.by != author:
        raise HubRefusal(f"the event is by {event.by!r}, and {author!r} opened the pull request")
    if event.created > now():
        raise HubRefusal(f"the event is from the future ({event.created}); write it anew")
    check_event(event, Store(hub).existing(event.name), HubPolicy.of(hub).operators)
    _check_form(path, event.to_bytes())
    return event


def _is_event(path: Path) -> bool:
    try:
        return isinstance(document := json.loads(_content(path)), dict) and "kind" in document
    except (ValueError, RecursionError):
        return False


def _parsed(path: Path) -> Release:
    try:
        return Release.model_validate_json(_content(path))
    except ValidationError as error:
        raise HubRefusal(f"{path.name}: is no release record: {reasons(error)}") from error


def _check_form(path: Path, expected: bytes) -> None:
    """Refuse a file in which people could read something else than programs, such as a key twice."""
    if _content(path).replace(b"\r\n", b"\n") != expected:
        raise HubRefusal(f"{path.name}: is not written as the hub writes it; write it anew with gem hub --pull-request")


def _content(path: Path) -> bytes:
    if path.is_symlink():
        raise HubRefusal(f"{path.name}: is a link; put the file itself into the pull request")
    try:
        if path.stat().st_size > _MOST_RECORD:
            raise HubRefusal(f"{path.name}: has over {_MOST_RECORD} bytes, which no record needs")
        return path.read_bytes()
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read: {error.strerror or error}") from error


def _fetched(url: str) -> bytes:
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme != "https" or "." not in host or re.search(r"[a-z]", host.rpartition(".")[2]) is None:
        raise HubRefusal(f"{url}: a public index links only to https addresses of named hosts")
    return fetch(url)


if __name__ == "__main__":
    command()
