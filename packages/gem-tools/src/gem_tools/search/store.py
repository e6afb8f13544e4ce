"""The store of corpus indexes on this machine. Each index is written once and completely.

The folder of an index is named after the SHA-256 of its corpus, so a changed corpus gets a new index, and
a moved or copied corpus finds its index. A corpus that has grown at its end gets an index that extends the one before:
the documents that were there are not indexed again. An index that is not what its record says
(:mod:`gem_tools.search.index_record`) is written anew.

An index is written to a temporary folder, which is renamed when complete, so an interrupted writer never leaves a
partial index. Of several processes, one writes and the others wait for it. The digest of a file is stored with the
file's size and times, so a large corpus is not read again at every start. Everything here may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar
from uuid import uuid4

from filelock import FileLock

from gem_tools.search.corpus import Document, EarlierDocuments, open_corpus, read_lines, readable
from gem_tools.search.errors import CorpusError, SearchError
from gem_tools.search.index import ENGINE, LocalIndex
from gem_tools.search.index_record import IndexRecord, read_record, write_record

__all__ = ["WORDS", "IndexFormat", "indexes", "open_or_write"]


_CHUNK = 1 << 20
_SETTLED = 2_000_000_000
"""Nanoseconds after which a changed file surely has a new time, since some file systems count whole seconds."""


def indexes() -> Path:
    """Return the default folder of the indexes."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gem" / "search"


class StoredIndex(Protocol):
    """An index in a folder."""

    def __len__(self) -> int: ...

    def has_id(self, identifier: str) -> bool:
        """Return whether a document has an id."""


IndexT = TypeVar("IndexT", bound=StoredIndex)


class IndexFormat(Protocol[IndexT]):
    """A kind of index."""

    @property
    def version(self) -> str:
        """The version of the kind; an index of another version is not read."""

    def open(self, folder: Path) -> IndexT:
        """Open an index; raises ``SearchError`` if it is not whole."""

    def write(self, documents: Iterable[Document], folder: Path) -> object:
        """Write an index over documents to an empty folder."""

    def extend(self, index: IndexT, documents: Iterable[Document], folder: Path) -> bool:
        """Write an index over those of another one and further documents to an empty folder.

        Returns False, and reads no document, if the other one cannot be extended.
        """


class _WordFormat:
    version = ENGINE

    def open(self, folder: Path) -> LocalIndex:
        return LocalIndex.open(folder)

    def write(self, documents: Iterable[Document], folder: Path) -> object:
        return LocalIndex.write(documents, folder)

    def extend(self, index: LocalIndex, documents: Iterable[Document], folder: Path) -> bool:
        index.write_extended(documents, folder)
        return True


WORDS: IndexFormat[LocalIndex] = _WordFormat()
"""The index by words."""


def open_or_write(corpus: Path, root: Path | None = None, kind: IndexFormat[IndexT] = WORDS) -> IndexT:  # type: ignore[assignment]
    """Open the index over a corpus; write it first if it does not exist.

    Args:
        corpus: a file of JSON lines.
        root: the folder of the indexes; None for :func:`indexes`.
        kind: the kind of index; by words by default.

    Raises:
        CorpusError: if the corpus cannot be read.
        SearchError: if the index cannot be written.
    """
    root = indexes() if root is None else root
    try:
        root.mkdir(parents=True, exist_ok=True)
        digest = _digest(corpus, root)
        folder = root / f"{digest[:32]}-{kind.version}"
        index = _open(folder, digest, kind)
        if index is not None:
            return index
        # The system releases the lock of a process that dies.
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            # Another process may have written it in the meantime.
            index = _open(folder, digest, kind)
            return _write(corpus, digest, folder, kind) if index is None else index
    except OSError as error:
        raise SearchError(
            f"the index over {corpus} cannot be kept in {root}: {error.strerror or error}; "
            "set XDG_CACHE_HOME to a folder that can be written to"
        ) from error


def _open(folder: Path, digest: str, kind: IndexFormat[IndexT]) -> IndexT | None:
    """Return the index in a folder; None if it is missing, or not the one of this corpus and kind as it was written."""
    found = read_record(folder) if folder.is_dir() else None
    if found is None or (found[0].corpus, found[0].version) != (digest, kind.version):
        return None
    try:
        return kind.open(folder)
    except SearchError:
        return None


def _write(corpus: Path, digest: str, folder: Path, kind: IndexFormat[IndexT]) -> IndexT:
    for left in folder.parent.glob(f"{folder.name}.part-*"):  # left by a killed writer, since the lock excludes others
        shutil.rmtree(left, ignore_errors=True)
    part = folder.with_name(f"{folder.name}.part-{uuid4().hex[:12]}")
    part.mkdir()
    try:
        with _progress(corpus) as advance, open_corpus(corpus) as file:
            base = _longest_base(corpus, folder.parent, kind)
            lines = (
                _Digested(file, advance) if base is None else _Digested(file, advance, base.sha256, base.record.size)
            )
            if base is None or not kind.extend(base.index, read_lines(corpus, lines, base.documents), part):
                base, lines = None, _Digested(file, advance)
                kind.write(read_lines(corpus, lines), part)
        if lines.digest() != digest:
            raise CorpusError(f"corpus {corpus} changed while it was indexed; try again when it is complete")
        for name in (".tantivy-writer.lock", ".tantivy-meta.lock"):
            (part / name).unlink(missing_ok=True)
        write_record(part, IndexRecord(kind.version, digest, lines.size), None if base is None else base.files)
        shutil.rmtree(folder, ignore_errors=True)  # a damaged index
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return kind.open(folder)


