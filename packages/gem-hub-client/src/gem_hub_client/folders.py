"""The folders of this user in which the client keeps settings, and what it reads from hubs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_root", "config_file"]


def config_file() -> Path:
    """Return the path of the file to which ``gem hub use`` writes the chosen hubs."""
    return _folder("XDG_CONFIG_HOME", "APPDATA", "Library/Application Support", ".config") / "hubs.json"


def cache_root() -> Path:
    """Return the folder that holds one folder of cached data for each hub."""
    return _folder("XDG_CACHE_HOME", "LOCALAPPDATA", "Library/Caches", ".cache") / "hub"


def _folder(xdg: str, windows: str, mac: str, other: str) -> Path:
    if chosen := os.environ.get(xdg):
        return Path(chosen) / "gem"
    if os.name == "nt" and (chosen := os.environ.get(windows)):
        return Path(chosen) / "gem"
    return Path(os.path.expanduser("~")) / (mac if sys.platform == "darwin" else other) / "gem"  # noqa: PTH111  # no HOME is no error here
