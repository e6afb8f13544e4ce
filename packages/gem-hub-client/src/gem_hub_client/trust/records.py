"""Checks that the records of releases stand in the log of their hub."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.names import checked_name
from gem_hub_client.transport import HubSource
from gem_hub_client.trust.log import LogReader
from gem_hub_client.trust.pins import Pin, read_pin

if TYPE_CHECKING:
    from gem_hub_client.releases import IndexedRelease

__all__ = ["RecordLog", "check_recorded"]

_RECORD_LIMIT = 4_000_000
"""Bytes of a record, which holds a package's readme."""


class RecordLog:
    """The log of one hub, as its pin knows it."""

    def __init__(self, hub: Hub, source: HubSource, pin: Pin) -> None:
        self.hub = hub
        self._source = source
        self._edge = tuple(bytes.fromhex(node) for node in pin.log_edge)
        self._reader = LogReader(hub, source, pin.log_size)

    def check(self, name: str, version: str, sha256: str) -> None:
        """Check that the record of a release is in the log.

        Args:
            name: of the package.
            version: of the release.
            sha256: of its wheel.

        Raises:
            TrustError: if the record is about another file, or is not in the log.
            HubError: if it cannot be read.
        """
        path = f"releases/{checked_name(name)}/{version}.json"
        content = self._source.read(path, _RECORD_LIMIT).content or b""
        try:
            record = json.loads(content)
            serial, found = record["serial"], (record["name"], record["version"], record["sha256"])
            if type(serial) is not int or found != (name, version, sha256):
                raise ValueError(f"it is about {' '.join(map(str, found))[:200]}")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise TrustError(f"{self.hub.name}: {path} is no record of {name} {version}: {error!r}") from error
        self._reader.check_entry(self._edge, serial - 1, content)

    def check_event(self, path: str, content: bytes) -> None:
        """Check that the file of an event is in the log as it is here.

        Raises:
            TrustError: if it is not, or is no event.
            HubError: if the log cannot be read.
        """
        try:
            serial = json.loads(content)["serial"]
            if type(serial) is not int or serial < 1:
                raise ValueError(f"its serial is {serial!r}")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise TrustError(f"{self.hub.name}: {path} is no event: {error!r}") from error
        self._reader.check_entry(self._edge, serial - 1, content)


def check_recorded(releases: Iterable[IndexedRelease]) -> None:
    """Check that releases stand in the logs of their hubs; those of a hub without a log pass.

    Raises:
        TrustError: if a record is missing in a log, is another one there, or cannot be read.
    """
    logs: dict[Hub, RecordLog | None] = {}
    for release in releases:
        hub = release.hub
        if hub not in logs:
            # The snapshot inside this package has no log; its signature covers what it says.
            pin = None if hub.embedded else read_pin(hub)
            logs[hub] = RecordLog(hub, hub.source, pin) if pin is not None and pin.log_size else None
        log = logs[hub]
        if log is None or not release.sha256:
            continue
        try:
            log.check(release.name, str(release.version), release.sha256)
        except TrustError:
            raise
        except HubError as error:
            raise TrustError(
                f"{hub.name}: the record of {release} cannot be checked, so it was not used: {error}"
            ) from error
