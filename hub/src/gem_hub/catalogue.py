"""The search feed: one line a package, in the files that :mod:`gem_hub.plan` lays out.

Two functions produce the same bytes. :func:`whole_feed` computes every file from the histories of all packages;
:func:`next_feed` computes the files after one more change from the earlier files, and reads only those it merges.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gem.ids import parse_id
from gem_hub.canonical import compact_json, pack, unpack
from gem_hub.details import details
from gem_hub.package import WheelPackage
from gem_hub.plan import Segment, plan
from gem_hub.records import Environment
from gem_hub.simple_pages import API_VERSION
from gem_hub_client.errors import HubError

__all__ = [
    "EPOCH",
    "Feed",
    "History",
    "Read",
    "claims",
    "history_of",
    "line",
    "next_feed",
    "read_feed",
    "release_tags",
    "snapshot_feed",
    "whole_feed",
]

_COMMON = {"agents", "environments", "gem", "language-models", "reinforcement-learning"}
"""Keywords that tell nothing on a hub of environments."""

EPOCH = "1970-01-01T00:00:00Z"
"""The creation time of a hub without changes."""

Read = Callable[[str], bytes | None]
"""Path → content, or None."""


class ChangedLine(NamedTuple):
    """A package's line after a change."""

    serial: int
    line: bytes


History = list[ChangedLine]
"""The lines of a package, by ascending serials."""


@dataclass(frozen=True)
class Feed:
    """``root.json`` and the new files that it names."""

    root: dict[str, Any]
    files: dict[str, bytes]


def line(package: WheelPackage) -> dict[str, Any]:
    """Return the current catalogue line of a package."""
    release = package.offered
    if release is None:
        return {
            "name": package.name,
            "removed": True,
            "yanked": package.yanked,
            "former_ids": package.claimed_ids,
            "page_sha256": _page_digest(package),
            "serial": package.last.serial,
        }
    check = package.shown_conformance(release.version)
    environments = _with_variants(release.environments)
    ids = {environment["id"] for environment in environments}
    former = [claimed for claimed in package.claimed_ids if claimed not in ids]
    return {
        "name": package.name,
        "version": release.version,
        "summary": release.metadata.summary,
        "tags": release_tags([environment.tags for environment in release.environments], release.metadata.keywords),
        "environments": environments,
        "requires_python": release.metadata.requires_python,
        "requires_gem_core": release.metadata.requires_gem_core,
        "licence": release.metadata.licence,
        "published": release.published,
        "status": package.status,
        "reason": package.reason,
        "conformance": check.counts() if check else None,
        "yanked": package.yanked,
        "mode": release.mode,
        "source": release.source,
        "page_sha256": _page_digest(package),
        "serial": package.last.serial,
        **({"former_ids": former} if former else {}),
    }


def history_of(package: WheelPackage) -> History:
    """Return the package's line after each of its changes."""
    return [ChangedLine(serial, compact_json(line(package.at(serial)))) for serial in package.serials]


def whole_feed(histories: Mapping[str, History], created: str, existing: Read) -> Feed:
    """Return the whole feed.

    Args:
        histories: the history of every package, by name.
        created: the time of the newest change.
        existing: reads a catalogue file of the hub; a file with the right content stays unchanged, because another
            build of zlib may compress the same content differently.
    """
    serial = max((history[-1].serial for history in histories.values()), default=0)
    planned = plan(serial)
    files: dict[str, bytes] = {}

    def entry(stem: str, first: int, last: int) -> dict[str, Any]:
        lines = {}
        for name, history in histories.items():
            position = bisect_right(history, last, key=lambda change: change.serial)
            if position and history[position - 1].serial >= first:
                lines[name] = history[position - 1].line
        return _write(stem, lines, files, existing)

    snapshot = {**entry(f"snapshot-{planned.snapshot}", 0, planned.snapshot), "serial": planned.snapshot}
    segments = [
        {**entry(f"seg-{first}-{last}", first, last), "from": first, "to": last} for first, last in planned.segments
    ]
    return Feed(_root(serial, created, snapshot, segments), files)


def snapshot_feed(packages: Iterable[WheelPackage]) -> Feed:
    """Return a feed of one snapshot without segments, for a copy that is replaced as a whole."""
    newest = (0, EPOCH)
    lines, files = {}, dict[str, bytes]()
    for package in packages:
        lines[package.name] = compact_json(line(package))
        newest = max(newest, (package.last.serial, package.last.created))
    serial, created = newest
    snapshot = {**_write(f"snapshot-{serial}", lines, files, lambda path: None), "serial": serial}
    return Feed(_root(serial, created, snapshot, []), files)


