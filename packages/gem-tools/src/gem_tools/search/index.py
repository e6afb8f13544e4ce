"""The index over a corpus: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; k1 = 1.2,
b = 0.75) in tantivy, in a folder that is memory-mapped, or in memory.

Words are compared without case, accents and English endings; :mod:`gem_tools.search.words` says what a word is. A query
is a set of words without a syntax: the operators of other query languages count as punctuation. Among documents with
equal scores, the one with the shorter id comes first, and ids of equal length are in alphabetical order, so that
numbers are in numerical order. The order of the lines in a corpus does not matter.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tantivy
from tantivy.tantivy import __version__

from gem_tools.search.corpus import Document
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import CorpusError, SearchError
from gem_tools.search.words import TOKENIZER, indexed_words, queried_words

__all__ = ["ENGINE", "LocalIndex", "sortable"]

ENGINE = "2-" + re.sub(r"[^\w.]+", "-", __version__)
"""The version of the program that wrote an index; another version's index is not read."""

_SORTS = tuple(map(int, re.findall(r"\d+", __version__)[:2])) >= (0, 27)
"""Whether the library can sort an index; its last version for Python 3.10 cannot."""
_LONGEST_QUERY = 10_000
"""The number of characters of a query that count."""
_MOST_TERMS = 64
"""The number of different words of a query that count; the time of a search grows with it."""
_LONGEST_WORD = 64
"""The longest indexed word in bytes; an address or a blob is longer."""
_MOST_TIES = 256
"""The number of equally scored documents that are sorted if an index has several parts, or is not sorted."""
_HEAP = 20_000_000
"""The memory of an index writer in bytes; a full buffer becomes a part of the index."""

_ID, _CONTENTS, _WORDS, _TOKENIZER = "id", "contents", "words", "gem"
_LENGTH_DIGITS = 4

_CHANGING = ("meta.json", ".managed.json")
"""The files of an index that change when documents are added."""


