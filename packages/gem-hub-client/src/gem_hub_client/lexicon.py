"""What the words of a query mean: the controlled tags and synonyms that ``lexicon.json`` lists for them.

Entries are phrases. A phrase of the query matches one whose words have the same stems.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gem_hub_client.stem import stem

__all__ = ["LEXICON", "Meaning", "all_meanings", "controlled_tags", "controlled_words", "meanings", "tag_token"]

LEXICON = Path(__file__).with_name("lexicon.json")


Phrase = tuple[str, ...]


class Meaning(NamedTuple):
    """A group of phrases that stand for one another, and the controlled tag that stands for all of them."""

    token: str
    """The word under which the tag is indexed; empty for synonyms without a tag."""
    phrases: tuple[Phrase, ...]
    """Stems."""


@lru_cache(maxsize=1024)
def tag_token(tag: str) -> str:
    """Return the word under which a controlled tag is indexed: no text has it, and no user types it."""
    namespace, _, name = tag.casefold().partition(":")
    # The name first, so that the files of an index by first letters stay small.
    return "0" + "".join(character for character in name + namespace if character.isalnum())


def controlled_words(tags: Sequence[str], modality: Sequence[str], turns: str) -> Iterator[str]:
    """Yield the words under which an environment's controlled tags, modality and turns are indexed."""
    yield from (tag_token(tag) for tag in tags if ":" in tag)
    yield from (tag_token(f"modality:{kind}") for kind in modality if kind != "text")  # which nearly all have
    if turns:
        yield tag_token(f"turns:{turns}")


def all_meanings() -> list[Meaning]:
    """Return every entry of the lexicon."""
    return [_meaning(number) for number in range(len(_entries()))]


def meanings(words: Sequence[str]) -> Iterator[tuple[int, int, Meaning]]:
    """Yield what the words of a query mean, each with the first and last place + 1 of the words that mean it."""
    stems = [stem(word) for word in words]
    table = _by_beginning()
    for start in range(len(stems)):
        # Words of one stem begin alike, so that few entries need to be stemmed.
        for number, phrase in table.get(words[start][:2], ()):
            stemmed = _stemmed(phrase)
            if tuple(stems[start : start + len(stemmed)]) == stemmed:
                yield start, start + len(stemmed), _meaning(number)


def controlled_tags(namespace: str) -> list[str]:
    """Return the names of the tags of a namespace that this client knows, such as those of ``"domain"``."""
    return [tag.partition(":")[2] for tag, _ in _entries() if tag.startswith(f"{namespace}:")]


@lru_cache(maxsize=1)
def _entries() -> list[tuple[str, list[Phrase]]]:
    """Return each entry: the tag, or "", and its phrases as they are written."""
    document = json.loads(LEXICON.read_bytes())
    texts = [*document["tags"].items(), *(("", text) for text in document["synonyms"])]
    return [(tag, [tuple(phrase.split()) for phrase in text.split(",")]) for tag, text in texts]


@lru_cache(maxsize=1)
def _by_beginning() -> dict[str, list[tuple[int, Phrase]]]:
    table: dict[str, list[tuple[int, Phrase]]] = {}
    for number, (_, phrases) in enumerate(_entries()):
        for phrase in phrases:
            table.setdefault(phrase[0][:2], []).append((number, phrase))
    return table


@lru_cache(maxsize=256)
def _meaning(number: int) -> Meaning:
    tag, phrases = _entries()[number]
    return Meaning(tag_token(tag) if tag else "", tuple(dict.fromkeys(map(_stemmed, phrases))))


def _stemmed(phrase: Phrase) -> Phrase:
    return tuple(stem(word) for word in phrase)
