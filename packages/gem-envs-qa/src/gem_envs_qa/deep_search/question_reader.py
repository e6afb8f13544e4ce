"""The reasoning from a question of DeepSearch to its answer: :func:`answer_by_steps`.

It knows the wordings of the questions, written down from the texts and not from the code that writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gem.tables import read_table
from gem_envs_qa.deep_search.reader import AtlasReasoning

__all__ = ["answer_by_steps"]

_REFERENCE = re.compile("(?:that|who|the latter)(?: [a-z ]+)?")
_REQUEST = re.compile(
    "(?:(?:please )?find out|tell me|i would like to know|work out|can you tell me|establish|we need to know|"
    "could you find out|my question is|discover|let me know|(?:please |can you )?name|find|identify|look for|"
    "i am looking for|wanted:|search for|consider|think of|take|this is about|the subject is|let us look at|"
    "here we ask about|start with) (.+)",
    re.IGNORECASE,
)
_SHORT = re.compile(
    "(?:who|which [a-z]+|what [a-z]+) (?:is|was) (?:it|that)|what is that [a-z]+(?: called)?|"
    "what was that person's name|(?:name|give) that [a-z]+",
    re.IGNORECASE,
)


class _Forms:
    """Forms of texts for relations."""

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._forms = [
            (
                relation,
                max(re.split(r"\bX\b|\(.*?\)[?]?|[?]", text), key=len),
                re.compile(re.sub(r"\bX\b", "(.+)", text)),
            )
            for relation, texts in table.items()
            for text in texts
        ]

    def read(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each relation that a text can be about, with the phrase for the entity that it leads on from."""
        for relation, literal, expression in self._forms:
            if literal in text:
                found = expression.fullmatch(text)
                if found is not None:
                    yield relation, next(filter(None, found.groups()))


_NOUN_FORMS, _STATEMENT_FORMS, _QUESTION_FORMS = (
    _Forms(table) for table in read_table(__file__, "question_reader.toml").values()
)


def answer_by_steps(question: str) -> AtlasReasoning:
    """Work out the answer to a question, fact by fact.

    Raises:
        AssertionError: for a question of another wording.
    """
    meant = None
    for part in re.split(r"(?<=[.?]) |; |, and (?=that |the latter )|, (?=who )", question):
        text = part.rstrip(".?")
        request = _REQUEST.fullmatch(text)
        if meant is not None and _SHORT.fullmatch(text):
            continue
        meant = yield from _told(_lower(text if request is None else request[1]), meant)
    return meant


def _told(text: str, meant: str | None) -> AtlasReasoning:
    """Find out what a part of a question leads to; ``meant`` is what the part before it led to."""
    for forms in (_STATEMENT_FORMS, _QUESTION_FORMS, _NOUN_FORMS):
        for relation, subject in forms.read(text):
            entity = yield from _entity(subject, meant)
            return (yield "fact", relation, entity)
    raise AssertionError(f"not understood: {text}")


def _entity(phrase: str, meant: str | None) -> AtlasReasoning:
    """Find out which entity a phrase means."""
    if meant is not None and _REFERENCE.fullmatch(phrase):
        return meant
    for relation, subject in _NOUN_FORMS.read(_lower(phrase)):
        entity = yield from _entity(subject, meant)
        return (yield "fact", relation, entity)
    return phrase


def _lower(text: str) -> str:
    """Return a text as it stands within a sentence, if its first word is not a name."""
    return text[0].lower() + text[1:]
