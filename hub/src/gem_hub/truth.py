"""Reads and checks the records and events in a hub's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import ValidationError

from gem_hub.events import EVENT, Event
from gem_hub.folder import HubFolder
from gem_hub.hosting import Settings
from gem_hub.package import WheelPackage
from gem_hub.records import NAME, Release, reasons
from gem_hub_client.errors import HubError

__all__ = ["Truth"]

Change = TypeVar("Change", Release, Event)


class Truth:
    """The records and events in a folder, read-only."""

    def __init__(self, folder: HubFolder) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Return the names of all packages that have a record, sorted."""
        return [name for name in self.folder.names("releases") if any(True for _ in self._paths("releases", name))]

    def package(self, name: str) -> WheelPackage | None:
        """Return a package; None if it has no record.

        Raises:
            HubError: if a record or event is damaged or misplaced.
        """
        if NAME.fullmatch(name) is None:
            return None
        records = [self.release(path) for path in self._paths("releases", name)]
        return (
            WheelPackage.of(name, records, [self.event(path) for path in self._paths("events", name)])
            if records
            else None
        )

    def packages(self) -> Iterator[WheelPackage]:
        """Yield all packages, by name."""
        for name in self.folder.names("releases"):
            package = self.package(name)
            if package is not None:
                yield package

    def release(self, path: str) -> Release:
        """Return the record at a path; raises HubError if it is invalid or misplaced."""
        try:
            release = _in_place(Release.model_validate_json(self._content(path)), path)
        except ValidationError as error:
            raise HubError(f"{path}: not a release record: {reasons(error)}") from error
        if release.mode == "source":
            raise HubError(f"{path}: is about a package without a release, of which a hub keeps no record; remove it")
        return release

    def event(self, path: str) -> Event:
        """Return the event at a path; raises HubError if it is invalid or misplaced."""
        try:
            return _in_place(EVENT.validate_json(self._content(path)), path)
        except ValidationError as error:
            raise HubError(f"{path}: not an event: {reasons(error)}") from error

    def settings(self) -> Settings:
        """Return the settings of ``hub.json``; the defaults without the file."""
        content = self.folder.read("hub.json")
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
        for path in self._all_paths():
            try:
                document: Any = json.loads(self._content(path))
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
        for name in self.folder.names("releases"):
            yield from self._paths("releases", name)
        for name in self.folder.names("events"):
            for path in self._paths("events", name):
                if not self.folder.names(f"releases/{name}"):
                    raise HubError(f"{path}: is about a package without a release; remove it")
                yield path

    def _paths(self, kind: str, name: str) -> Iterator[str]:
        for file in self.folder.names(f"{kind}/{name}"):
            if file.endswith(".json"):
                yield f"{kind}/{name}/{file}"

    def _content(self, path: str) -> bytes:
        content = self.folder.read(path)
        if content is None:
            raise HubError(f"{path}: has gone while the hub was read; try again")
        return content


def _in_place(change: Change, path: str) -> Change:
    if change.path != path:
        raise HubError(f"{path}: belongs to {change.path}; records and events are never renamed or copied by hand")
    return change
