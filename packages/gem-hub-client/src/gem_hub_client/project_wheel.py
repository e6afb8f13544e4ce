"""The wheel of a project folder, built by the user's own installer for ``gem hub publish FOLDER``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from shutil import copyfile

from gem_hub_client.errors import HubError
from gem_hub_client.installer import find_installer

__all__ = ["wheels_of"]


def wheels_of(paths: Iterable[Path]) -> list[Path]:
    """Return the wheels that paths name: files as they are, and for the folder of a project its wheel, built now.

    The wheel is written into ``dist`` in that folder, where other tools put it too. What the installer says goes to
    stderr.

    Raises:
        HubError: if a folder is no project, or its wheel cannot be built.
    """
    return [_built(path) if path.is_dir() else path for path in paths]


def _built(folder: Path) -> Path:
    if not (folder / "pyproject.toml").is_file():
        raise HubError(
            f"{folder} is a folder without pyproject.toml; name a project or wheels: gem hub publish {folder}/*.whl"
        )
    with tempfile.TemporaryDirectory(prefix="gem-wheel-") as scratch:
        find_installer().build(folder, Path(scratch))
        found = sorted(Path(scratch).glob("*.whl"))
        if len(found) != 1:
            raise HubError(f"building {folder} gave {len(found)} wheels; build it by yourself and name the wheel")
        kept = folder / "dist" / found[0].name
        try:
            kept.parent.mkdir(exist_ok=True)
            copyfile(found[0], kept)
        except OSError as error:
            raise HubError(f"{kept}: cannot be written: {error.strerror}") from error
    return kept
