"""Opening one file of rows, by the suffix of its name."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.errors import DatasetError
from gem_questions.nested import rows_within
from gem_questions.tables import ArrowTable, JsonLines, ListTable, RowTable, json_object

__all__ = [
    "SUFFIXES",
    "arrow_table",
    "is_compressed",
    "json_splits",
    "open_file",
    "read_content",
    "stem_of",
    "suffix_of",
]

_TEXTS = (".jsonl", ".ndjson", ".csv", ".tsv", ".json")
_GZIP = ".gz"
_ENVELOPES = [["data"], ["rows"], ["examples"]]
"""Keys of JSON objects with one list, which hold the rows and name no split."""

SUFFIXES = (".parquet", ".arrow", *_TEXTS, *(suffix + _GZIP for suffix in _TEXTS))


def suffix_of(path: Path) -> str | None:
    """Return the suffix of a file, one of :data:`SUFFIXES` without ``.gz``, or None."""
    name = path.name.lower()
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), None)
    return None if suffix is None else suffix.removesuffix(_GZIP)


def is_compressed(path: Path) -> bool:
    """Return whether the name of a file says that gzip compressed it."""
    return path.name.lower().endswith(_GZIP)


def stem_of(path: Path) -> str:
    """Return the name of a file without its suffixes: ``train`` for ``train.jsonl.gz``."""
    return (Path(path.stem) if is_compressed(path) else path).stem


def read_content(path: Path) -> bytes:
    """Return the content of a file, decompressed.

    Raises:
        DatasetError: if it is compressed, and damaged or cut off.
        OSError: if it cannot be read.
    """
    content = path.read_bytes()
    if not is_compressed(path):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path} cannot be decompressed: {error}") from error


def open_file(path: Path, split: str) -> RowTable:
    """Return the rows of a file.

    Args:
        path: the file. All of it is one split, except for a JSON file that holds an object of lists.
        split: the split to return.

    Raises:
        DatasetError: if the file cannot be read. Bad lines of JSON lines raise later, when they are read.
    """
    suffix = suffix_of(path)
    try:
        if suffix in (".jsonl", ".ndjson"):
            return JsonLines(path, read_content(path) if is_compressed(path) else None)
        if suffix in (".csv", ".tsv"):
            return _csv(path, "," if suffix == ".csv" else "\t")
        if suffix == ".json":
            return _json(path, split)
        if suffix is not None:
            return ArrowTable(arrow_table(path))
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error}") from error
    raise DatasetError(f"{path} is not a data set: its name must end in one of {', '.join(SUFFIXES)}")


def arrow_table(path: Path) -> Any:
    """Return the ``pyarrow.Table`` of a Parquet file (decoded) or of an Arrow file of either kind (mapped).

    Raises:
        DatasetError: if it is not such a file, or pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise DatasetError(f"{path} needs pyarrow; run: pip install 'gem-questions[datasets]'") from error
    try:
        if path.suffix.lower() == ".parquet":
            # Not read_table, which goes through pyarrow.dataset and loads pandas.
            with parquet.ParquetFile(path, memory_map=True) as file:
                return file.read()
        source = pa.memory_map(str(path))
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(source).read_all()
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise DatasetError(f"{path} cannot be read as {path.suffix[1:].lower()}: {reason}") from error


def json_splits(path: Path) -> dict[str, list[Any]] | None:
    """Return the lists of a JSON file that holds an object of nothing else, by name; None for any other."""
    try:
        content = json.loads(read_content(path))
    except (ValueError, RecursionError):
        return None
    if isinstance(content, dict) and content and all(isinstance(rows, list) for rows in content.values()):
        return content
    return None


def _csv(path: Path, delimiter: str) -> RowTable:
    csv_lines = read_content(path).decode("utf-8-sig").splitlines(keepends=True)
    try:
        reader = csv.DictReader(csv_lines, delimiter=delimiter, strict=True)
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise DatasetError(
                    f"{path}, line {reader.line_num} has not as many fields as the heading, which has "
                    f"{len(reader.fieldnames or ())}; quote fields that hold a {delimiter!r}"
                )
            rows.append(row)
    except csv.Error as error:
        raise DatasetError(f"{path}, line {reader.line_num} is not CSV: {error}") from error
    return ListTable(rows)


def _json(path: Path, split: str) -> RowTable:
    # Files of JSON lines are often named .json; their first line alone is an object.
    with gzip.open(path) if is_compressed(path) else path.open("rb") as file:
        try:
            lines = json_object(file.readline()) is not None and file.read(1)
        except (OSError, EOFError, zlib.error) as error:
            raise DatasetError(f"{path} cannot be read: {error}") from error
    if lines:
        return JsonLines(path, read_content(path) if is_compressed(path) else None)
    splits = json_splits(path)
    if splits is not None and split not in splits and [name.lower() for name in splits] in _ENVELOPES:
        splits = None
    if splits is not None:
        if split not in splits:
            raise DatasetError(f"{path} has no split {split!r}; it has {', '.join(map(repr, splits))}")
        content: Any = splits[split]
    else:
        try:
            content = json.loads(read_content(path))
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{path} is not JSON: {error}") from error
        content = rows_within(content)
    for number, row in enumerate(content):
        if not isinstance(row, Mapping):
            raise DatasetError(f"{path}, element {number} is not an object but {type(row).__name__}")
    return ListTable(content)