class _Digested:
    """The lines of a file from a place on; the digest of the file is computed while they are read.

    Args:
        file: the file.
        advance: called with the number of bytes read.
        before: the digest of what comes before the place.
        start: the place.
    """

    def __init__(self, file: IO[bytes], advance: Callable[[int], None], before: Any = None, start: int = 0) -> None:
        self._file = file
        self._advance = advance
        self._start = start
        self._sha256 = hashlib.sha256() if before is None else before.copy()
        self.size = start
        """The bytes of the file up to the last line that was read."""

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(self._start)
        waiting = self._start
        for line in self._file:
            self._sha256.update(line)
            self.size += len(line)
            waiting += len(line)
            if waiting >= _CHUNK:
                self._advance(waiting)
                waiting = 0
            yield line

    def digest(self) -> str:
        return self._sha256.hexdigest()


@dataclass(frozen=True)
class _Base(Generic[IndexT]):
    """The index over the beginning of a corpus."""

    index: IndexT
    record: IndexRecord
    files: dict[str, Any]
    documents: EarlierDocuments
    sha256: Any
    """The digest of the beginning, to be continued."""


def _longest_base(corpus: Path, root: Path, kind: IndexFormat[IndexT]) -> _Base[IndexT] | None:
    """Return the index over the longest beginning of a corpus that has one; a beginning ends with a line."""
    found = sorted(_records(root, kind.version), key=lambda each: each[1].size)
    longest: tuple[Path, IndexRecord, dict[str, Any]] | None = None
    whole: tuple[int, Any] = 0, None
    digest, place, lines, last = hashlib.sha256(), 0, 0, b""
    with open_corpus(corpus) as file:
        for each in found:
            size = each[1].size
            while place < size and (chunk := file.read(min(_CHUNK, size - place))):
                digest.update(chunk)
                place += len(chunk)
                lines += chunk.count(b"\n")
                last = chunk[-1:]
            if place < size:
                break
            if last == b"\n" and digest.hexdigest() == each[1].corpus:
                longest, whole = each, (lines, digest.copy())
    if longest is None:
        return None
    folder, record, files = longest
    try:
        index = kind.open(folder)
    except SearchError:
        return None
    return _Base(index, record, files, EarlierDocuments(whole[0], len(index), index.has_id), whole[1])


def _records(root: Path, version: str) -> Iterator[tuple[Path, IndexRecord, dict[str, Any]]]:
    """Yield the whole indexes of a version, and their records."""
    for folder in sorted(root.glob(f"*-{version}")):
        found = read_record(folder) if folder.is_dir() else None
        if found is not None and found[0].version == version and found[0].size > 0:
            yield folder, *found


@contextmanager
def _progress(corpus: Path) -> Iterator[Callable[[int], None]]:
    """A progress bar of the indexed part of a corpus in megabytes; a compressed corpus has an unknown size."""
    from gem_cli.progress import progress

    total = None if corpus.suffix == ".gz" else max(corpus.stat().st_size // 10**6, 1)
    done = 0
    with progress() as bar:
        task = bar.add_task(f"indexing {corpus.name}", total=total, note="MB")

        def advance(count: int) -> None:
            nonlocal done
            done += count
            bar.update(task, completed=done // 10**6)

        yield advance


def _digest(corpus: Path, root: Path) -> str:
    """Return the SHA-256 of a corpus; read the file only if it changed since the last call."""
    try:
        path = corpus.resolve(strict=True)
        status = path.stat()
    except OSError as error:
        raise CorpusError(f"corpus {corpus} cannot be read: {error.strerror or error}") from error
    if not path.is_file():
        raise CorpusError(f"corpus {corpus} is not a file; a corpus must be a file of JSON lines")
    note = root / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.digest"
    seen = [status.st_size, status.st_mtime_ns, status.st_ino]
    try:
        noted: dict[str, Any] = json.loads(note.read_bytes())
        if noted["file"] == seen and isinstance(noted["sha256"], str):
            return noted["sha256"]
    except (OSError, ValueError, LookupError, TypeError):
        pass
    digest = hashlib.sha256()
    with open_corpus(path) as file:
        for chunk in readable(corpus, iter(lambda: file.read(_CHUNK), b"")):
            digest.update(chunk)
    with suppress(OSError):  # an index may be readable in a read-only folder
        if _now(root) - status.st_mtime_ns > _SETTLED:
            # A partial note is invalid JSON, which counts as no note.
            note.write_text(json.dumps({"path": str(path), "file": seen, "sha256": digest.hexdigest()}))
    return digest.hexdigest()


def _now(folder: Path) -> int:
    """Return the time of the file system's clock in nanoseconds."""
    probe = folder / f".now-{uuid4().hex[:12]}"
    try:
        probe.touch()
        return probe.stat().st_mtime_ns
    finally:
        probe.unlink(missing_ok=True)
