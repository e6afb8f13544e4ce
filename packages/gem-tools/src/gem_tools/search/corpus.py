"""Readers of a corpus: a file of JSON lines, or documents in memory.

A document is a JSON object. Its text is ``contents``, with a title on the first line and the text below, as in
corpora of Search-R1; or ``text``, with or without a ``title``, as in BEIR. Its id is ``id`` or ``_id``,
a string or an int; the default is its position, counted from 0. Other members are ignored.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from gem_tools.search.errors import CorpusError

__all__ = ["Document", "EarlierDocuments", "open_corpus", "read_documents", "read_lines", "readable"]

_LONGEST_ID = 1000


@dataclass(frozen=True)
class Document:
    """One document of a corpus."""

    id: str
    contents: str


def open_corpus(path: Path) -> BinaryIO:
    """Open a file of JSON lines. A file with a name in ``.gz`` is decompressed.

    Raises:
        CorpusError: if the file does not exist or must not be read.
    """
    try:
        if path.suffix == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise CorpusError(f"corpus {path} cannot be read: {error.strerror or error}") from error


def readable(path: Path, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file.

    Raises:
        CorpusError: if the file cannot be read to its end: a damaged archive, a failing disk.
    """
    try:
        yield from pieces
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"corpus {path} cannot be read to its end: {error}") from error


@dataclass(frozen=True)
class EarlierDocuments:
    """The documents at the beginning of a corpus that are already known."""

    lines: int = 0
    """The number of their lines, empty ones included."""
    count: int = 0
    has_id: Callable[[str], bool] = lambda identifier: False
    """Whether one of them has an id."""


def read_lines(
    path: Path, lines: Iterable[bytes], earlier: EarlierDocuments = EarlierDocuments()
) -> Iterator[Document]:
    """Yield the documents of a corpus in the order of its lines; skip empty lines.

    Args:
        path: the path of the file, for messages.
        lines: the lines of the file, after those of the earlier documents.
        earlier: the documents before these.

    Raises:
        CorpusError: for an invalid document, a duplicate id, or an empty corpus; the message
            begins with ``FILE:LINE``.
    """
    seen: dict[str, int] = {}
    for number, line in enumerate(readable(path, lines), start=earlier.lines + 1):
        place = f"{path}:{number}"
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.isspace() or not line:
            continue
        document = _document(_decoded(line, place), str(earlier.count + len(seen)), place)
        first = seen.setdefault(document.id, number)
        if first != number:
            raise CorpusError(f"{place}: the id {document.id!r:.80} is also that of line {first}; ids must differ")
        if earlier.has_id(document.id):
            raise CorpusError(
                f"{place}: the id {document.id!r:.80} is also that of one of the first {earlier.lines:,} lines; "
                "ids must differ"
            )
        yield document
    if not seen and not earlier.count:
        raise CorpusError(f"corpus {path} holds no documents; it needs one JSON object on each line")


def read_documents(documents: Iterable[object]) -> Iterator[Document]:
    """Yield documents in memory, in their order.

    Raises:
        CorpusError: for an invalid document, a duplicate id, or an empty corpus; the message names the document.
    """
    seen: dict[str, int] = {}
    for number, item in enumerate(documents):
        place = f"document {number} of the corpus"
        document = _document(item, str(number), place)
        first = seen.setdefault(document.id, number)
        if first != number:
            raise CorpusError(f"{place}: the id {document.id!r:.80} is also that of document {first}; ids must differ")
        yield document
    if not seen:
        raise CorpusError("the corpus holds no documents")


def _decoded(line: bytes, place: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{place}: not JSON, {error.msg} at character {error.pos + 1}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{place}: not UTF-8, {error.reason} at byte {error.start + 1}") from error
    except (ValueError, RecursionError) as error:  # an int with too many digits, or unclosed brackets
        raise CorpusError(f"{place}: not valid JSON: {str(error).partition(';')[0]}") from error


def _document(item: object, default_id: str, place: str) -> Document:
    if not isinstance(item, Mapping):
        raise CorpusError(f"{place}: a document must be a JSON object, got {type(item).__name__}")
    return Document(_id(item, default_id, place), _contents(item, place))


def _id(item: Mapping[str, Any], default: str, place: str) -> str:
    value = item.get("id", item.get("_id"))
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise CorpusError(f"{place}: the id must be a string or an int, got {value!r:.80}")
    if isinstance(value, int) and value.bit_length() > 1000:  # Python refuses to format the largest ints
        raise CorpusError(f"{place}: the id is an int of {value.bit_length()} bits; 1,000 is the limit")
    text = _clean(str(value))
    if not 0 < len(text) <= _LONGEST_ID:
        raise CorpusError(f"{place}: the id must have 1 to {_LONGEST_ID:,} characters, got {len(text):,}")
    return text


def _contents(item: Mapping[str, Any], place: str) -> str:
    contents = item.get("contents")
    if contents is None:
        title, contents = item.get("title"), item.get("text")
        if contents is None:
            names = ", ".join(map(repr, item)) or "none"
            raise CorpusError(
                f"{place}: a document needs 'contents', or 'text' and optionally 'title'; it has {names:.200}"
            )
        if title is not None and not isinstance(title, str):
            raise CorpusError(f"{place}: 'title' must be a string, got {title!r:.80}")
        if isinstance(contents, str):
            one_line = " ".join((title or "").split())
            contents = f'"{one_line}"\n{contents}'
    if not isinstance(contents, str):
        name = "text" if item.get("contents") is None else "contents"
        raise CorpusError(f"{place}: {name!r} must be a string, got {contents!r:.80}")
    return _clean(contents)


def _clean(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, by a question mark."""
    return text if text.isascii() else text.encode(errors="replace").decode()
