"""The package index of this machine's installers, read from their own settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from gem_hub.errors import HubRefusal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["installer_index"]

_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_PATIENCE = 60.0
"""The time limit in seconds for pip's answer."""


def installer_index() -> str:
    """Return the address of the index: from pip's and uv's variables, uv's settings, or what pip itself says.

    Raises:
        HubRefusal: if no setting names one.
    """
    for variable in _VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    found = _uv_index() or _pip_index()
    if not found:
        raise HubRefusal("neither pip nor uv names an index; name one with --fallback URL")
    return found


def _pip_index() -> str:
    """Return the default of ``--index-url`` in pip's help, which includes its settings."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--help"],
        env={**os.environ, "COLUMNS": "10000"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=_PATIENCE,
        check=False,
    )
    match = re.search(r"--index-url <url>.*?\(default:? (\S+?)\)", done.stdout)
    return match[1] if match is not None else ""


def _uv_index() -> str:
    """Return the default index of uv's settings for this user."""
    base = os.environ.get("APPDATA") if os.name == "nt" else os.environ.get("XDG_CONFIG_HOME")
    path = Path(os.environ.get("UV_CONFIG_FILE") or Path(base or Path.home() / ".config") / "uv" / "uv.toml")
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    indexes: list[Any] = settings.get("index") or []
    default = next((item["url"] for item in indexes if item.get("default")), "")
    return str(default or settings.get("pip", {}).get("index-url") or settings.get("index-url") or "")
