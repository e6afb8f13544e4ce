"""The record of a stored index: what it was made from, and the digest of each of its files.

An index is opened only if its record names the right corpus and format and all its files are those that were written. A
file whose size, time and number are the noted ones is taken as it is; any other is read, since a copied index is as
good as the original and a damaged one is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["IndexRecord", "read_record", "write_record"]

_NAME = "gem-index.json"
_LOCKS = (".tantivy-writer.lock", ".tantivy-meta.lock")


@dataclass(frozen=True)
class IndexRecord:
    """What an index was made from."""

    version: str
    """The version of its format, which includes the embedding of an index by vectors."""
    corpus: str
    """The SHA-256 of the corpus."""
    size: int
    """The bytes of the corpus, decompressed."""


def write_record(folder: Path, record: IndexRecord, known: Mapping[str, Any] | None = None) -> None:
    """Write the record of a complete index into its folder.

    Args:
        folder: the folder, whose files change no more.
        record: what it was made from.
        known: the noted files of an index from which this one has some unchanged.
    """
    by_stamp = {tuple(entry["stamp"]): entry["sha256"] for entry in (known or {}).values()}
    files = {}
    for path in _files(folder):
        stamp = _stamp(path)
        files[path.name] = {"stamp": stamp, "sha256": by_stamp.get(tuple(stamp)) or _digest(path)}
    content = {"version": record.version, "corpus": record.corpus, "size": record.size, "files": files}
    text = json.dumps(content)
    part = folder / f"{_NAME}.part"
    part.write_text(json.dumps({"record": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    part.replace(folder / _NAME)


def read_record(folder: Path) -> tuple[IndexRecord, dict[str, Any]] | None:
    """Return the record of an index and its noted files; None if it has none or a file is not as it was written."""
    try:
        outer = json.loads((folder / _NAME).read_bytes())
        if hashlib.sha256(outer["record"].encode()).hexdigest() != outer["sha256"]:
            return None
        content = json.loads(outer["record"])
        record = IndexRecord(content["version"], content["corpus"], content["size"])
        files: dict[str, Any] = content["files"]
        present = {path.name: _stamp(path) for path in _files(folder)}
        if present.keys() != files.keys():
            return None
        moved = [name for name, stamp in present.items() if stamp != files[name]["stamp"]]
        if any(_digest(folder / name) != files[name]["sha256"] for name in moved):
            return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    if moved:
        with suppress(OSError):  # an index may be readable in a read-only folder
            write_record(folder, record)
    return record, files


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(_NAME) and path.name not in _LOCKS:
            yield path


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
