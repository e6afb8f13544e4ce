"""The index over a corpus: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; k1 = 1.2,
b = 0.75) in tantivy, in a folder that is memory-mapped, or in memory.

Words are compared without case, accents and English endings. A query is a set of words, never a language: what has a
meaning in the query languages of search engines is punctuation here. Where several documents fit equally well, the one
whose id is shorter comes first, and of ids of one length the one that comes first in the alphabet, so that numbers are
in their order. The order of the lines in a corpus makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tantivy
from tantivy.tantivy import __version__

from gem_tools.search.corpus import Document
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import CorpusError, SearchError

__all__ = ["ENGINE", "LocalIndex", "sortable"]

ENGINE = "1-" + re.sub(r"[^\w.]+", "-", __version__)
"""What an index was written by; one that something else wrote is not read."""

_SORTS = tuple(map(int, re.findall(r"\d+", __version__)[:2])) >= (0, 27)
"""Whether the library can sort an index; the last that runs on Python 3.10 cannot."""
_LONGEST_QUERY = 10_000
"""Characters of a query that are looked at."""
_MOST_TERMS = 64
"""Different words of a query that are looked for, the first ones; a search takes time in their number."""
_LONGEST_WORD = 64
"""Bytes of a word; what is longer, an address or a blob, is not indexed."""
_MOST_TIES = 256
"""So many documents that fit equally well are put into order where an index has several parts, or is not sorted."""
_HEAP = 20_000_000
"""Bytes that the writer of an index fills before it writes a part of the index."""

_ID, _CONTENTS, _TOKENIZER = "id", "contents", "gem"
_LENGTH_DIGITS = 4


class LocalIndex:
    """An index that is open for searching; any number of threads may use one.

    Args:
        index: a tantivy index that :meth:`write` has filled.
        folder: where it lies; None for one in memory.
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
        """Open an index that lies in a folder. Nothing of it is read but a few pages.

        Raises:
            SearchError: if there is none, or it cannot be read.
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
            documents: at least one; their ids differ.
            folder: an empty folder that exists; None for an index in memory.

        Raises:
            CorpusError: whatever the documents raise while they are read.
            SearchError: if it cannot be written.
        """
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field(_ID, stored=True, fast=True, tokenizer_name="raw", index_option="basic")
            .add_text_field(_CONTENTS, stored=True, tokenizer_name=_TOKENIZER, index_option="freq")
            .build()
        )
        try:
            index = _new(schema, folder)
            index.register_tokenizer(_TOKENIZER, _analyzer())
            writer = index.writer(heap_size=_HEAP, num_threads=1)
            try:
                for document in documents:
                    fields = tantivy.Document()
                    fields.add_text(_ID, sortable(document.id))
                    fields.add_text(_CONTENTS, document.contents)
                    writer.add_document(fields)
                writer.commit()
            finally:
                writer.wait_merging_threads()  # afterwards nothing writes to the folder
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

    def __len__(self) -> int:
        """Return the number of documents."""
        return int(self._searcher.num_docs)

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return the ``topk`` documents that fit best; fewer, or none, if no more share a word with the query.

        Of a query, the first 10,000 characters and the first 64 different words count. Words such as "the" count
        only in a query that has no other.
        """
        terms = self._terms(query)
        if not terms or topk < 1:
            return []
        looked_for = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, tantivy.Query.term_query(self._schema, _CONTENTS, term, "freq")) for term in terms]
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
        """Do nothing: what is mapped costs nothing while it is not used, and goes with the object."""

    def _across_parts(self, looked_for: tantivy.Query, topk: int) -> list[SearchHit]:
        """Search an index of several parts, each of which is at best sorted for itself."""
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
        return SearchHit(str(fields.get_first(_ID))[_LENGTH_DIGITS:], str(fields.get_first(_CONTENTS)), float(score))

    def _terms(self, query: str) -> list[str]:
        text = query[:_LONGEST_QUERY].encode(errors="replace").decode()
        words = self._without_stop_words.analyze(text) or self._analyzer.analyze(text)
        return list(dict.fromkeys(words))[:_MOST_TERMS]


def _new(schema: tantivy.Schema, folder: Path | None) -> tantivy.Index:
    path = None if folder is None else str(folder)
    # Sorted by id, so that of equal documents the engine itself finds the first.
    return tantivy.Index(schema, path=path, sort_by_field=_ID) if _SORTS else tantivy.Index(schema, path=path)


def _analyzer(stop_words: bool = False) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(_LONGEST_WORD)).filter(tantivy.Filter.lowercase())
    if stop_words:
        builder = builder.filter(tantivy.Filter.stopword("english"))
    return builder.filter(tantivy.Filter.ascii_fold()).filter(tantivy.Filter.stemmer("english")).build()


def sortable(identifier: str) -> str:
    """Put the length before an id, so that ids in the order of the alphabet are in the order of the index."""
    return f"{len(identifier):0{_LENGTH_DIGITS}}{identifier}"


def _is_from_tantivy(error: BaseException) -> bool:
    # A panic of the library is no Exception; an interrupt must pass.
    return isinstance(error, (ValueError, OSError, RuntimeError)) or type(error).__name__ == "PanicException"
