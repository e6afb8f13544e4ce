"""The state of a hub between two commands, in addition to the database."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.catalogue import SCHEMA, Catalogue
from gem_hub_client.private_folder import is_private

__all__ = ["DATABASE_PREFIX", "State", "utc"]

DATABASE_PREFIX = f"index-{SCHEMA}-"
"""The prefix of the database names that this gem-hub-client can use."""

_FILE = "state.json"


def utc(seconds: float) -> str:
    """Return a time since the epoch in the form of hubs."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@dataclass(frozen=True)
class State:
    """The newest ``root.json`` that was seen, and when. Times are seconds since the epoch, 0 for never."""

    root: str = ""
    """Its text."""
    serial: int = -1
    """Its serial; nothing older is ever accepted."""
    created: str = ""
    issued: str = ""
    """When the hub wrote it, in its own words."""
    expires: str = ""
    """Until when it is valid; empty for a hub that does not say."""
    signed: str = ""
    """The signed timestamp by which it was accepted; empty for a hub that is not signed."""
    digest: str = ""
    """The SHA-256 of ``root.json`` that was signed; empty for a hub that is not signed."""
    restarts: int = 0
    """How often the hub's root keys had asked to forget its history; see ``gem_hub_client.trust.metadata``."""
    database: str = ""
    """Name of the database that it was applied to; empty where there is none."""
    etag: str = ""
    modified: str = ""
    checked: float = 0.0
    """When the hub last answered."""
    tried: float = 0.0
    """When it was last asked."""
    problem: str = ""
    """Why the last answer could not be used; empty if it could."""

    @classmethod
    def read(cls, folder: Path) -> State:
        """Return the state in a cache folder; a blank one where there is none, or none that can be believed.

        What others may write there could be anything; see :mod:`gem_hub_client.private_folder`.
        """
        if not is_private(folder):
            return cls()
        try:
            document: Any = json.loads((folder / _FILE).read_bytes())
            values = {item.name: document[item.name] for item in fields(cls)}
            if any(not isinstance(value, type(getattr(cls, name))) for name, value in values.items()):
                return cls()
            state = cls(**values)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return cls()
        # It is a file name that this client wrote; a damaged state must not lead elsewhere.
        return state if Path(state.database).name == state.database else replace(state, database="")

    def write(self, folder: Path) -> None:
        write_whole(folder / _FILE, json.dumps({item.name: getattr(self, item.name) for item in fields(self)}))

    def opened(self, folder: Path) -> Catalogue | None:
        """Return the catalogue that this is about, or None if there is none that this gem-hub-client can use."""
        if not self.database.startswith(DATABASE_PREFIX):
            return None
        try:
            catalogue = Catalogue.open(folder / self.database)
        except sqlite3.Error:
            return None
        if catalogue.serial < self.serial:  # it is not the one that the state was written for
            catalogue.close()
            return None
        return catalogue

    @property
    def expired(self) -> bool:
        """Whether it is not valid any more; it may still be searched."""
        return bool(self.expires) and self.expires < utc(time.time())

    @property
    def age(self) -> float | None:
        """Return the seconds since the hub's last answer; None without one. A clock that was set back counts as 0."""
        return max(0.0, time.time() - self.checked) if self.checked else None
