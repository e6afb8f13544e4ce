"""Indexes over corpora, one for each corpus in the process: :func:`local_index`."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from gem.errors import ArgumentTypeError
from gem.fork_hooks import after_fork_in_child
from gem_tools.search.corpus import read_documents
from gem_tools.search.index import LocalIndex, sortable
from gem_tools.search.store import open_or_write

__all__ = ["Corpus", "local_index"]

Documents = Iterable[Mapping[str, Any]]
Corpus = str | os.PathLike[str] | Documents | Callable[[], "str | os.PathLike[str] | Documents"]
"""A file of JSON lines, documents, or a function that returns either."""

_KEPT = 4
"""The number of indexes in memory that outlive their last user, for a sequence of environments."""

_lock = threading.RLock()
_open: WeakValueDictionary[str, LocalIndex] = WeakValueDictionary()
_kept: OrderedDict[str, tuple[object, LocalIndex]] = OrderedDict()


def local_index(corpus: Corpus, folder: str | os.PathLike[str] | None = None) -> LocalIndex:
    """Return the index over a corpus. A second call for the same corpus returns the same object.

    Args:
        corpus: a file of JSON lines, whose index is written once and memory-mapped; or documents, whose index
            is in memory; or a function that returns either, which should return the same object each time. Documents
            must not change afterwards.
        folder: the folder of indexes over files; None for the user's cache folder.

    Raises:
        ArgumentTypeError: if the corpus has another type.
        CorpusError: if a document is invalid; the message names the file and the line.
        SearchError: if the index cannot be written.
    """
    source = corpus() if callable(corpus) else corpus
    with _lock:
        if isinstance(source, (str, os.PathLike)):
            return _shared(open_or_write(Path(source), None if folder is None else Path(folder).absolute()))
        if not isinstance(source, Iterable) or isinstance(source, (bytes, Mapping, Iterator)):
            raise ArgumentTypeError(
                f"a corpus is the path of a file or a list of documents, got {type(source).__name__}; "
                "a document is a dict with id and contents"
            )
        return _in_memory(source)


def _shared(index: LocalIndex) -> LocalIndex:
    return _open.setdefault(str(index.folder), index)


def _in_memory(source: Iterable[Any]) -> LocalIndex:
    for key, (owner, index) in _kept.items():
        if owner is source:
            _kept.move_to_end(key)
            return index
    documents = sorted(read_documents(source), key=lambda document: sortable(document.id))
    digest = hashlib.sha256()
    for document in documents:
        digest.update(json.dumps([document.id, document.contents]).encode())
    key = digest.hexdigest()
    found = _open.get(key)
    if found is None:
        _open[key] = found = LocalIndex.write(documents)
    # The source is kept as well, because a new object could reuse the identity of a deleted one.
    _kept[key] = (source, found)
    _kept.move_to_end(key)
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return found


@after_fork_in_child
def _forget() -> None:
    """Reset the module in a forked child, where a missing thread may hold a lock."""
    global _lock
    _lock = threading.RLock()
