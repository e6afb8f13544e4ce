"""``envs/NAME.json``: everything that a hub says about a package, checked against its catalogue."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.config import OFFICIAL, Hub
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import record_of
from gem_hub_client.names import checked_name, page_path
from gem_hub_client.official import snapshot_folder
from gem_hub_client.seen_digests import check_digests

__all__ = ["PAGE_LIMIT", "Page", "package_page", "read_page"]

PAGE_LIMIT = 16_000_000
"""Bytes that ``envs/NAME.json`` may have; a page with a hundred releases of fifty environments has some 3 MB."""

Page = dict[str, Any]


def package_page(
    name: str, *, offline: bool = False, notes: list[str] | None = None
) -> tuple[Hub, dict[str, Any], Page]:
    """Return the first hub that has a package, its line in the catalogue, and everything that it says about it.

    Args:
        name: of the package, in any spelling.
        offline: ask no server; use what was read before.
        notes: gets a sentence for each thing that may be out of date.

    Raises:
        HubError: if no hub has the package, or what it says contradicts its own catalogue.
    """
    name = checked_name(name)
    hub, record = record_of(name, offline=offline, notes=notes)
    page = read_page(hub, record, offline=offline, notes=notes)
    if page["serial"] > record["serial"] and hub.remote and not offline:
        # The hub has changed since its catalogue was loaded.
        hub, record = record_of(name, max_age=0.0, notes=notes)
        page = read_page(hub, record, notes=notes)
    return hub, record, page


def read_page(hub: Hub, record: dict[str, Any], *, offline: bool = False, notes: list[str] | None = None) -> Page:
    """Return what a hub says about a package whose line in the catalogue is ``record``.

    Raises:
        HubError: if it cannot be read, or contradicts the catalogue, which means that one of the two was tampered with.
    """
    path = page_path(record["name"])
    kept = hub.cache / path
    content: bytes | None = None
    if not (offline and hub.remote):
        try:
            content = hub.source.read(path, PAGE_LIMIT).content
        except HubError as error:
            if not hub.remote or not (kept.is_file() or hub.name == OFFICIAL):
                raise
            if notes is not None:
                notes.append(f"{error}; going on with what was read before")
    fresh = content is not None
    if content is None:
        content = _kept(hub, kept)
    page = _checked(content, record, f"{hub.location}{path}" if hub.remote else str(Path(hub.location) / path))
    check_digests(hub, page)
    if fresh and hub.remote:
        _keep(kept, content)
    return page


def _checked(content: bytes, record: dict[str, Any], name: str) -> Page:
    try:
        page = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise HubError(f"{name}: is no JSON, or was cut off: {error}") from error
    try:
        if page["format"] != 1:
            raise HubError(f"{name}: is in format {page['format']!r}, and this gem-hub-client reads format 1")
        if page["name"] != record["name"]:
            raise HubError(f"{name}: is about {page['name']!r}, not {record['name']!r}")
        if type(page["serial"]) is not int or page["serial"] < record["serial"]:
            raise HubError(
                f"{name}: is older (serial {page['serial']!r}) than the catalogue says (serial {record['serial']}); "
                "changes such as yanks may be missing in it, so it was not used; try again later"
            )
        promised = record.get("page_sha256")
        if promised is not None and page["serial"] == record["serial"]:
            digest = sha256(content).hexdigest()
            if digest != promised:
                raise HubError(
                    f"{name}: is not what the catalogue promises: expected sha256 {promised!r}, found {digest}; it was "
                    "not used"
                )
        releases = {release["version"]: release for release in page["releases"]}
        release = releases.get(record["version"])
        if release is None:
            raise HubError(f"{name}: has no release {record['version']!r}, which the catalogue lists")
        expected, found = ((entry.get("sha256"), entry.get("size")) for entry in (record, release))
        if "sha256" in record and expected != found:
            raise HubError(
                f"{name}: contradicts the catalogue on {record['version']!r}: expected {expected[1]} bytes with "
                f"sha256 {expected[0]!r}, found {found[1]!r} bytes with sha256 {found[0]!r}; it was not used"
            )
        yanked = {version: entry["yanked"] for version, entry in releases.items() if entry.get("yanked") is not None}
        if page["serial"] == record["serial"] and yanked != record["yanked"]:
            raise HubError(
                f"{name}: contradicts the catalogue on what is yanked: expected {sorted(record['yanked'])}, "
                f"found {sorted(yanked)}; it was not used"
            )
    except (KeyError, TypeError, AttributeError) as error:
        raise HubError(f"{name}: cannot be used: {error!r} is missing or of the wrong type") from error
    result: Page = page
    return result


def _kept(hub: Hub, kept: Path) -> bytes:
    try:
        return kept.read_bytes()
    except OSError as error:
        name = kept.stem
        if hub.name == OFFICIAL:  # the snapshot has a page too; it is used only if it is the one of the catalogue
            with suppress(OSError):
                return (snapshot_folder() / page_path(name)).read_bytes()
        raise HubError(
            f"{hub.name}: nothing was read about {name} yet; run 'gem hub info {name}' with a network"
        ) from error


def _keep(kept: Path, content: bytes) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, content.decode("utf-8", "replace"))
    except OSError:
        return  # it is only for a day without a network
