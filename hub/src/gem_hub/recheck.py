"""Runs the conformance kit on releases that a hub has already, and turns the results into events."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import gem
from gem_hub.archive import ArchiveLimits
from gem_hub.conformance import Checked, check
from gem_hub.errors import HubRefusal
from gem_hub.events import Conformance
from gem_hub.gate import HubView, examine
from gem_hub.installation import Sources
from gem_hub.package import WheelPackage
from gem_hub.policy import HubPolicy
from gem_hub.records import Release, file_path
from gem_hub.sandbox import Bounds
from gem_hub.statements import current_key_ids, is_stated
from gem_hub.store import Store
from gem_hub_client.errors import HubError
from gem_hub_client.transport import WebSource

__all__ = ["RESULTS", "fetch", "recheck", "unchecked", "wheel_of"]

RESULTS = frozenset({"conformance.violated", "conformance.tolerated", "conformance.exempt"})
"""Codes of refusals that are results of the kit; with any other there is no record to trust."""


def unchecked(store: Store) -> list[Release]:
    """Return the releases that search offers and that the hub has not run with this gem-core.

    In a signed hub, a run whose statement is missing or signed with a former key counts as none.
    """
    keys = current_key_ids(store.files)
    packages = (store.existing(name) for name in store.packages())
    offered = [(package, package.offered) for package in packages if package.status != "quarantined"]
    return [
        release
        for package, release in offered
        if release is not None and not is_checked(package, release.version, keys)
    ]


def is_checked(package: WheelPackage, version: str, keys: frozenset[str] = frozenset()) -> bool:
    """Return whether the hub has run the kit on a version with this gem-core.

    Args:
        package: the package.
        version: of the release.
        keys: the ids of keys one of which must have signed the hub's statement on the run; without any, none must.
    """
    runs = (run for run in package.conformance(version) if run.source == "hub" and is_stated(run, keys))
    return any(run.counts()["gem_core"] == gem.__version__ for run in runs)


def recheck(
    store: Store,
    release: Release,
    by: str,
    sources: Sources = Sources(),  # noqa: B008  # frozen
    bounds: Bounds = Bounds(),  # noqa: B008
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Conformance, Checked]:
    """Run the kit on the wheel of a release.

    Args:
        store: the hub.
        release: the release.
        by: the account that requests it.
        sources: the sources of dependencies.
        bounds: the limits of the run.
        report: receives a description of each step.

    Returns:
        The event, which also tells of violated clauses, and the result.

    Raises:
        HubRefusal: if the gate refuses the wheel today, or the kit has no result.
        HubError: if the wheel cannot be fetched, or is not the one of the record.
    """
    content = wheel_of(store, release)
    policy = HubPolicy.of(store.files)
    verdict = examine(release.filename, content, release.publisher, HubView.of(store), policy)
    if not verdict.passed:
        raise HubRefusal(f"{release.filename}: the gate refuses it today: {verdict.refusals[0]}")
    checked = check(verdict, content, sources, bounds, policy, report=report)
    others = [refusal for refusal in checked.refusals if refusal.code not in RESULTS]
    if checked.record is None or others:
        raise HubRefusal(f"{release.filename}: {others[0] if others else 'the kit has no result'}")
    return checked.event(verdict, by), checked


def wheel_of(store: Store, release: Release) -> bytes:
    """Return the bytes of a release's wheel.

    Raises:
        HubError: if they cannot be had, or are not those of the record.
    """
    if release.mode == "host":
        content = store.files.read(file_path(release.sha256, release.filename)) or b""
    else:
        content = fetch(release.url)
    if hashlib.sha256(content).hexdigest() != release.sha256:
        raise HubError(f"{release.filename}: what lies at {release.url} is not the wheel that was published")
    return content


def fetch(url: str) -> bytes:
    """Return the content of an address, at most one byte more than a wheel may have.

    Raises:
        HubError: if it cannot be fetched.
    """
    most = ArchiveLimits().file_bytes
    try:
        parts = urlsplit(url)
        if parts.scheme == "file":
            with Path(url2pathname(parts.path)).open("rb") as file:
                return file.read(most + 1)
    except (OSError, ValueError) as error:
        raise HubError(f"{url}: cannot be fetched: {error}") from error
    content = BytesIO()
    WebSource("").copy(url, content, most, lambda length: None)
    return content.getvalue()
