"""One function returns what a hub says about a package, proved by its catalogue, or refuses: :func:`verified_page`.

The catalogue names the SHA-256 of each package's page, and ``root.json`` those of the catalogue's files; the keys of a
signed hub sign ``root.json``. So a page is exactly the one that the hub published, or it is not used. Search, info,
install, lock, audit and verify read packages in no other way, and no error on the way is excused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.catalogue_cache import OpenedCatalogue, current_catalogue
from gem_hub_client.config import OFFICIAL, Hub
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import query_catalogue
from gem_hub_client.names import checked_name, page_path
from gem_hub_client.official import snapshot_folder
from gem_hub_client.page_shape import shape_problems
from gem_hub_client.seen_digests import check_digests

__all__ = ["PAGE_LIMIT", "Page", "VerifiedPage", "find_page", "page_contradictions", "verified_page"]

PAGE_LIMIT = 16_000_000
"""Bytes that ``envs/NAME.json`` may have; a page with a hundred releases of fifty environments has some 3 MB."""

_JUST_NOW = 10.0
"""Seconds for which one command does not ask a hub again; a page that has changed since makes it ask at once."""
_PAUSES = (0.0, 0.0, 0.2, 1.0)
"""Seconds before each look: a hub that is publishing a package writes its page before it signs its catalogue."""

Page = dict[str, Any]


@dataclass(frozen=True)
class VerifiedPage:
    """Everything that a hub says about one package; page and catalogue are of one moment."""

    hub: Hub
    record: dict[str, Any]
    """Its line in the catalogue."""
    page: Page
    note: str
    """A sentence for the user on a page that may be out of date; empty if the hub was asked."""

    @property
    def removed(self) -> bool:
        """Whether every release was yanked, so that only an exact version can be asked for."""
        return bool(self.record.get("removed"))


def find_page(name: str, hubs: Sequence[Hub], *, offline: bool = False) -> VerifiedPage:
    """Return the page of a package in the first hub that offers it, for people to read.

    Args:
        name: of the package, in any spelling.
        hubs: where to look, first come first.
        offline: ask no server; use what was read before.

    Raises:
        HubError: if no hub has the package, or one that comes first cannot say so.
    """
    name = checked_name(name)
    for hub in hubs:
        # The snapshot inside this package is as new as it is; reading it is no installation.
        fresh = not (offline or hub.embedded)
        try:
            found = verified_page(hub, name, fresh=fresh)
        except HubError as error:
            advice = "; --offline shows what was read before" if fresh and hub.remote else ""
            raise type(error)(f"{error}{advice}") from error
        if found is not None and not found.removed:
            return found
    where = ", ".join(hub.name for hub in hubs)
    raise HubError(
        f"{where} has no package {name!r}; search for a word of its name: gem hub search WORD; 'gem hub update' loads "
        "what is new"
    )


def verified_page(hub: Hub, name: str, *, fresh: bool = True) -> VerifiedPage | None:
    """Return what a hub says about a package; None if its catalogue has no such package.

    Args:
        hub: which one.
        name: of the package, as a hub writes it.
        fresh: whether the hub must answer now and be valid now. Without it, what was loaded before counts, and no
            server is asked; the note says how old it is.

    Raises:
        HubError: if the catalogue cannot be brought up to date or has expired, or if the page is not exactly the one
            that the catalogue promises, contradicts it, or has another file for a release than this machine has seen.
    """
    for number, pause in enumerate(_PAUSES if fresh else (0.0,)):
        time.sleep(pause)
        record, note = _line(hub, name, fresh, 0.0 if number else _JUST_NOW)
        content = b"" if record is None else _read(hub, name, fresh)
        if record is not None and sha256(content).hexdigest() == record.get("page_sha256"):
            page = _parsed(hub, content, record)
            check_digests(hub, page)
            if hub.remote and fresh:
                _keep(hub.cache / page_path(name), content)
            return VerifiedPage(hub, record, page, note)
        # The package may have been published or changed since the catalogue was loaded, or is being changed now.
        if number and not _is_newer(content, record):
            break
    if record is None:
        return None
    raise HubError(_difference(hub, content, record))


def page_contradictions(page: Page, line: dict[str, Any]) -> Iterator[str]:
    """Yield in what a page differs from its line in the catalogue of the same hub.

    Raises:
        KeyError, TypeError, AttributeError: if a value is missing or of the wrong type.
    """
    if page["format"] != 1:
        yield f"is in format {page['format']!r}, and this gem-hub-client reads format 1"
    if page["name"] != line["name"]:
        yield f"is about {page['name']!r}, not {line['name']!r}"
    if type(page["serial"]) is not int or page["serial"] != line["serial"]:
        yield f"has serial {page['serial']!r}, and the catalogue has {line['serial']}"
    entries = {entry["version"]: entry for entry in page["releases"]}
    if len(entries) != len(page["releases"]):
        yield "lists one version twice"
    yanked = {version: entry["yanked"] for version, entry in entries.items() if entry.get("yanked") is not None}
    if yanked != line["yanked"]:
        yield f"has as yanked {sorted(yanked)}, and the catalogue has {sorted(line['yanked'])}"
    if line.get("removed"):
        if set(entries) - set(yanked):
            yield "has releases that are not yanked, and the catalogue says that all are"
        return
    if (page["status"], page.get("reason") or "") != (line["status"], line["reason"]):
        yield f"has the status {page['status']!r}, and the catalogue has {line['status']!r}"
    if line["version"] not in entries:
        yield f"has no release {line['version']!r}, which the catalogue lists"
    entry = entries.get(line["version"], {})
    for key in ("requires_python", "requires_gem_core"):
        if (entry.get(key) or "") != (line.get(key) or ""):
            yield f"has for {line['version']} {key} {entry.get(key)!r}, the catalogue {line.get(key)!r}"


def _line(hub: Hub, name: str, fresh: bool, max_age: float) -> tuple[dict[str, Any] | None, str]:
    """Return the catalogue's line on a package, and a note on a catalogue that may be out of date."""

    def question(opened: OpenedCatalogue) -> tuple[dict[str, Any] | None, str]:
        return opened.catalogue.record(name), opened.note

    if fresh:
        return query_catalogue(hub, question, current_catalogue, max_age=max_age)
    return query_catalogue(hub, question, offline=True)


