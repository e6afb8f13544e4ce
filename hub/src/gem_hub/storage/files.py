"""What the registry needs of a hub's storage.

There are two ways to write. :meth:`HubFiles.create` makes a file that must not exist yet: the truth.
:meth:`HubFiles.replace` puts new content in the place of old: what is derived. A reader sees a whole file or none, also
after a kill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from gem_hub.storage.locks import HubLock

__all__ = ["PRIVATE", "TEMPORARY", "HubFiles"]

PRIVATE = ".gem-hub"
"""The folder of the lock, of unfinished files and of quarantined wheels; a hub does not serve it."""

TEMPORARY = f"{PRIVATE}/unfinished"


class HubFiles(Protocol):
    """Files with relative paths and forward slashes.

    Each method raises HubError if the storage does not answer, or does not permit the access.
    """

    @property
    def address(self) -> str:
        """The hub's place, for messages."""

    def lock(self) -> HubLock:
        """Return the lock for changes of these files."""

    def owner(self) -> str | None:
        """Return the account that owns the storage; None if the storage knows no accounts."""

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""

    def open_public(self, path: str) -> BinaryIO | None:
        """Open a file that readers of the hub may see; None for any other, also one that a link leads to."""

    def is_public_folder(self, path: str) -> bool:
        """Return whether there is a folder that readers of the hub may see."""

    def read_all(self, paths: Iterable[str]) -> list[bytes | None]:
        """Return the contents of several files, in their order."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""

    def age(self, path: str) -> float:
        """Return the age of a file in seconds; 0 if it does not exist."""

    def create(self, path: str, content: bytes) -> bool:
        """Create a file. Returns False and changes nothing if it already exists."""

    def copy_in(self, source: Path, path: str, sha256: str, size: int) -> bool:
        """Create a file as a copy of an outside file. Returns False and changes nothing if it already exists.

        Raises:
            HubRefusal: if the copy does not have this digest and size, even if the file had them before.
        """

    def replace(self, path: str, content: bytes) -> bool:
        """Write a new or existing file. Returns False and writes nothing if it already has this content."""

    def replace_all(self, contents: Mapping[str, bytes]) -> None:
        """Write several new or existing files, in any order."""

    def move(self, path: str, target: str) -> None:
        """Move a file to a path without one; nothing happens if it does not exist, or if the target does."""

    def remove(self, path: str) -> None:
        """Remove a file, if it exists, and the folders that become empty."""

    def files(self, folder: str) -> Iterator[str]:
        """Yield the paths of all files below a folder of the hub."""

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder of the hub; empty if the folder does not exist."""

    def used_names(self, folder: str) -> list[str]:
        """Return the sorted names of the folders in a folder that hold a JSON file."""
