"""An agent's message as sentences: :func:`sentences_of`."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["LONGEST_HEARD", "Sentence", "clauses_of", "is_foreign", "sentences_of"]

LONGEST_HEARD = 8000
"""Characters of a message that a user reads."""

_MARKS = re.compile(r"\*\*|__|`+|~~|^\s*#+\s*|^\s*>+\s*|\\")
_ITEM = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_END = re.compile(r"(?<=[.!?…。？！])[\"')\]]*\s+|(?<=[?？])(?=\S)")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|no|nr|mr|mrs|ms|dr|st|approx)\.$", re.IGNORECASE)
_KEY = re.compile(r"^[\"'{\[ ]*[\w /-]{1,40}[\"']?\s*[:=]\s*\S")
_QUESTION = re.compile(r"[?？][\"')\]\s]*$")
_CLAUSE = re.compile(r",|;|\s[-–]\s|\b(?:and|then|also|but|so|as well as|afterwards|before that)\b|\(|\)|→|>")
_WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
_SPACES = re.compile(r"\s+")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "‑": "-"})
_ENGLISH = frozenset(
    {
        "a", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "cannot", "could",
        "did", "do", "does", "done", "else", "enter", "for", "from", "get", "give", "go", "goodbye", "has", "have",
        "hello", "help", "hi", "how", "i", "if", "in", "is", "it", "just", "let", "like", "me", "more", "much", "my",
        "need", "new", "no", "not", "of", "off", "ok", "okay", "on", "one", "or", "order", "our", "out", "please",
        "proceed", "ready", "right", "shall", "so", "sorry", "sure", "switch", "tell", "thank", "thanks", "that",
        "the", "their", "then", "there", "this", "to", "turn", "up", "us", "wait", "want", "was", "we", "well",
        "what", "when", "where", "which", "who", "why", "will", "with", "would", "yes", "you", "your",
    }
)  # fmt: skip
"""Words of the language that users speak; German ``in`` and ``so`` alone make no message English."""
_LONGEST_SENTENCE = 600
"""Characters; a longer one is heard in pieces, so that the time to understand a message grows with its length alone."""
_FEWEST_WORDS = 3
"""Words of a message that tell its language."""


class Sentence(NamedTuple):
    """A sentence of a message, or an item of a list."""

    text: str
    """In lower case, without marks."""
    written: str
    """The same with its capitals."""
    is_question: bool
    is_item: bool
    """Whether it is an item of a list or a value with its name, such as ``on: false``."""
    is_pair: bool
    """Whether it is a name with its value, such as ``on: false``."""
    lead: str
    """The sentence before the list, for an item of one."""


def sentences_of(message: str) -> list[Sentence]:
    """Return the sentences of a message, in any layout."""
    found: list[Sentence] = []
    lead = ""
    for line in message[:LONGEST_HEARD].translate(_QUOTES).splitlines():
        marked = _ITEM.match(line) is not None
        plain = _SPACES.sub(" ", _MARKS.sub("", _ITEM.sub("", line) if marked else line)).strip()
        if not plain.strip("-*_=|. "):
            continue
        for written in _sentences(plain):
            is_pair = _KEY.match(written) is not None
            is_item = marked or is_pair
            if not is_item:
                lead = written.casefold()
            is_question = _QUESTION.search(written) is not None
            found.append(Sentence(written.casefold(), written, is_question, is_item, is_pair, lead if is_item else ""))
    return found


def clauses_of(text: str) -> list[str]:
    """Return the parts of a sentence that could each say something of its own."""
    return [clause for part in _CLAUSE.split(text) if (clause := part.strip(" .!?:\"'"))]


def is_foreign(sentences: list[Sentence]) -> bool:
    """Return whether a message is in no language that the user speaks."""
    words = [word for sentence in sentences for word in _WORD.findall(sentence.text)]
    letters = sum(map(len, words))
    if letters and sum(not "a" <= letter <= "ÿ" for word in words for letter in word if letter != "'") * 2 > letters:
        return True
    if len(words) < _FEWEST_WORDS:
        return False
    known = sum(word.partition("'")[0] in _ENGLISH for word in words)
    return known == 0 or known * 8 < len(words)


def _sentences(line: str) -> list[str]:
    parts: list[str] = []
    for part in _END.split(line):
        if parts and _ABBREVIATION.search(parts[-1][-8:]):
            parts[-1] += f" {part}"
        elif part.strip():
            parts.append(part.strip())
    return [
        part[start : start + _LONGEST_SENTENCE] for part in parts for start in range(0, len(part), _LONGEST_SENTENCE)
    ]
