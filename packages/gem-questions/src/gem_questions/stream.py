"""Sets that are read from front to back, because they exceed the memory or are on a server."""

from __future__ import annotations

import gzip
import itertools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

from gem.arguments import integer
from gem.errors import DatasetError
from gem_questions.formats import is_compressed, open_file, suffix_of
from gem_questions.tables import BYTE_ORDER_MARK, bad_line, json_object

__all__ = ["FileShard", "JsonLinesShard", "LibraryShard", "ParquetShard", "RowStream", "Shard", "shard_of"]

_BATCH = 1024


class Shard(ABC):
    """One part of a stream, usually a file."""

    @abstractmethod
    def rows(self, start: int) -> Iterator[tuple[Mapping[str, Any], int]]:
        """Yield each row from a place on, with the place after it. Place 0 is the beginning."""


class JsonLinesShard(Shard):
    """A file of JSON lines; places are offsets in bytes, of the decompressed text where the file is compressed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, start: int) -> Iterator[tuple[Mapping[str, Any], int]]:
        with self._open() as file:
            try:
                file.seek(start)
                for line in file:
                    begin, start = start, start + len(line)
                    if not begin:
                        line = line.removeprefix(BYTE_ORDER_MARK)
                    row = json_object(line)
                    if row is not None:
                        yield row, start
                    elif line.strip():
                        raise bad_line(self.path, self._number(begin), line)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise DatasetError(f"{self.path} cannot be decompressed: {error}") from error

    def _open(self) -> gzip.GzipFile | BufferedReader:
        return gzip.open(self.path) if is_compressed(self.path) else self.path.open("rb")

    def _number(self, offset: int) -> int:
        with self._open() as file:
            return sum(1 for _ in iter(lambda: file.tell() < offset and file.readline(), False)) + 1


class ParquetShard(Shard):
    """A Parquet file, of which one row group is in memory; places are row numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, start: int) -> Iterator[tuple[Mapping[str, Any], int]]:
        try:
            from pyarrow import ArrowException, parquet
        except ImportError as error:
            raise DatasetError(f"{self.path} needs pyarrow; run: pip install 'gem-questions[datasets]'") from error
        try:
            with parquet.ParquetFile(self.path, memory_map=True) as file:
                before = 0
                for group in range(file.num_row_groups):
                    after = before + file.metadata.row_group(group).num_rows
                    if start < after:
                        for batch in file.iter_batches(_BATCH, row_groups=[group]):
                            for row in batch.slice(max(0, start - before)).to_pylist():
                                start += 1
                                yield row, start
                            before += batch.num_rows
                    before = after
        except (ArrowException, OSError) as error:
            raise DatasetError(f"{self.path} cannot be read as parquet: {error}") from error


class FileShard(Shard):
    """A file of any other format; places are row numbers."""

    def __init__(self, path: Path, split: str) -> None:
        self.path = path
        self.split = split

    def rows(self, start: int) -> Iterator[tuple[Mapping[str, Any], int]]:
        table = open_file(self.path, self.split)
        for number in range(start, len(table)):
            yield table[number], number + 1


class LibraryShard(Shard):
    """A ``datasets.IterableDataset``; places are row numbers."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def rows(self, start: int) -> Iterator[tuple[Mapping[str, Any], int]]:
        rest: Iterable[Mapping[str, Any]] = self._rows.skip(start) if start else self._rows
        for row in rest:
            start += 1
            yield row, start


class RowStream:
    """A set that is read from front to back, ``buffer`` rows at a time.

    A shuffled order visits the shards in a random order, and the rows of each buffer in a random order: distant rows
    of one shard stay apart.

    Args:
        shards: the parts of the set, at least one.
        buffer: number of rows in memory.
    """

    def __init__(self, shards: Sequence[Shard], *, buffer: int = 2000) -> None:
        self.shards = shards
        self.buffer = integer("buffer", buffer, minimum=1)

    def read(self, shards: Sequence[int], shard: int, place: int) -> Iterator[tuple[Mapping[str, Any], int, int]]:
        """Yield each row from a place on, with the shard's number in the order ``shards`` and the place after it."""
        for number in range(shard, len(shards)):
            for row, after in self.shards[shards[number]].rows(place):
                yield row, number, after
            place = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return itertools.chain.from_iterable((row for row, _ in shard.rows(0)) for shard in self.shards)


def shard_of(path: Path, split: str) -> Shard:
    """Return a file as a part of a stream."""
    suffix = suffix_of(path)
    if suffix in (".jsonl", ".ndjson"):
        return JsonLinesShard(path)
    return ParquetShard(path) if suffix == ".parquet" else FileShard(path, split)
