"""The files of a hub and its lock, in a folder or in a bucket of any S3 API."""

from __future__ import annotations

from pathlib import Path

from gem_hub.storage.files import PRIVATE, TEMPORARY, HubFiles
from gem_hub.storage.folder import HubFolder
from gem_hub.storage.locks import HeldLock, HubLock

__all__ = ["PRIVATE", "TEMPORARY", "HeldLock", "HubFiles", "HubFolder", "HubLock", "files_of"]


def files_of(hub: Path | HubFiles) -> HubFiles:
    """Return the files of a hub that is given by its folder, or as they are."""
    return HubFolder(hub) if isinstance(hub, Path) else hub
