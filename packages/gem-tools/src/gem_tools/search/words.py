"""The words of a text for BM25: :func:`indexed_words` and :func:`queried_words`.

Scripts without spaces between words (Chinese, Japanese, Thai …) and Korean, whose particles stick to words, are cut
into pairs of adjacent characters, as Lucene's ``CJKBigramFilter`` does; a document also has the single characters, for
queries of one. The names of some programming languages, such as C++ and C#, are words of their own.
"""

from __future__ import annotations

import re

import tantivy

__all__ = ["TOKENIZER", "indexed_words", "queried_words"]

_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Thai and Lao, Burmese, Hangul, Khmer, Kana, Han."""
_RUN = re.compile(f"[{_WITHOUT_SPACES}]+")

TOKENIZER = tantivy.Tokenizer.regex(r"[A-Za-z](?:\+\+|#)|[\p{Alphabetic}\p{N}]+")
"""Runs of letters and digits; a letter with ``++`` or ``#`` at the beginning of a run."""


def indexed_words(text: str) -> str:
    """Return the text of a document with spaces between its words."""
    return text if text.isascii() else _RUN.sub(_pairs_and_characters, text)


def queried_words(text: str) -> str:
    """Return the text of a query with spaces between its words."""
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    pairs = [text[place : place + 2] for place in range(len(text) - 1)] or [text]
    return f" {' '.join(pairs)} "


def _pairs_and_characters(run: re.Match[str]) -> str:
    pairs = _pairs(run) if len(run[0]) > 1 else " "
    return f"{pairs}{' '.join(run[0])} "