def next_feed(root: Mapping[str, Any], name: str, changed: bytes, created: str, existing: Read) -> Feed | None:
    """Return the feed after one more change.

    Args:
        root: the content of ``root.json`` before the change.
        name: the changed package.
        changed: its new line.
        created: the time of the change.
        existing: reads a catalogue file of the hub.

    Returns:
        None if the earlier files do not allow it; then the caller must use :func:`whole_feed`.
    """
    serial = root["serial"] + 1
    planned = plan(serial)
    before = {Segment(item["from"], item["to"]): item for item in root["segments"]}
    files: dict[str, bytes] = {}
    segments = []
    for segment in planned.segments:
        if segment in before:
            segments.append(before[segment])
            continue
        parts = [part for part in before if segment.first <= part.first and part.last <= segment.last]
        missing = segment.last - segment.first + 1 - sum(part.last - part.first + 1 for part in parts)
        is_newest = segment.last == serial
        if missing != is_newest:
            return None
        lines = _merged((before[part] for part in parts), existing)
        if is_newest:
            lines[name] = changed
        entry = _write(f"seg-{segment.first}-{segment.last}", lines, files, existing)
        segments.append({**entry, "from": segment.first, "to": segment.last})
    snapshot = root["snapshot"]
    if planned.snapshot == serial:
        later = (item for item in root["segments"] if item["to"] > snapshot["serial"])
        lines = {**_merged([snapshot, *later], existing), name: changed}
        snapshot = {**_write(f"snapshot-{serial}", lines, files, existing), "serial": serial}
    elif planned.snapshot != snapshot["serial"]:
        return None
    return Feed(_root(serial, created, snapshot, segments), files)


def read_feed(root: Mapping[str, Any], existing: Read, after: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the newest line of each package that changed after a serial, and possibly of other packages.

    Raises:
        HubError: if a file is missing or damaged.
    """
    snapshot, segments = root["snapshot"], root["segments"]
    if segments and segments[0]["from"] <= after + 1:
        parts = [item for item in segments if item["to"] > after]
    elif after >= root["serial"]:
        parts = []
    else:
        parts = [snapshot, *(item for item in segments if item["to"] > snapshot["serial"])]
    yield from map(json.loads, _merged(parts, existing).values())


def claims(lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return environment id (without variant) → package, from lines of the catalogue."""
    return {
        claimed: item["name"]
        for item in lines
        for claimed in (*(entry["id"] for entry in item.get("environments", ())), *item.get("former_ids", ()))
    }


def _page_digest(package: WheelPackage) -> str:
    """Return the digest of ``envs/NAME.json``, which root.json thereby covers through the catalogue's files."""
    return hashlib.sha256(details(package)).hexdigest()


def release_tags(environments: Sequence[Iterable[str]], keywords: Iterable[str]) -> list[str]:
    """Return the tags of a release; a library, which has no environments, is known by its keywords.

    Args:
        environments: the tags of each environment.
        keywords: of the release's metadata.
    """
    return sorted({tag for tags in environments for tag in tags} if environments else {*keywords} - _COMMON)


def _with_variants(environments: Iterable[Environment]) -> list[dict[str, Any]]:
    """Return one entry for each environment, with the names of its variants."""
    entries: dict[str, dict[str, Any]] = {}
    for environment in environments:
        base = environment.base_id
        entry = entries.setdefault(
            base,
            {
                "id": base,
                "description": environment.description,
                "tags": environment.tags,
                "requires": environment.requires,
                "turns": environment.turns,
                **({"modality": environment.modality} if environment.modality != ["text"] else {}),
                "variants": [],
            },
        )
        variant = parse_id(environment.id).variant
        if variant is not None:
            entry["variants"].append(variant)
    return list(entries.values())


def _merged(parts: Iterable[Mapping[str, Any]], existing: Read) -> dict[str, bytes]:
    """Return name → line from several files; later files win."""
    lines: dict[str, bytes] = {}
    for part in parts:
        packed = existing(part["url"])
        if packed is None or len(packed) != part["size"] or hashlib.sha256(packed).hexdigest() != part["sha256"]:
            raise HubError(f"{part['url']}: missing, or not what root.json says; run: gem hub rebuild")
        for text in unpack(packed).splitlines(keepends=True):
            lines[json.loads(text)["name"]] = text
    return lines


def _write(stem: str, lines: Mapping[str, bytes], files: dict[str, bytes], existing: Read) -> dict[str, Any]:
    """Add a file to ``files``; return its entry in ``root.json``."""
    content = b"".join(lines[name] for name in sorted(lines))
    path = f"catalog/{stem}-{hashlib.sha256(content).hexdigest()[:12]}.jsonl.gz"
    packed = existing(path)
    if packed is None or not _holds(packed, content):
        packed = pack(content)
    files[path] = packed
    return {"url": path, "sha256": hashlib.sha256(packed).hexdigest(), "size": len(packed)}


def _holds(packed: bytes, content: bytes) -> bool:
    try:
        return unpack(packed) == content
    except (OSError, EOFError, zlib.error):
        return False


def _root(serial: int, created: str, snapshot: Mapping[str, Any], segments: list[Any]) -> dict[str, Any]:
    return {
        "format": 1,
        "serial": serial,
        "created": created,
        "snapshot": dict(snapshot),
        "segments": segments,
        "simple_api": API_VERSION,
    }
