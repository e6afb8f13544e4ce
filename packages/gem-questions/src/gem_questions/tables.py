"""Sets of rows that lie in files: one class for each way of reading a row.

JSON lines and Arrow files are mapped into memory instead of copied, and a row is decoded on access.
"""

from __future__ import annotations

import json
import math
import mmap
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gem.errors import DatasetError

__all__ = [
    "BYTE_ORDER_MARK",
    "ArrowTable",
    "Chain",
    "FrameTable",
    "JsonLines",
    "ListTable",
    "Row",
    "RowTable",
    "Rows",
    "Slice",
    "bad_line",
    "json_object",
]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BRACE = ord("{")
_CHUNK = 1 << 24


class Rows(Protocol):
    """A set of rows: a list of dicts, a ``datasets.Dataset``, :class:`gem_questions.GeneratedRows`, an opened file."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Mapping[str, Any]: ...


class Row(dict[str, Any]):
    """A row whose error for a missing column names the columns that it has."""

    __slots__ = ("index",)
    index: int

    def __missing__(self, name: str) -> Any:
        where = f"row {self.index} of the data set" if hasattr(self, "index") else "a row of the data set"
        known = ", ".join(map(repr, self)) or "none"
        raise DatasetError(f"{where} has no column {name!r}; it has the columns {known}")


class RowTable(ABC):
    """Rows of one or more files, which many environments share."""

    __slots__ = ("__weakref__", "reopen")

    reopen: tuple[Callable[..., RowTable], tuple[Any, ...]] | None
    """The arguments that open it again in another process."""

    def __init__(self) -> None:
        self.reopen = None

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _at(self, index: int) -> dict[str, Any]:
        """Return the row at an index from 0 to ``len(self) - 1``, as a new dict."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"there are {size} rows, and none at {index}")
        return self._at(index % size)

    def __reduce__(self) -> Any:
        # Rows are never pickled, since another process can map the same file.
        if self.reopen is None:
            raise TypeError(f"this {type(self).__name__} was not opened by open_rows, so it cannot be pickled")
        return self.reopen


class ListTable(RowTable):
    """Rows in memory, for formats that cannot be mapped."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def _at(self, index: int) -> dict[str, Any]:
        return dict(self._rows[index])


class JsonLines(RowTable):
    """A file with one JSON object a line; blank lines are skipped. An open file takes 16 bytes of memory per row.

    The file is mapped, so it must not be truncated while it is open; replace it with another file instead.

    Args:
        path: the file.
        content: its content, where the file is compressed and so cannot be mapped.

    Raises:
        DatasetError: on reading a row that is not a JSON object; the message names file and line.
    """

    __slots__ = ("_ends", "_path", "_starts", "_text")

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        super().__init__()
        self._path = path
        self._starts, self._ends = array("Q"), array("Q")
        self._text: mmap.mmap | bytes = content or b""
        if content is None:
            with path.open("rb") as file:
                if path.stat().st_size:
                    self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start = len(BYTE_ORDER_MARK) if self._text[:3] == BYTE_ORDER_MARK else 0
        text, size = self._text, len(self._text)
        find, add_start, add_end = text.find, self._starts.append, self._ends.append
        while start < size:
            end = find(b"\n", start)
            if end < 0:
                end = size
            if text[start] == _BRACE or text[start:end].strip():
                add_start(start)
                add_end(end)
            start = end + 1

    def __len__(self) -> int:
        return len(self._starts)

    def _at(self, index: int) -> dict[str, Any]:
        start = self._starts[index]
        line = self._text[start : self._ends[index]]
        row = json_object(line)
        if row is None:
            chunks = (self._text[at : min(at + _CHUNK, start)] for at in range(0, start, _CHUNK))
            raise bad_line(self._path, sum(chunk.count(b"\n") for chunk in chunks) + 1, line)
        return row


class ArrowTable(RowTable):
    """An Arrow table: a mapped file, or the decoded columns of a Parquet file.

    Args:
        table: a ``pyarrow.Table``.
    """

    __slots__ = ("_batches", "_starts")

    def __init__(self, table: Any) -> None:
        super().__init__()
        names: list[str] = table.column_names
        batches = [batch for batch in table.to_batches() if batch.num_rows]
        self._batches = [list(zip(names, batch.columns, strict=True)) for batch in batches]
        self._starts = [0]
        for batch in batches:
            self._starts.append(self._starts[-1] + batch.num_rows)

    def __len__(self) -> int:
        return self._starts[-1]

    def _at(self, index: int) -> dict[str, Any]:
        number = bisect_right(self._starts, index) - 1
        offset = index - self._starts[number]
        return {name: column[offset].as_py() for name, column in self._batches[number]}


class FrameTable(RowTable):
    """A data frame of pandas. Missing values are None, and values of NumPy those of Python.

    Raises:
        DatasetError: if two of its columns have one name.
    """

    __slots__ = ("_columns", "_names", "_size")

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self._names = [str(name) for name in frame.columns]
        if len(set(self._names)) < len(self._names):
            raise DatasetError(f"two columns of the data frame have one name: {', '.join(map(repr, self._names))}")
        # One array for each column: a row of the frame would turn whole numbers into decimals.
        self._columns = [frame.iloc[:, place].array for place in range(len(self._names))]
        self._size = len(frame)

    def __len__(self) -> int:
        return self._size

    def _at(self, index: int) -> dict[str, Any]:
        return {name: _of_python(column[index]) for name, column in zip(self._names, self._columns, strict=True)}


class Slice(RowTable):
    """A range of the rows of another set."""

    __slots__ = ("_range", "_rows")

    def __init__(self, rows: Rows, span: range) -> None:
        super().__init__()
        self._rows = rows
        self._range = span

    def __len__(self) -> int:
        return len(self._range)

    def _at(self, index: int) -> dict[str, Any]:
        return dict(self._rows[self._range[index]])


class Chain(RowTable):
    """The rows of several tables, one after the other."""

    __slots__ = ("_starts", "_tables")

    def __init__(self, tables: Sequence[RowTable]) -> None:
        super().__init__()
        self._tables = tables
        self._starts = [0]
        for table in tables:
            self._starts.append(self._starts[-1] + len(table))

    def __len__(self) -> int:
        return self._starts[-1]

    def _at(self, index: int) -> dict[str, Any]:
        number = bisect_right(self._starts, index) - 1
        return self._tables[number]._at(index - self._starts[number])


def _of_python(value: Any) -> Any:
    """Return a value of a data frame as one of Python, None where it is missing."""
    if value is None or isinstance(value, (str, list, dict, bool, int)):
        return value
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return None
    return value


def json_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object on a line, or None if the line is anything else."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if type(row) is dict else None


def bad_line(path: Path, number: int, line: bytes) -> DatasetError:
    """Return the error for a line that is not a JSON object."""
    shown = line.strip()[:60].decode("utf-8", "replace")
    return DatasetError(f"{path}, line {number} is not a JSON object: {shown!r}; correct or remove the line")
