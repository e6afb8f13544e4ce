"""A reader of DeepSearch's articles, :class:`SearchReader`, and what a single sentence says, :func:`said_by`.

It knows the wordings of the articles, written down from the texts and not from the code that writes them, and none of
the facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gem.tables import read_table
from gem_envs_qa.deep_search.reader import AtlasReader, bare

__all__ = ["SearchReader", "about_itself", "said_by", "second_name_in"]

_TOKENS = {
    "S": "(?:SELF|[Hh]e|[Ss]he|[Ii]t|[Tt]he [a-z]+)",
    "P": "(?:SELF's|[Hh]is|[Hh]er|[Ii]ts|[Tt]he [a-z]+'s)",
    "H": "(?:SELF|him|her|it|the [a-z]+)",
    "N": "((?:[Tt]he )?[A-Z][A-Za-z]*(?: (?:of )?[A-Z][A-Za-z]*)*)",
    "V": r"(\d[\d,]*|\d+ [A-Z][a-z]+ \d+)",
    "L": "(.+)",
}
"""The entity of the article as subject, its possessive and object form; a name, a value and a list, each a group."""
_TOKEN = re.compile(r"\b[SPHNVL]\b")

# What a sentence says of the entity of its article.
_TABLES = read_table(__file__, "sentence_reader.toml")

_SECOND_NAME = re.compile(
    ", (?:(?:also|who often signed as|formerly|known|once|at first|at times|sometimes|named|called|titled|published|"
    r"performed|exhibited|who also used the name of|to friends as|to its people as|in old charters as|as) ?)+ "
    r"?((?:[Tt]he )?[A-Z][A-Za-z]*(?: (?:of )?[A-Z][A-Za-z]*)*)(?: in older books)?,"
)


def about_itself(title: str, text: str) -> str:
    """Return an article with ``SELF`` wherever its entity is called by its name."""
    names = rf"(?:[Tt]he )?{re.escape(title)}\b"
    text = re.sub(names, "SELF", text)
    family = title.partition(" ")[2]
    return re.sub(rf"(?<=\. ){family}\b", "SELF", text) if family else text


def second_name_in(opening: str) -> str | None:
    """Return the second name that the first sentence of an article gives its entity."""
    found = _SECOND_NAME.search(opening)
    return None if found is None else found[1]


class _SentenceForm:
    """A form of sentences; ``literal`` stands in each of them."""

    def __init__(self, kind: str, relation: str, text: str) -> None:
        self.says = kind, relation
        self.literal = max(re.split(r"\b[SPHNVL]\b|[\[(].*?[\])]\+?", text), key=len)
        self.expression = re.compile(_TOKEN.sub(lambda token: _TOKENS[token[0]], text))


def _forms(kind: str, table: Mapping[str, Sequence[str]]) -> list[_SentenceForm]:
    return [_SentenceForm(kind, relation, text) for relation, texts in table.items() for text in texts]


_FORMS = [
    *_forms("list", {"": _TABLES["lists"]["all"]}),
    *_forms("other", _TABLES["other"]),
    *_forms("own", _TABLES["own"]),
]


@lru_cache(maxsize=20_000)
def said_by(sentence: str) -> tuple[str, str, str]:
    """Return what a sentence without its full stop says, with ``SELF`` for the name of the article's entity.

    Returns:
        ``"list"``, ``"own"``, ``"other"`` or ``"nothing"``, the relation, and the other entity or the list.
    """
    for form in _FORMS:
        if form.literal in sentence:
            found = form.expression.fullmatch(sentence)
            if found is not None:
                return *form.says, found[1]
    return "nothing", "", ""


class SearchReader(AtlasReader):
    """What is said in the articles that were read."""

    def read(self, title: str, text: str) -> None:
        opening, *sentences = about_itself(title, text).rstrip(".").split(". ")
        self.names[bare(title)] = title
        alias = second_name_in(opening)
        if alias is not None:
            self.aliases[bare(alias)] = title
        for sentence in sentences:
            self._heard(title, sentence, *said_by(sentence))
