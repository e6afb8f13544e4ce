"""Reads and checks the records and events of a hub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from pydantic import ValidationError

from gem_hub.events import EVENT, Event
from gem_hub.hosting import Settings
from gem_hub.package import WheelPackage
from gem_hub.records import NAME, Release, reasons
from gem_hub.storage import HubFiles
from gem_hub_client.errors import HubError

__all__ = ["Truth"]

Change = TypeVar("Change", Release, Event)

_AT_ONCE = 256
"""How many records and events are requested together."""


class Truth:
    """The records and events of a hub, read-only."""

    def __init__(self, files: HubFiles) -> None:
        self.files = files

    def names(self) -> list[str]:
        """Return the names of all packages that have a record, sorted."""
        return self.files.used_names("releases")

    def package(self, name: str) -> WheelPackage | None:
        """Return a package; None if it has no record.

        Raises:
            HubError: if a record or event is damaged or misplaced.
        """
        if NAME.fullmatch(name) is None:
            return None
        records = [_release(*item) for item in self._contents(self._paths("releases", name))]
        if not records:
            return None
        events = [_event(*item) for item in self._contents(self._paths("events", name))]
        return WheelPackage.of(name, records, events)

    def packages(self) -> Iterator[WheelPackage]:
        """Yield all packages, by name."""
        for name in self.files.names("releases"):
            package = self.package(name)
            if package is not None:
                yield package

    def release(self, path: str) -> Release:
        """Return the record at a path; raises HubError if it is invalid or misplaced."""
        return _release(path, self._content(path))

    def event(self, path: str) -> Event:
        """Return the event at a path; raises HubError if it is invalid or misplaced."""
        return _event(path, self._content(path))

    def settings(self) -> Settings:
        """Return the settings of ``hub.json``; the defaults without the file."""
        content = self.files.read("hub.json")
        if content is None:
            return Settings()
        try:
            return Settings.model_validate_json(content)
        except ValidationError as error:
            raise HubError(f"hub.json: {reasons(error)}") from error

    def serials(self) -> dict[str, int]:
        """Return path → serial of all records and events. Serial 0 means: not numbered yet.

        Raises:
            HubError: if one cannot be read, or if two have the same serial.
        """
        serials: dict[str, int] = {}
        seen: dict[int, str] = {}
        for path, content in self._contents(self._all_paths()):
            try:
                document: Any = json.loads(content)
                serial = document["serial"]
                if type(serial) is not int or serial < 0:
                    raise ValueError(f"serial {serial!r}")
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise HubError(f"{path}: cannot be read: {error!r}") from error
            if serial and seen.setdefault(serial, path) != path:
                raise HubError(
                    f"{path}: has serial {serial}, and so has {seen[serial]}; set the serial of the one that came "
                    "later to 0 and run: gem hub rebuild"
                )
            serials[path] = serial
        return serials

    def _all_paths(self) -> Iterator[str]:
        for name in self.files.names("releases"):
            yield from self._paths("releases", name)
        for name in self.files.names("events"):
            for path in self._paths("events", name):
                if not self.files.names(f"releases/{name}"):
                    raise HubError(f"{path}: is about a package without a release; remove it")
                yield path

    def _paths(self, kind: str, name: str) -> Iterator[str]:
        for file in self.files.names(f"{kind}/{name}"):
            if file.endswith(".json"):
                yield f"{kind}/{name}/{file}"

    def _content(self, path: str) -> bytes:
        ((_, content),) = self._contents([path])
        return content

    def _contents(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each file."""
        left = iter(paths)
        while wanted := list(islice(left, _AT_ONCE)):
            for path, content in zip(wanted, self.files.read_all(wanted), strict=True):
                if content is None:
                    raise HubError(f"{path}: has gone while the hub was read; try again")
                yield path, content


def _release(path: str, content: bytes) -> Release:
    try:
        release = _in_place(Release.model_validate_json(content), path)
    except ValidationError as error:
        raise HubError(f"{path}: not a release record: {reasons(error)}") from error
    if release.mode == "source":
        raise HubError(f"{path}: is about a package without a release, of which a hub keeps no record; remove it")
    return release


def _event(path: str, content: bytes) -> Event:
    try:
        return _in_place(EVENT.validate_json(content), path)
    except ValidationError as error:
        raise HubError(f"{path}: not an event: {reasons(error)}") from error


def _in_place(change: Change, path: str) -> Change:
    if change.path != path:
        raise HubError(f"{path}: belongs to {change.path}; records and events are never renamed or copied by hand")
    return change
