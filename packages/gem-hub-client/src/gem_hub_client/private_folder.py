"""Cache folders that nobody else can write into, so that what lies there is what this user's commands left there.

A catalogue is verified when it is loaded, and believed from then on. In a folder that others share they could change it
in between, and with it what is installed.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_private", "make_private"]

_OTHERS = 0o022
"""The bits of a mode by which a group and everybody else may write."""
_ROOT = 0
"""The user who may change everything in any case, and fills the caches of container images."""


def is_private(folder: Path) -> bool:
    """Return whether a folder and the one around it are this user's or root's, and nobody else may write there."""
    return all(map(_is_own, (folder.parent, folder)))


def make_private(folder: Path) -> None:
    """Make a folder and the one around it, for this user alone; what others may have left there is not removed.

    Raises:
        PermissionError: if one of them belongs to another user, or its mode cannot be changed.
        OSError: if they cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder.parent, folder):
        if not _is_own(path):
            path.chmod(0o700)
        if not _is_own(path):
            raise PermissionError(f"others may write there ({path})")


def _is_own(path: Path) -> bool:
    if os.name != "posix":  # Windows gives each user folders of his own, and its modes say nothing
        return True
    try:
        status = path.stat()
    except OSError:
        return True  # there is nothing to believe
    return status.st_uid in (_ROOT, os.geteuid()) and not status.st_mode & _OTHERS
