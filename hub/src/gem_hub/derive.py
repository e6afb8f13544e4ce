"""Derives every other file of a hub from records and events: a pure function with reproducible bytes.

No clock, no network, no state: the result of :func:`derive` depends only on its arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from gem_hub.badge import badge
from gem_hub.canonical import compact_json
from gem_hub.catalogue import EPOCH, Read, history_of, whole_feed
from gem_hub.details import details
from gem_hub.events import Event
from gem_hub.hosting import Settings, headers, nginx, redirects
from gem_hub.package import WheelPackage
from gem_hub.records import Release
from gem_hub.simple_pages import LISTS, project_html, project_json, provenance_path, root_html, root_json

__all__ = [
    "derive",
    "derived_files",
    "derived_root",
    "group",
    "issued_root",
    "list_pages",
    "package_pages",
    "root_bytes",
]


def derive(releases: Iterable[Release], events: Iterable[Event], settings: Settings | None = None) -> dict[str, bytes]:
    """Return path → content of every derived file of a hub, ``root.json`` last."""
    return dict(derived_files(group(releases, events), settings or Settings()))


def derived_files(
    packages: Iterable[WheelPackage], settings: Settings, existing: Read = lambda path: None
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every derived file, in an order in which they can be written.

    Later files may refer to earlier ones. Only one package is in memory at a time.

    Args:
        packages: the packages, in any order.
        settings: the operator's settings.
        existing: reads a catalogue file of the hub; see :func:`gem_hub.catalogue.whole_feed`.
    """
    histories, newest = {}, (0, EPOCH)
    for package in packages:
        yield from package_pages(package).items()
        histories[package.name] = history_of(package)
        newest = max(newest, (package.last.serial, package.last.created))
    yield from list_pages(sorted(histories)).items()
    yield from {"_headers": headers(), "_redirects": redirects(settings), "nginx.conf": nginx(settings)}.items()
    feed = whole_feed(histories, newest[1], existing)
    yield from feed.files.items()
    yield "root.json", root_bytes(feed.root)


def package_pages(package: WheelPackage) -> dict[str, bytes]:
    """Return the pages of one package."""
    attested = {release.version: package.provenance(release.version) for release in package.releases}
    return {
        **{
            provenance_path(package.name, version): compact_json(document)
            for version, document in attested.items()
            if document is not None
        },
        f"badges/{package.name}.svg": badge(package),
        f"envs/{package.name}.json": details(package),
        f"simple/{package.name}/index.html": project_html(package),
        f"simple/{package.name}/index.json": project_json(package),
    }


def list_pages(names: Iterable[str]) -> dict[str, bytes]:
    """Return the pages that list all packages."""
    known = list(names)
    return dict(zip(LISTS, (root_html(known), root_json(known)), strict=True))


def root_bytes(root: Mapping[str, Any]) -> bytes:
    """Return ``root.json``."""
    return (json.dumps(root, indent=1, sort_keys=True) + "\n").encode()


def issued_root(content: bytes, days: int, moment: datetime) -> bytes:
    """Return ``root.json`` with the time of its issue and of its expiry; unchanged for 0 days.

    Args:
        content: the derived file.
        days: the days for which it is valid.
        moment: the time of the issue, in UTC.
    """
    if not days:
        return content
    times = {"issued": moment, "expires": moment + timedelta(days=days)}
    return root_bytes({**json.loads(content), **{key: f"{time:%Y-%m-%dT%H:%M:%SZ}" for key, time in times.items()}})


def derived_root(content: bytes | None) -> bytes | None:
    """Return the part of ``root.json`` that follows from records and events: all but its times."""
    try:
        root = json.loads(content or b"")
        return root_bytes({key: value for key, value in root.items() if key not in ("issued", "expires")})
    except (ValueError, AttributeError):
        return content


def group(releases: Iterable[Release], events: Iterable[Event]) -> Iterator[WheelPackage]:
    """Group records and events by package, and yield the packages sorted by name."""
    records: dict[str, list[Release]] = {}
    happened: dict[str, list[Event]] = {}
    for release in releases:
        records.setdefault(release.name, []).append(release)
    for event in events:
        happened.setdefault(event.name, []).append(event)
    for name in sorted(records):
        yield WheelPackage.of(name, records[name], happened.get(name, []))
