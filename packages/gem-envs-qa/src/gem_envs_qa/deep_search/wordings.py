"""The wordings of DeepSearch's questions: several for each relation, as a part of a sentence and as a whole one.

``{}`` is the entity from which a relation leads on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem.tables import read_table
from gem_envs_qa.deep_search.sentences import words_of

__all__ = ["ENDINGS", "QUESTION_WORDS", "RELATION_WORDINGS", "REQUESTS", "TOPICS", "WANTED", "RelationWording"]


class RelationWording(NamedTuple):
    """How questions speak of a relation; what is empty does not occur for it."""

    nouns: Sequence[str] = ()
    """What it leads to, without a clause."""
    clauses: Sequence[str] = ()
    """The same with a clause at the end."""
    possessive: str = ""
    """The same for a first entity that is a person or an organisation."""
    states: Sequence[str] = ()
    """Statements that there is something it leads to, at the end of the statement."""
    role: str = ""
    """What that is called in the next sentence."""
    asks: Sequence[str] = ()
    """Questions."""
    says: Sequence[str] = ()
    """Clauses that follow "Find out …"."""


_TABLES = read_table(__file__, "wordings.json")

RELATION_WORDINGS: Mapping[str, RelationWording] = {
    name: RelationWording(**fields) for name, fields in _TABLES["relations"].items()
}
"""The name of a relation → its wordings."""

REQUESTS: Sequence[str] = _TABLES["requests"]
"""Sentences around a clause of a relation."""

WANTED: Sequence[str] = _TABLES["wanted"]
"""Sentences around a noun."""

TOPICS: Sequence[str] = _TABLES["topics"]
"""Sentences before a question about the noun in them."""

ENDINGS: Mapping[str, Sequence[str]] = _TABLES["endings"]
"""The kind of an object → questions after a statement that there is one."""

QUESTION_WORDS = words_of(
    (
        *REQUESTS,
        *WANTED,
        *TOPICS,
        *(text for texts in ENDINGS.values() for text in texts),
        *(
            text
            for wording in RELATION_WORDINGS.values()
            for text in (*wording.nouns, *wording.clauses, *wording.states, wording.role, *wording.asks, *wording.says)
        ),
        "that latter person town organisation region country and who",
    )
)
"""Every word of these wordings."""
