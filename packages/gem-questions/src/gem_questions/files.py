"""Opening the files of a data set on this machine."""

from __future__ import annotations

from pathlib import Path

from gem.errors import DatasetError
from gem_questions.formats import open_file, suffix_of
from gem_questions.shared import fingerprint, shared
from gem_questions.splits import files_of_split, splits_of_folder
from gem_questions.stream import RowStream, shard_of
from gem_questions.tables import Chain, RowTable

__all__ = ["open_files", "open_local", "stream_local"]


def open_files(files: list[Path], split: str) -> RowTable:
    """Return the rows of several files, one after the other."""
    tables = [_open(file, split) for file in files]
    key = tuple(fingerprint(file) for file in files)
    table = tables[0] if len(tables) == 1 else shared(key, lambda: Chain(tables))
    table.reopen = (open_files, (files, split))
    return table


def open_local(path: Path, split: str) -> RowTable:
    """Return the rows of a split of a file or folder."""
    try:
        if path.is_file():
            table = _open(path, split)
        else:
            table = open_files(files_of_split(splits_of_folder(path), split, f"the folder {path}"), split)
    except OSError as error:
        raise DatasetError(f"the data set {path} cannot be read: {error}") from error
    table.reopen = (open_local, (path.absolute(), split))
    if not len(table):
        raise DatasetError(f"the split {split!r} of {path} has no rows")
    return table


def stream_local(path: Path, split: str) -> RowStream:
    """Return a split of a file or folder as a stream, read from front to back."""
    files = [path] if path.is_file() else files_of_split(splits_of_folder(path), split, f"the folder {path}")
    return RowStream([shard_of(file, split) for file in files])


def _open(path: Path, split: str) -> RowTable:
    # The split matters in a JSON file alone, which may hold several.
    wanted = split if suffix_of(path) == ".json" else ""
    return shared((fingerprint(path), wanted), lambda: open_file(path, split))
