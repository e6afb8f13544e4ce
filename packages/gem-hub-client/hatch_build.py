"""Puts the snapshot of the official index into wheels and source distributions.

A release signs it: with the file of the online key in ``GEM_HUB_ONLINE_KEY``. Any other build carries an unsigned one.

In the repository ``hub/official_index.py`` derives it. A source distribution carries it, and a wheel that is built from
one takes it from there. An editable installation gets none: the client derives its own (``gem_hub_client.official``).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SNAPSHOT = "gem_hub_client/official_index"
FILES = ("root.json", "catalog", "envs")
OPTIONAL = ("results", "episodes", "trust", "log")
ONLINE_KEY = "GEM_HUB_ONLINE_KEY"
"""What of a derived snapshot is shipped; the rest is about the machine that derived it."""
DERIVATION = ["filelock>=3.16", "packaging>=26.0", "pydantic>=2.7", "tomli>=2.0; python_version < '3.11'"]
"""What hub/official_index.py needs beyond the repository."""
SIGNING = ["cryptography>=42", "tuf>=6.0"]
"""The same for signing."""


class SnapshotHook(BuildHookInterface[Any]):
    """Derives the snapshot, or takes the one of a source distribution."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        if self._script is None:
            return []
        return [*DERIVATION, *SIGNING] if os.environ.get(ONLINE_KEY) else DERIVATION

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        source = self._carried
        script = self._script
        if script is not None:
            self._scratch = tempfile.TemporaryDirectory()
            source = Path(self._scratch.name)
            options = ["--sign"] if os.environ.get(ONLINE_KEY) else []
            subprocess.run([sys.executable, str(script), str(source), *options], check=True)  # noqa: S603
        elif not source.is_dir():
            raise FileNotFoundError(f"{source}: build from GEM's repository or from a source distribution")
        place = SNAPSHOT if self.target_name == "wheel" else f"src/{SNAPSHOT}"
        for name in (*FILES, *(name for name in OPTIONAL if (source / name).is_dir())):
            build_data["force_include"][str(source / name)] = f"{place}/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()

    @property
    def _script(self) -> Path | None:
        """The script of GEM's repository; None elsewhere, where a script in this place may be anybody's."""
        project = Path(self.root)
        script = project.parent.parent / "hub" / "official_index.py"
        return script if project.parts[-2:] == ("packages", "gem-hub-client") and script.is_file() else None

    @property
    def _carried(self) -> Path:
        return Path(self.root) / "src" / SNAPSHOT
