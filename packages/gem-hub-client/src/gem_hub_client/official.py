"""The snapshot of the official index that ships inside this package.

The build puts it into every wheel. In a checkout of GEM's repository it is derived by ``hub/official_index.py`` into a
folder that git ignores, and derived anew whenever a file has changed that the last run read, so that a developer never
searches an index that is older than the sources.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gem_hub_client.errors import HubError
from gem_hub_client.names import ROOT_PATH

__all__ = ["INPUTS", "snapshot_folder", "stamp"]

INPUTS = "inputs.json"
"""The file of a derived snapshot that lists what it was derived from: path → :func:`stamp`."""

_PACKAGE = Path(__file__).resolve().parent
_SNAPSHOT = _PACKAGE / "official_index"


def snapshot_folder() -> Path:
    """Return the folder that holds the snapshot.

    Raises:
        HubError: if the snapshot is missing, or cannot be derived in a checkout.
    """
    # A wheel puts the package into site-packages. Beside an unpacked source distribution a script may be anybody's.
    if _PACKAGE.parts[-4:-1] == ("packages", "gem-hub-client", "src"):
        script = _PACKAGE.parents[3] / "hub" / "official_index.py"
        if script.is_file() and _is_stale():
            _derive(script)
    if not (_SNAPSHOT / ROOT_PATH).is_file():
        raise HubError(f"{_SNAPSHOT}: the snapshot of the official index is missing; install gem-hub-client anew")
    return _SNAPSHOT


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


def _derive(script: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, str(script), str(_SNAPSHOT)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise HubError(f"{script} cannot derive the official index of this checkout: {said}")
