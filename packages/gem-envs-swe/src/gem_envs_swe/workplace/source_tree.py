"""The tree of a package on this machine, as the image has it: :class:`SourceTree`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gem_envs_swe.errors import SweError

__all__ = ["SourceTree", "text_of"]


class SourceTree:
    """The files of a folder.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise SweError(f"{folder} is missing; the set is not whole, make it again with gem swe make")
        self.folder = folder

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        place = self.folder / path
        return place.read_bytes() if place.is_file() and not place.is_symlink() else None

    def mode(self, path: str) -> int:
        """Return the mode of a file, of which only the right to execute it counts."""
        place = self.folder / path
        return 0o755 if place.is_file() and place.stat().st_mode & 0o100 else 0o644

    def is_folder(self, path: str) -> bool | None:
        """Return whether a path is a folder; None if it does not exist."""
        place = self.folder / path
        return place.is_dir() if place.exists() else None

    def below(self, path: str) -> Iterator[str]:
        """Yield the files at a path and in its folders, relative to the tree."""
        place = self.folder / path
        if place.is_file():
            yield path
        for found in sorted(place.rglob("*")) if place.is_dir() else ():
            if found.is_file():
                yield str(PurePosixPath(found.relative_to(self.folder)))


def text_of(content: bytes) -> str:
    """Return a file as text from which the same bytes can be made again."""
    return content.decode(errors="surrogateescape")
