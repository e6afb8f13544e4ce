"""Puts the guides of ``docs/`` into wheels and source distributions, for ``gem guide``.

A source distribution carries them, and a wheel that is built from one takes them from there. An editable installation
gets none: the command reads those of the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GUIDES = "gem_cli/guides"


class GuidesHook(BuildHookInterface[Any]):
    """Adds every page of ``docs/guides`` and ``docs``, in one folder."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        project = Path(self.root)
        docs = project.parent.parent / "docs"
        if project.parts[-2:] == ("packages", "gem-cli") and (docs / "guides").is_dir():
            pages = [*docs.glob("*.md"), *docs.glob("guides/*.md")]
        else:
            pages = [*(project / "src" / GUIDES).glob("*.md")]
        place = GUIDES if self.target_name == "wheel" else f"src/{GUIDES}"
        for page in pages:
            build_data["force_include"][str(page)] = f"{place}/{page.name}"
