"""Opening a set of rows, wherever it lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, overload

from gem.arguments import boolean, string
from gem.data.formats import open_file
from gem.data.shared import expanded, fingerprint, shared
from gem.data.splits import files_of_split, known_split, splits_of_folder
from gem.data.stream import LibraryShard, RowStream, shard_of
from gem.data.tables import Chain, Table
from gem.errors import ArgumentTypeError, DatasetError

__all__ = ["Rows", "open_files", "open_local", "open_rows", "stream_local"]


class Rows(Protocol):
    """A set of rows: a list of dicts, a ``datasets.Dataset``, :class:`gem.data.GeneratedRows`, an opened file."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Mapping[str, Any]: ...


Source = str | os.PathLike[str] | Rows | Mapping[str, Rows]


@overload
def open_rows(source: Source, *, split: str = "train", streaming: Literal[False] = False) -> Rows: ...


@overload
def open_rows(source: Source, *, split: str = "train", streaming: bool) -> Rows | RowStream: ...


def open_rows(source: Source, *, split: str = "train", streaming: bool = False) -> Rows | RowStream:
    """Return the rows of a split of a data set.

    All environments of a process share one copy of what lies in files. JSON lines and Arrow files are mapped into
    memory, so that processes share them too; Parquet, CSV and JSON are decoded into it.

    Args:
        source: one of

            * a file: ``.parquet``, ``.jsonl``, ``.arrow``, ``.csv``, ``.tsv`` or ``.json``; all of it is one split,
              whatever that is called, unless it is a JSON object of lists;
            * a folder of such files, or one that ``save_to_disk`` of the library ``datasets`` wrote; see
              :func:`gem.data.splits.splits_of_folder` for how splits are found;
            * ``owner/name`` or ``name``, a data set of the Hugging Face hub; see :mod:`gem.data.hub`;
            * rows: a list of dicts, a ``datasets.Dataset``, anything with a length and an index; or a mapping of
              split to rows, such as a ``datasets.DatasetDict``. A ``datasets.IterableDataset`` is streamed in any case.
        split: which split; ``val``, ``dev`` and the like stand for each other.
        streaming: read files, or the hub, from front to back instead, with few rows in memory.

    Raises:
        DatasetError: if the set or the split cannot be had; the message names what there is, or what to do.
        ArgumentError, ArgumentTypeError: if ``source`` or ``split`` cannot be meant.
    """
    string("split", split)
    boolean("streaming", streaming)
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"a data set is a path, a name on the hub, or rows; got {source!r}")
        path = expanded(name)
        if path.exists():
            return stream_local(path, split) if streaming else open_local(path, split)
        from gem.data.hub import open_from_hub

        return open_from_hub(name, split, streaming)
    if type(source).__name__ == "IterableDataset":
        return RowStream([LibraryShard(source)])
    if isinstance(source, Mapping):
        return _checked(source[known_split(split, source, f"this {type(source).__name__}")])
    return _checked(source)


def open_files(files: list[Path], split: str) -> Table:
    """Return the rows of several files, one after the other."""
    tables = [_open(file, split) for file in files]
    key = tuple(fingerprint(file) for file in files)
    table = tables[0] if len(tables) == 1 else shared(key, lambda: Chain(tables))
    table.reopen = (open_files, (files, split))
    return table


def open_local(path: Path, split: str) -> Table:
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
    """Return a split of a file or folder to be read from front to back."""
    files = [path] if path.is_file() else files_of_split(splits_of_folder(path), split, f"the folder {path}")
    return RowStream([shard_of(file, split) for file in files])


def _open(path: Path, split: str) -> Table:
    # Only in a JSON file does it matter which split is asked for.
    wanted = split if path.suffix.lower() == ".json" else ""
    return shared((fingerprint(path), wanted), lambda: open_file(path, split))


def _checked(rows: Any) -> Rows:
    if not (hasattr(rows, "__len__") and hasattr(rows, "__getitem__")):
        raise ArgumentTypeError(
            f"a data set is a path, a name on the hub, or rows with a length and an index; got {type(rows).__name__}"
        )
    if not len(rows):
        raise DatasetError("the data set has no rows")
    first = rows[0]
    if not isinstance(first, Mapping):
        raise DatasetError(f"the rows of a data set are dicts, and the first of these is {type(first).__name__}")
    checked: Rows = rows
    return checked
