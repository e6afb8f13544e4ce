"""Opening a set of rows: a file, a folder, a name at Hugging Face, or rows in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from gem.arguments import boolean, string
from gem.errors import ArgumentError, ArgumentTypeError, DatasetError
from gem_questions.files import open_local, stream_local
from gem_questions.shared import expanded
from gem_questions.slices import SplitSlice, parse_split
from gem_questions.splits import known_split
from gem_questions.stream import LibraryShard, RowStream
from gem_questions.tables import ArrowTable, Chain, FrameTable, Rows, RowTable, Slice

__all__ = ["open_dataset", "open_rows"]


Source = str | os.PathLike[str] | Rows | Mapping[str, Rows]


@overload
def open_rows(source: Source, *, split: str = "train", streaming: Literal[False] = False) -> Rows: ...


@overload
def open_rows(source: Source, *, split: str = "train", streaming: bool) -> Rows | RowStream: ...


def open_rows(source: Source, *, split: str = "train", streaming: bool = False) -> Rows | RowStream:
    """Return the rows of a split of a data set.

    All environments of a process share one copy of each file. JSON lines and Arrow files are mapped into
    memory, so that processes share them too; Parquet, CSV and JSON are decoded into it.

    Args:
        source: one of

            * a file: ``.parquet``, ``.jsonl``, ``.arrow``, ``.csv``, ``.tsv`` or ``.json``, texts also as ``.jsonl.gz``
              and so on; all of it is one split, under any name, unless it is a JSON object of lists;
            * a folder of such files, or one that ``save_to_disk`` of the library ``datasets`` wrote; see
              :func:`gem_questions.splits.splits_of_folder` for how splits are found;
            * ``owner/name`` or ``name``, a data set at Hugging Face; see :mod:`gem_questions.huggingface`;
            * rows: a list of dicts, a ``datasets.Dataset``, a ``pandas.DataFrame``, a ``pyarrow.Table``, anything with
              a length and an index; or a mapping of split to rows, such as a ``datasets.DatasetDict``. A
              ``datasets.IterableDataset`` is streamed in any case.
        split: which split; ``val``, ``dev`` and the like stand for each other. Also a slice of one, ``train[:100]`` or
            ``train[10%:20%]``, or several with ``+``; see :mod:`gem_questions.slices`.
        streaming: return a stream that reads from front to back, with few rows in memory.

    Raises:
        DatasetError: if the set or the split is unavailable; the message names the alternatives.
        ArgumentError, ArgumentTypeError: if ``source`` or ``split`` has an impossible value or type.
    """
    parts = parse_split(string("split", split))
    boolean("streaming", streaming)
    if len(parts) > 1 or not parts[0].whole:
        if streaming or type(source).__name__ == "IterableDataset":
            raise ArgumentError(f"a stream has no slices, got split={split!r}; open the set without streaming")
        return _sliced(source, parts)
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"a data set is a path, a name at Hugging Face, or rows; got {source!r}")
        path = expanded(name)
        if path.exists():
            return stream_local(path, split) if streaming else open_local(path, split)
        from gem_questions.huggingface import open_by_name

        return open_by_name(name, split, streaming)
    if type(source).__name__ == "IterableDataset":
        return RowStream([LibraryShard(source)])
    if isinstance(source, Mapping):
        return _checked(source[known_split(split, source, f"this {type(source).__name__}")])
    return _checked(source)


def _sliced(source: Source, parts: Sequence[SplitSlice]) -> RowTable:
    tables = []
    for part in parts:
        rows = open_rows(source, split=part.split)
        tables.append(Slice(rows, part.span(len(rows))))
    table = tables[0] if len(tables) == 1 else Chain(tables)
    if isinstance(source, (str, os.PathLike)):
        table.reopen = (_sliced, (source, parts))
    return table


def open_dataset(
    dataset_name: str | None, split: str | None, dataset: Source | None, *, streaming: bool = False
) -> Rows | RowStream:
    """Return the rows that the published arguments of a data set environment name.

    Args:
        dataset_name: a data set of Hugging Face, or a path; not read where ``dataset`` is given.
        split: the split; None: ``"train"``.
        dataset: a path or rows that replace ``dataset_name``; see :func:`open_rows`.
        streaming: read the set from front to back; see :func:`open_rows`.

    Raises:
        ArgumentError, ArgumentTypeError: if the arguments name no data set.
        DatasetError: if the data set or the split cannot be opened.
    """
    if dataset is None:
        if not dataset_name:
            raise ArgumentError("name a data set with dataset_name, or pass its path or rows as dataset")
        dataset = string("dataset_name", dataset_name)
    return open_rows(dataset, split="train" if split is None else split, streaming=streaming)


def _checked(rows: Any) -> Rows:
    kind = (type(rows).__module__.partition(".")[0], type(rows).__name__)
    if kind == ("pandas", "DataFrame"):
        rows = FrameTable(rows)
    elif kind == ("pyarrow", "Table"):
        rows = ArrowTable(rows)
    if not (hasattr(rows, "__len__") and hasattr(rows, "__getitem__")):
        raise ArgumentTypeError(
            "a data set is a path, a name at Hugging Face, or rows with a length and an index; "
            f"got {type(rows).__name__}"
        )
    if not len(rows):
        raise DatasetError("the data set has no rows")
    first = rows[0]
    if not isinstance(first, Mapping):
        raise DatasetError(f"the rows of a data set are dicts, and the first of these is {type(first).__name__}")
    checked: Rows = rows
    return checked
