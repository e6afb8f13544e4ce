"""The questions of DeepSearch in words: :func:`worded`.

A question names its first entity. Up to two relations lead on within a phrase ("the mayor of the town where Ann died"),
the others in statements ("Ann had a mentor, who died in a certain town."); the last one is a question, a request, or a
statement with a short question after it. A phrase has one clause at most, at the end or before the verb.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from gem_envs_qa.atlas.questions import Question, called
from gem_envs_qa.atlas.schema import PERSON, Relation
from gem_envs_qa.deep_search.wordings import ENDINGS, RELATION_WORDINGS, REQUESTS, TOPICS, WANTED

__all__ = ["worded"]

_IN_PHRASES = ((0, 1), (1, 4), (2, 3))
"""The number of relations in the first phrase, and its weight."""
_OVER_REFERENCE = 0.35
"""Share of the questions with statements whose last phrase has a relation of its own."""
_FORMS = (("ask", 40), ("request", 17), ("wanted", 12), ("ending", 15), ("topic", 16))
_JOINTS = (". ", ". ", "; ", ", and ")
_RELATIVE = 0.4
"""Share of the statements about a person who has just been mentioned that are relative clauses."""
_LATTER = "the latter"


def worded(question: Question, rng: random.Random) -> str:
    """Return a question about a chain of two or more facts in words."""
    (chain,) = question.chains
    return _Wording(called(chain.start, rng), chain.start.kind, chain.path, rng).text()


class _Phrase(NamedTuple):
    """A way to speak of an entity."""

    text: str
    clause: bool = False
    """Whether it has a clause, which is hard to read between a subject and its verb."""
    long: bool = False
    """Whether it has two relations, which are hard to read in the middle of a clause."""
    possessive: bool = False
    """Whether it ends with a possessive and its noun, which is ambiguous after "of"."""


class _Wording:
    """The wording of one question."""

    def __init__(self, said: str, kind: str, path: Sequence[Relation], rng: random.Random) -> None:
        self._said, self._kind, self._path, self._rng = said, kind, path, rng

    def text(self) -> str:
        rng, before, last = self._rng, self._path[:-1], self._path[-1]
        numbers, weights = zip(*_IN_PHRASES[: 1 + min(len(before), 2)], strict=True)
        inside = rng.choices(numbers, weights)[0]
        over = len(before) - inside > 1 and rng.random() < _OVER_REFERENCE and _nouns(before[-1]) != ()
        stated = before[inside : len(before) - over]
        if not stated:
            return self._of_phrase(before, last)
        text, phrases, relative = "", self._phrases(before[:inside]), False
        for place, relation in enumerate(stated, inside):
            states = RELATION_WORDINGS[relation.name].states
            if not text:
                text = _sentence(self._filled(states, phrases))
            elif relative := not relative and before[place - 1].object == PERSON and rng.random() < _RELATIVE:
                text += f", {self._filled(states, [_Phrase('who')])}"
            else:
                joint, said = rng.choice(_JOINTS), self._filled(states, phrases)
                text += joint + (_sentence(said) if joint == ". " else said)
            phrases = [self._reference(place)]
        if over:
            phrases = [_Phrase(noun.format(phrases[0].text)) for noun in _nouns(before[-1])]
        return f"{text}. {self._end(phrases, last, self._form())}"

    def _of_phrase(self, before: Sequence[Relation], last: Relation) -> str:
        """Return a question without statements."""
        form = self._form(topic=True)
        reference = self._reference(len(before) - 1)
        if form == "topic":
            if reference.text == _LATTER:
                return self._end(self._phrases(before), last, "ask")
            about = self._filled(TOPICS, self._phrases(before))
            return f"{about} {self._end([reference], last, self._rng.choice(('ask', 'ask', 'request')))}"
        return self._end(self._phrases(before), last, form)

    def _form(self, topic: bool = False) -> str:
        forms, weights = zip(*_FORMS[: None if topic else -1], strict=True)
        return str(self._rng.choices(forms, weights)[0])

    def _end(self, phrases: Sequence[_Phrase], last: Relation, form: str) -> str:
        """Return the question about the last relation of an entity, given the phrases for it."""
        rng, wording = self._rng, RELATION_WORDINGS[last.name]
        if form == "wanted":
            noun = self._filled((*wording.nouns, *wording.clauses), phrases, short=wording.clauses)
            return rng.choice(WANTED).format(noun)
        if form == "ending":
            return f"{_sentence(self._filled(wording.states, phrases))}. {rng.choice(ENDINGS[last.object])}"
        if form == "request":
            return rng.choice(REQUESTS).format(self._filled(wording.says, phrases, short=wording.says))
        return _sentence(self._filled(wording.asks, phrases))

    def _phrases(self, path: Sequence[Relation]) -> list[_Phrase]:
        """Return the phrases for the entity to which up to two relations lead from the first one."""
        if not path:
            return [_Phrase(self._said)]
        first, *others = path
        wording = RELATION_WORDINGS[first.name]
        nouns = [noun.format(self._said) for noun in wording.nouns]
        clauses = [clause.format(self._said) for clause in wording.clauses]
        if others:
            outer = RELATION_WORDINGS[others[0].name]
            return [
                *(_Phrase(noun.format(inner), long=True) for noun in outer.nouns for inner in nouns),
                *(_Phrase(noun.format(inner), True, True) for noun in outer.nouns for inner in clauses),
                *(_Phrase(clause.format(inner), True, True) for clause in outer.clauses for inner in nouns),
            ]
        own = [wording.possessive.format(self._said)] if wording.possessive else []
        return [
            *map(_Phrase, nouns),
            *(_Phrase(text, possessive=True) for text in own),
            *(_Phrase(text, clause=True) for text in clauses),
        ]

    def _filled(self, templates: Sequence[str], phrases: Sequence[_Phrase], short: Sequence[str] = ()) -> str:
        """Return a template with a phrase that fits; those that are ``short`` take a long phrase only at their end."""
        for template in self._rng.sample(templates, len(templates)):
            before, _, after = template.partition("{}")
            inside = bool(before) and len(after) > 1
            fitting = [
                phrase
                for phrase in phrases
                if not (phrase.possessive and before.endswith(" of "))
                and not (inside and (phrase.clause or (phrase.long and template in short)))
            ]
            if fitting:
                return template.format(self._rng.choice(fitting).text)
        return self._rng.choice(templates).format(self._rng.choice(phrases).text)

    def _reference(self, place: int) -> _Phrase:
        """Return what a following sentence calls the entity to which a relation leads."""
        path = self._path[: place + 1]
        role = RELATION_WORDINGS[path[-1].name].role
        kinds = [self._kind, *(relation.object for relation in path)]
        if kinds.count(kinds[-1]) == 1 and self._rng.random() < 0.5:
            return _Phrase(f"that {kinds[-1]}")
        return _Phrase(f"that {role}" if path.count(path[-1]) == 1 else _LATTER)


def _nouns(relation: Relation) -> Sequence[str]:
    return RELATION_WORDINGS[relation.name].nouns


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
