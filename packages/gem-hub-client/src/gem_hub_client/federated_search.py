"""Searches all configured hubs at once, and finds a package among them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from gem_hub_client.catalogue_cache import FRESH, OpenedCatalogue, forget, open_catalogue
from gem_hub_client.config import Hub, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.filters import NO_FILTERS, Filters
from gem_hub_client.search import Hit, nearest_word, search

if TYPE_CHECKING:
    from gem_hub_client.sync import Progress

__all__ = ["FoundPackage", "HubStatus", "SearchResults", "query_catalogue", "search_hubs"]

_AGAIN = 5.0
"""Seconds; a search that finds nothing asks a server again whose answer is older, for what was published just now."""

T = TypeVar("T")


@dataclass(frozen=True)
class FoundPackage:
    """A hit and its hub."""

    hub: Hub
    hit: Hit


@dataclass(frozen=True)
class HubStatus:
    """The state of a hub's answer."""

    hub: Hub
    serial: int = -1
    created: str = ""
    """The time of the newest change in the searched data (ISO 8601)."""
    age: float | None = None
    """Seconds since the hub's last answer."""
    note: str = ""
    """A note for the user; empty if all is well."""


@dataclass
class SearchResults:
    """The hits of all hubs together, best first."""

    hits: list[FoundPackage] = field(default_factory=list)
    corrected: dict[str, str] = field(default_factory=dict)
    statuses: list[HubStatus] = field(default_factory=list)
    nearest: str | None = None
    """The closest word to one of the query if nothing was found."""


def search_hubs(
    query: str,
    limit: int = 20,
    *,
    filters: Filters = NO_FILTERS,
    offline: bool = False,
    only: str | None = None,
    progress: Progress | None = None,
) -> SearchResults:
    """Search the configured hubs. The first hub with a package provides it.

    Args:
        query: any text; with filters it may be empty.
        limit: hits at most.
        filters: what environments must meet.
        offline: never ask a server.
        only: the address of the one hub to search, in place of the configured ones.
        progress: receives reports on the first loading of a catalogue.

    Raises:
        HubError: if no hub can be searched.
    """
    chosen = hubs(only)
    results = _search(chosen, query, limit, filters, FRESH, offline, progress)
    if not results.hits and not offline and any(hub.remote for hub in chosen):
        results = _search(chosen, query, limit, filters, _AGAIN, offline, progress)
    return results


def query_catalogue(
    hub: Hub,
    question: Callable[[OpenedCatalogue], T],
    opening: Callable[..., AbstractContextManager[OpenedCatalogue]] = open_catalogue,
    **options: Any,
) -> T:
    """Return what ``question`` makes of a hub's catalogue; a damaged catalogue is loaded anew.

    Args:
        hub: which one.
        question: called with the opened catalogue.
        opening: opens it: :func:`gem_hub_client.catalogue_cache.open_catalogue` or ``current_catalogue``.
        options: those of ``opening``.

    Raises:
        HubError: if there is no catalogue and none can be loaded.
    """
    try:
        with opening(hub, **options) as opened:
            return question(opened)
    except sqlite3.DatabaseError:
        forget(hub)
    try:
        with opening(hub, **options) as opened:
            return question(opened)
    except sqlite3.DatabaseError as error:
        raise HubError(f"{hub.cache}: the catalogue of {hub.name} cannot be read: {error}") from error


def _search(
    chosen: Sequence[Hub],
    query: str,
    limit: int,
    filters: Filters,
    max_age: float,
    offline: bool,
    progress: Progress | None,
) -> SearchResults:
    results = SearchResults()
    failures: list[HubError] = []
    seen: set[str] = set()

    def look(opened: OpenedCatalogue) -> None:
        answer = search(opened.catalogue, query, limit, filters)
        for hit in answer.hits:
            # The name of a package that an earlier hub has, whether that fits or not, must not lead to another's.
            if hit.record["name"] not in seen:
                results.hits.append(FoundPackage(opened.hub, hit))
        if answer.hits:
            results.corrected.update(answer.corrected)
        elif results.nearest is None:
            results.nearest = nearest_word(opened.catalogue, query)
        state = opened.state
        results.statuses.append(HubStatus(opened.hub, state.serial, state.created, state.age, opened.note))

    for hub in chosen:
        try:
            query_catalogue(hub, look, max_age=max_age, offline=offline, progress=progress)
        except HubError as error:
            failures.append(error)
            results.statuses.append(HubStatus(hub, note=str(error)))
        seen.update(found.hit.record["name"] for found in results.hits)
    if len(failures) == len(chosen):
        raise failures[0]
    results.hits.sort(key=lambda found: -found.hit.score)
    del results.hits[limit:]
    return results
