"""The changes in a container as a layer of an image, on the disk of the images: :func:`save_layer`."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from gem_terminal.engines.namespace.stacked_folders import MARK_REPLACED
from gem_terminal.errors import EngineError

__all__ = ["save_layer"]

_ELSEWHERE = "name a folder on a disk, or on a volume, in GEM_TERMINAL_IMAGES"


def save_layer(upper: str, folder: Path) -> None:
    """Copy the upper folder of an overlay, with its marks of deleted files and replaced folders.

    Args:
        upper: the folder.
        folder: an empty one, for the copy.

    Raises:
        EngineError: if the disk cannot hold it. An overlay refuses marks of deleted files, and file systems without
            trusted attributes, such as overlays of Linux before 6.7, drop those of replaced folders.
    """
    command = ["cp", "-a", "--", f"{upper}/.", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # a fixed command
    if done.returncode != 0:
        why = ""
        if "cannot create special file" in done.stderr:
            why = f". Deleted files cannot be marked there, as in a container whose files are an overlay; {_ELSEWHERE}"
        raise EngineError(f"the layer cannot be saved in {folder}: {done.stderr[-300:].rstrip()}{why}")
    for path, _, _ in os.walk(upper):
        copy = f"{folder}{path[len(upper) :]}"
        with suppress(FileNotFoundError):  # removed at this moment
            if MARK_REPLACED in _attributes(path) and MARK_REPLACED not in _attributes(copy):
                raise EngineError(
                    f"the layer cannot be saved in {folder}: {path[len(upper) :]} replaces a folder of the image, "
                    f"which cannot be marked there; {_ELSEWHERE}"
                )


def _attributes(path: str) -> list[str]:
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        return []  # the file system has none
