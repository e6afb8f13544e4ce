"""The search side of a hub as a few files, for a copy that needs no network."""

from __future__ import annotations

from collections.abc import Iterable

from gem_hub.catalogue import snapshot_feed
from gem_hub.derive import list_pages, package_pages, root_bytes
from gem_hub.details import details
from gem_hub.package import WheelPackage
from gem_hub.results.state import results_of

__all__ = ["published_files", "snapshot_files"]


def snapshot_files(packages: Iterable[WheelPackage]) -> dict[str, bytes]:
    """Return path → content: ``envs/`` with a page for each package, results, a catalogue file, ``root.json`` last."""
    listed = list(packages)
    feed = snapshot_feed(listed)
    pages = {f"envs/{package.name}.json": details(package) for package in listed}
    # A package without a release has its results here; those of others are events, which a hub has in any case.
    results = {one.path: one.event.to_bytes() for package in listed for one in results_of(package)}
    unreleased = {path: content for path, content in results.items() if path.startswith("results/")}
    return {**pages, **unreleased, **feed.files, "root.json": root_bytes(feed.root)}


def published_files(packages: Iterable[WheelPackage]) -> dict[str, bytes]:
    """Return path → content: a snapshot that installers can read too, ``root.json`` last."""
    listed = list(packages)
    pages = {path: content for package in listed for path, content in package_pages(package).items()}
    return {**pages, **list_pages(sorted(package.name for package in listed)), **snapshot_files(listed)}