def _is_newer(content: bytes, record: dict[str, Any] | None) -> bool:
    """Return whether a page says that it is newer than the catalogue."""
    try:
        return record is not None and bool(json.loads(content)["serial"] > record["serial"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return False


def _read(hub: Hub, name: str, fresh: bool) -> bytes:
    """Return the bytes of a page, which prove nothing yet."""
    path = page_path(name)
    if fresh or not hub.remote:
        content = hub.source.read(path, PAGE_LIMIT).content
        assert content is not None  # nothing was said to be known
        return content
    with suppress(OSError):
        return (hub.cache / path).read_bytes()
    if hub.name == OFFICIAL:  # the snapshot has a page too, which may be the one of the catalogue
        with suppress(OSError):
            return (snapshot_folder() / path).read_bytes()
    raise HubError(f"{hub.name}: nothing was read about {name} yet; run 'gem hub info {name}' with a network")


def _parsed(hub: Hub, content: bytes, record: dict[str, Any]) -> Page:
    """Return a page that is the one that the catalogue promises, if it agrees with the catalogue as well."""
    place = _place(hub, record["name"])
    try:
        page: Page = json.loads(content)
        problem = next(chain(page_contradictions(page, record), shape_problems(page)), "")
    except (ValueError, RecursionError) as error:
        raise HubError(f"{place}: is no JSON: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise HubError(f"{place}: cannot be used: {error!r} is missing or of the wrong type") from error
    if problem:
        raise HubError(f"{place}: {problem}; it was not used")
    return page


def _difference(hub: Hub, content: bytes, record: dict[str, Any]) -> str:
    """Return the refusal of a page that is not the one that the catalogue promises."""
    try:
        page = json.loads(content)
        found = "; ".join(page_contradictions(page, record)) or "says the same in other words"
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        found = "is cut off, or no page"
    return (
        f"{_place(hub, record['name'])}: is not what the catalogue promises (it {found}): expected sha256 "
        f"{record.get('page_sha256')!r}, found {sha256(content).hexdigest()}; it was not used. If the hub is being "
        "changed right now, try again; otherwise tell its operator"
    )


def _place(hub: Hub, name: str) -> str:
    path = page_path(name)
    return f"{hub.location}{path}" if hub.remote else str(Path(hub.location) / path)


def _keep(kept: Path, content: bytes) -> None:
    with suppress(OSError):  # it is only for a day without a network
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, content.decode("utf-8", "replace"))
