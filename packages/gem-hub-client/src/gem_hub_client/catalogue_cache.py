"""The catalogues of a command, as current as necessary and possible, also without a network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gem_hub_client.catalogue import Catalogue
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.names import ROOT_PATH, TIMESTAMP_PATH
from gem_hub_client.state import State

if TYPE_CHECKING:
    from gem_hub_client.sync import Progress

__all__ = ["OpenedCatalogue", "ago", "current_catalogue", "forget", "open_catalogue"]

FRESH = 300.0
"""Seconds before a server is asked again."""
_RETRY = 300.0
"""The same after a missing or invalid answer."""
_HASTE = 4.0
"""The time limit in seconds for a server's answer if a catalogue exists."""


@dataclass(frozen=True)
class OpenedCatalogue:
    """A catalogue and its freshness."""

    hub: Hub
    catalogue: Catalogue
    state: State
    problem: str = ""
    """The reason why it may be out of date; empty if it is current."""

    @property
    def note(self) -> str:
        """A sentence on a catalogue that may be out of date; empty if it is current."""
        return f"{self.problem}; going on with what was loaded {ago(self.state.age)}" if self.problem else ""


@contextmanager
def open_catalogue(
    hub: Hub, max_age: float = FRESH, *, offline: bool = False, progress: Progress | None = None
) -> Iterator[OpenedCatalogue]:
    """Open a hub's catalogue; load or update it if necessary.

    A folder is looked at every time. A server is asked if its last answer is older than ``max_age`` seconds; where it
    does not answer, or wrongly, the catalogue is what it was, and :attr:`OpenedCatalogue.note` says so.

    Args:
        hub: which one.
        max_age: 0 to ask in any case.
        offline: never ask a server.
        progress: receives reports on the first loading of a catalogue, which may be long.

    Raises:
        HubError: if there is no catalogue yet and none can be loaded.
    """
    found = _open(hub, max_age, offline, progress)
    try:
        yield found
    finally:
        found.catalogue.close()


@contextmanager
def current_catalogue(hub: Hub, max_age: float) -> Iterator[OpenedCatalogue]:
    """Open a hub's catalogue as the hub has it now, or refuse: what is installed must not be older.

    Args:
        hub: which one.
        max_age: seconds for which a server is not asked again; 0 to ask in any case.

    Raises:
        HubError: if the hub cannot be asked, what it serves cannot be used, or it has expired.
    """
    from gem_hub_client.sync import CacheError, expired, load_into_memory, update

    opened: OpenedCatalogue | None = None
    try:
        state = State.read(hub.cache)
        if state.problem or _due(hub, state, max_age):
            update(hub)
            state = State.read(hub.cache)
        catalogue = state.opened(hub.cache)
        if catalogue is not None:
            opened = OpenedCatalogue(hub, catalogue, state)
    except CacheError:
        pass  # nothing that lies there counts
    if opened is None:
        opened = OpenedCatalogue(hub, *load_into_memory(hub))
    try:
        if opened.state.expired:
            raise HubError(expired(hub, opened.state.expires))
        yield opened
    finally:
        opened.catalogue.close()


def forget(hub: Hub) -> None:
    """Discard a damaged catalogue; the next opening loads it again."""
    replace(State.read(hub.cache), database="", checked=0.0, tried=0.0).write(hub.cache)


def ago(seconds: float | None) -> str:
    """Return a time span in words, for example "3 days ago"."""
    if seconds is None:
        return "at a time that is not known"
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' * (number > 1)} ago"
    return "just now"


def _open(hub: Hub, max_age: float, offline: bool, progress: Progress | None) -> OpenedCatalogue:
    folder = hub.cache
    state = State.read(folder)
    catalogue = state.opened(folder)
    for _ in range(2):
        if catalogue is not None or not state.database:
            break
        # Another process may have put a newer database in this one's place in the meantime.
        state = State.read(folder)
        catalogue = state.opened(folder)
    if catalogue is None:
        return _first(hub, offline, progress)
    if offline and hub.remote:
        return OpenedCatalogue(hub, catalogue, state, f"{hub.name} was not asked")
    if not _due(hub, state, max_age):
        return OpenedCatalogue(hub, catalogue, state, state.problem)
    # What a search with nothing to load does without.
    from gem_hub_client.sync import CacheError, SyncBusyError, load_into_memory, update

    problem = ""
    try:
        update(hub, timeout=_HASTE, wait=0.0)
    except SyncBusyError:
        pass  # another process that is loading the catalogue finishes for the next command
    except CacheError as error:
        if not hub.remote:
            catalogue.close()
            return OpenedCatalogue(hub, *load_into_memory(hub))
        problem = str(error)
    except HubError as error:
        problem = str(error)
    state = State.read(folder)
    newer = state.opened(folder)
    if newer is None:
        return OpenedCatalogue(hub, catalogue, state, problem)
    catalogue.close()
    return OpenedCatalogue(hub, newer, state, problem)


def _first(hub: Hub, offline: bool, progress: Progress | None) -> OpenedCatalogue:
    if offline and hub.remote:
        raise HubError(f"{hub.name}: nothing was loaded from this hub yet; run: gem hub update")
    from gem_hub_client.sync import CacheError, load_into_memory, silent, update

    try:
        update(hub, progress or silent)
    except CacheError:
        if hub.remote:
            raise
        return OpenedCatalogue(hub, *load_into_memory(hub))
    state = State.read(hub.cache)
    catalogue = state.opened(hub.cache)
    if catalogue is None:
        raise CacheError(f"{hub.cache}: the catalogue of {hub.name} was removed while it was loaded; try again")
    return OpenedCatalogue(hub, catalogue, state, state.problem)


def _due(hub: Hub, state: State, max_age: float) -> bool:
    if not hub.remote:
        try:
            if state.problem or (Path(hub.location) / ROOT_PATH).read_bytes() != state.root.encode():
                return True
            return bool(state.signed) and (Path(hub.location) / TIMESTAMP_PATH).read_bytes() != state.signed.encode()
        except OSError:
            return True
    since = time.time() - state.tried
    return not 0 <= since <= (min(max_age, _RETRY) if state.problem else max_age)
