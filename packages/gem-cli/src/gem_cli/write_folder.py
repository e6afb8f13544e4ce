"""Writing a folder of files: all of it or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gem.errors import ArgumentError

__all__ = ["check_target", "write_files"]


def check_target(folder: Path) -> Path:
    """Return ``folder`` if a new package can go there: it does not exist, or is empty.

    Raises:
        ArgumentError: if something is already there.
    """
    if folder.is_dir():
        inside = next(folder.iterdir(), None)
        if inside is not None:
            raise ArgumentError(
                f"the folder {str(folder)!r} is not empty, it holds {inside.name!r}; choose another one with --into"
            )
    elif folder.exists() or folder.is_symlink():
        raise ArgumentError(f"{str(folder)!r} exists and is not a folder; choose another one with --into")
    return folder


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write ``files`` (relative path → text) into a folder that does not exist or is empty.

    The files are first written into a temporary folder and then moved, so that a failure leaves the folder unchanged.

    Raises:
        ArgumentError: if the folder is not empty.
        OSError: if it cannot be written.
    """
    check_target(folder)
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A folder that exists may be a file system of its own, onto which nothing outside can be moved.
    near = folder if folder.exists() else folder.parent
    with tempfile.TemporaryDirectory(prefix=".gem-new-", dir=near) as scratch:
        # One level down, since other users cannot read a temporary folder and must be able to read the package.
        whole = Path(scratch, "whole")
        for path, text in files.items():
            file = whole / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        if folder.exists():
            _move_into(folder, whole)
        else:
            whole.rename(folder)


def _move_into(folder: Path, whole: Path) -> None:
    # The folder itself stays: it may be the working directory of the calling shell.
    moved: list[Path] = []
    try:
        for item in sorted(whole.iterdir()):
            target = folder / item.name
            if target.exists():
                raise ArgumentError(f"{str(target)!r} appeared while the package was written; nothing was kept")
            item.rename(target)
            moved.append(target)
    except BaseException:
        for target in moved:
            shutil.rmtree(target) if target.is_dir() else target.unlink()
        raise
