"""The official index: the snapshot inside this package, the keys that sign it, and the place of the current one.

The build puts it into every wheel. In a checkout of GEM's repository it is derived by ``hub/official_index.py`` into a
folder that git ignores, and derived anew whenever a file has changed that the last run read, so that a developer never
searches an index that is older than the sources.

``official.json`` is the one place that says where the current index is published; ``GEM_OFFICIAL_HUB`` names a mirror,
which the keys make as good as the original.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gem_hub_client.errors import HubError
from gem_hub_client.locking import exclusive
from gem_hub_client.names import ROOT_PATH

__all__ = ["INPUTS", "MIRROR", "in_checkout", "official_root", "published_address", "snapshot_folder", "stamp"]

INPUTS = "inputs.json"
"""The file of a derived snapshot that lists what it was derived from: path → :func:`stamp`."""

MIRROR = "GEM_OFFICIAL_HUB"
"""The environment variable with the address of a mirror of the official index."""

_PACKAGE = Path(__file__).resolve().parent
_SNAPSHOT = _PACKAGE / "official_index"


def snapshot_folder() -> Path:
    """Return the folder that holds the snapshot.

    Raises:
        HubError: if the snapshot is missing, or cannot be derived in a checkout.
    """
    # A wheel puts the package into site-packages. Beside an unpacked source distribution a script may be anybody's.
    if in_checkout():
        script = _PACKAGE.parents[3] / "hub" / "official_index.py"
        if script.is_file() and _is_stale():
            _derive_once(script)
    if not (_SNAPSHOT / ROOT_PATH).is_file():
        raise HubError(f"{_SNAPSHOT}: the snapshot of the official index is missing; install gem-hub-client anew")
    return _SNAPSHOT


def in_checkout() -> bool:
    """Return whether this package runs from the sources of GEM's repository."""
    return _PACKAGE.parts[-4:-1] == ("packages", "gem-hub-client", "src")


def official_root() -> bytes:
    """Return the root whose keys sign the official index (a TUF root, version 1 or later)."""
    return (_PACKAGE / "trust" / "official_root.json").read_bytes()


def published_address() -> str:
    """Return where the current official index is published; empty if this build of the package does not know.

    Raises:
        HubError: if the configuration of this package is damaged.
    """
    if mirror := os.environ.get(MIRROR):
        return mirror
    path = _PACKAGE / "official.json"
    try:
        return str(json.loads(path.read_bytes())["url"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HubError(f"{path}: cannot be read: {error!r}; install gem-hub-client anew") from error


def stamp(path: str) -> list[int] | None:
    """Return what changes when a file or a folder changes (time in nanoseconds, size in bytes); None if it is gone."""
    try:
        status = os.stat(path)  # noqa: PTH116  # every command of a developer asks for dozens
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def _is_stale() -> bool:
    try:
        inputs: dict[str, Any] = json.loads((_SNAPSHOT / INPUTS).read_bytes())
    except (OSError, ValueError):
        return True
    return any(stamp(path) != seen for path, seen in inputs.items())


def _derive_once(script: Path) -> None:
    """Derive the snapshot, unless another process has done so by the time that this one may."""
    _SNAPSHOT.mkdir(exist_ok=True)  # git ignores what is inside
    # A run clears the folder of files that no snapshot names, among them what another run is about to rename.
    with exclusive(_SNAPSHOT / "lock"):
        if _is_stale():
            _derive(script)


def _derive(script: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, str(script), str(_SNAPSHOT)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise HubError(f"{script} cannot derive the official index of this checkout: {said}")