class LocalIndex:
    """An index that is open for searches; any number of threads may use it.

    Args:
        index: a tantivy index that :meth:`write` filled.
        folder: the folder of the index; None for an index in memory.
    """

    def __init__(self, index: tantivy.Index, folder: Path | None = None) -> None:
        self.folder = folder
        self._schema = index.schema
        self._searcher = index.searcher()
        self._index = index
        self._analyzer = _analyzer()
        self._without_stop_words = _analyzer(stop_words=True)

    @classmethod
    def open(cls, folder: Path) -> LocalIndex:
        """Open an index in a folder. This reads only a few pages.

        Raises:
            SearchError: if the folder contains no readable index.
        """
        try:
            index = tantivy.Index.open(str(folder))
            index.config_reader("manual")
            index.register_tokenizer(_TOKENIZER, _analyzer())
            return cls(index, folder)
        except BaseException as error:
            if not _is_from_tantivy(error):
                raise
            raise SearchError(f"the index in {folder} cannot be opened: {error}") from error

    @classmethod
    def write(cls, documents: Iterable[Document], folder: Path | None = None) -> LocalIndex:
        """Write an index over documents and open it.

        Args:
            documents: at least one document, with unique ids.
            folder: an existing empty folder; None for an index in memory.

        Raises:
            CorpusError: if the iterator over the documents raises it.
            SearchError: if the index cannot be written.
        """
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field(_ID, stored=True, fast=True, tokenizer_name="raw", index_option="basic")
            .add_bytes_field(_CONTENTS, stored=True)
            .add_text_field(_WORDS, tokenizer_name=_TOKENIZER, index_option="freq")
            .build()
        )
        return cls._filled(lambda: _new(schema, folder), documents, folder)

    @classmethod
    def _filled(
        cls, made: Callable[[], tantivy.Index], documents: Iterable[Document], folder: Path | None
    ) -> LocalIndex:
        """Add documents to an index and open it; see :meth:`write`."""
        try:
            index = made()
            index.register_tokenizer(_TOKENIZER, _analyzer())
            writer = index.writer(heap_size=_HEAP, num_threads=1)
            try:
                for document in documents:
                    fields = tantivy.Document()
                    fields.add_text(_ID, sortable(document.id))
                    fields.add_bytes(_CONTENTS, document.contents.encode())
                    fields.add_text(_WORDS, indexed_words(document.contents))
                    writer.add_document(fields)
                writer.commit()
            finally:
                writer.wait_merging_threads()  # the folder does not change after this
        except CorpusError:
            raise
        except BaseException as error:
            if not _is_from_tantivy(error):
                raise
            place = "in memory" if folder is None else f"in {folder}"
            raise SearchError(f"the index {place} cannot be written: {error}") from error
        index.config_reader("manual")
        index.reload()
        return cls(index, folder)

    def write_extended(self, documents: Iterable[Document], folder: Path) -> LocalIndex:
        """Write an index over the documents of this one, which is in a folder, and further ones, and open it.

        The parts of this index, which never change, are linked to rather than copied.

        Args:
            documents: documents with ids that this index does not have.
            folder: an existing empty folder.

        Raises:
            CorpusError: if the iterator over the documents raises it.
            SearchError: if the index cannot be written.
        """
        assert self.folder is not None
        try:
            for path in self.folder.iterdir():
                if path.suffix in ("", ".json", ".lock", ".part"):
                    continue
                _link(path, folder / path.name)
            for name in _CHANGING:
                shutil.copyfile(self.folder / name, folder / name)
        except OSError as error:
            raise SearchError(f"the index in {folder} cannot be written: {error}") from error
        return self._filled(lambda: tantivy.Index.open(str(folder)), documents, folder)

    def __len__(self) -> int:
        """Return the number of documents."""
        return int(self._searcher.num_docs)

    def has_id(self, identifier: str) -> bool:
        """Return whether a document has an id."""
        return bool(self._searcher.doc_freq(_ID, sortable(identifier)))

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return the ``topk`` best documents; fewer, or none, if no more share a word with the query.

        Only the first 10,000 characters and the first 64 different words of a query count. Words such as "the" count
        only in a query without other words.
        """
        return self.search_terms(self.terms(query), topk)

    def search_terms(self, terms: Sequence[str], topk: int) -> list[SearchHit]:
        """Return what :meth:`search` returns for a query with these terms."""
        if not terms or topk < 1:
            return []
        looked_for = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, tantivy.Query.term_query(self._schema, _WORDS, term, "freq")) for term in terms]
        )
        try:
            if _SORTS and self._searcher.num_segments == 1:
                found = self._searcher.search(looked_for, topk, count=False).hits
                return [self._hit(score, address) for score, address in found]
            return self._across_parts(looked_for, topk)
        except BaseException as error:
            if not _is_from_tantivy(error):
                raise
            raise SearchError(f"the index in {self.folder} cannot be read: {error}") from error

    def close(self) -> None:
        """Do nothing: a mapped file costs nothing while it is unused, and is released with the object."""

    def _across_parts(self, looked_for: tantivy.Query, topk: int) -> list[SearchHit]:
        """Search an index of several parts, each of which is sorted by itself at best."""
        limit = topk + 1
        while True:
            found = self._searcher.search(looked_for, limit, count=False).hits
            tied = len(found) == limit and found[topk - 1][0] == found[-1][0]
            if not tied or limit >= topk + _MOST_TIES:
                break
            limit = min(4 * limit, topk + _MOST_TIES)
        last = found[topk - 1][0] if len(found) >= topk else float("-inf")
        hits = [self._hit(score, address) for score, address in found if score >= last]
        return sorted(hits, key=lambda hit: (-(hit.score or 0.0), sortable(hit.id)))[:topk]

    def _hit(self, score: Any, address: tantivy.DocAddress) -> SearchHit:
        fields = self._searcher.doc(address)
        contents: Any = fields.get_first(_CONTENTS)
        return SearchHit(str(fields.get_first(_ID))[_LENGTH_DIGITS:], bytes(contents).decode(), float(score))

    def terms(self, query: str, function_words: bool = True) -> list[str]:
        """Return what counts of a query: its words as they stand in the index, each once.

        Args:
            query: the words.
            function_words: whether words such as "the" count in a query without other words.
        """
        text = queried_words(query[:_LONGEST_QUERY].encode(errors="replace").decode())
        words = self._without_stop_words.analyze(text)
        if not words and function_words:
            words = self._analyzer.analyze(text)
        return list(dict.fromkeys(words))[:_MOST_TERMS]

    def documents_with(self, term: str) -> int:
        """Return the number of documents that have a term (:meth:`terms`)."""
        return int(self._searcher.doc_freq(_WORDS, term))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _new(schema: tantivy.Schema, folder: Path | None) -> tantivy.Index:
    path = None if folder is None else str(folder)
    # Sorted by id, so that the engine itself returns the first of equal documents.
    return tantivy.Index(schema, path=path, sort_by_field=_ID) if _SORTS else tantivy.Index(schema, path=path)


def _analyzer(stop_words: bool = False) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(TOKENIZER)
    builder = builder.filter(tantivy.Filter.remove_long(_LONGEST_WORD)).filter(tantivy.Filter.lowercase())
    if stop_words:
        builder = builder.filter(tantivy.Filter.stopword("english"))
    return builder.filter(tantivy.Filter.ascii_fold()).filter(tantivy.Filter.stemmer("english")).build()


def sortable(identifier: str) -> str:
    """Prefix an id with its length, so that alphabetical order equals the order of the index."""
    return f"{len(identifier):0{_LENGTH_DIGITS}}{identifier}"


def _is_from_tantivy(error: BaseException) -> bool:
    # A panic of the library is not an Exception; an interrupt must pass.
    return isinstance(error, (ValueError, OSError, RuntimeError)) or type(error).__name__ == "PanicException"
