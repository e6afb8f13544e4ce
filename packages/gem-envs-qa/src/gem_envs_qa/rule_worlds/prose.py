"""The words of rule worlds, and their sentences."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple

from gem_envs_qa.rule_worlds.theory import ANYONE, Atom, Literal, Rule

__all__ = ["LEXICONS", "Lexicon", "fact_sentence", "rule_sentence"]

_ATTRIBUTES = (
    "brave", "bright", "calm", "clever", "cold", "gentle", "green", "happy", "honest", "kind", "old", "proud", "quick",
    "quiet", "rich", "rough", "round", "shy", "smart", "strong", "tall", "tired", "wise", "young",
)  # fmt: skip


class Lexicon(NamedTuple):
    """The entities of a world, and its words for any of them."""

    entities: tuple[str, ...]
    verbs: tuple[str, ...]
    """Without the s of the third person."""
    anyone: str
    pronoun: str
    plural: str
    verb_is: str
    """The form of *to be* after the pronoun."""
    attributes: tuple[str, ...] = _ATTRIBUTES


LEXICONS = (
    Lexicon(
        ("Anna", "Boris", "Clara", "Diego", "Esther", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Keiko", "Lionel"),
        ("admire", "advise", "call", "help", "trust", "visit"),
        "someone",
        "they",
        "people",
        "are",
    ),
    Lexicon(
        ("the badger", "the bear", "the cat", "the dog", "the fox", "the heron", "the lion", "the mouse", "the owl"),
        ("chase", "fear", "follow", "greet", "like", "see"),
        "something",
        "it",
        "things",
        "is",
    ),
)


def fact_sentence(atom: Atom, holds: bool = True) -> str:
    """Return the sentence that states a ground atom, or that it does not hold."""
    return _sentence(f"{atom.subject} {_says(atom, holds)}")


def rule_sentence(rule: Rule, lexicon: Lexicon, rng: random.Random) -> str:
    """Return a sentence that states a rule, in one of several wordings."""
    body = sorted(rule.body, key=lambda literal: literal.atom.subject != ANYONE)
    if rule.head.object is None and all(
        atom.subject == ANYONE and atom.object is None and holds for atom, holds in (*body, Literal(rule.head))
    ):
        form = rng.randrange(3)
        if form < 2:
            kinds = f"{', '.join(atom.predicate for atom, _ in body)} {lexicon.plural} are {rule.head.predicate}"
            return _sentence(f"all {kinds}" if form else kinds)
    conditions = " and ".join(_conditions(body, lexicon))
    if rule.head.subject == ANYONE:
        return _sentence(f"if {conditions} then {lexicon.pronoun} {_says_of_anyone(rule.head, True, lexicon)}")
    return _sentence(f"if {conditions} then {rule.head.subject} {_says(rule.head, True)}")


def _conditions(body: Iterable[Literal], lexicon: Lexicon) -> list[str]:
    """Return the conditions, those on anyone first."""
    parts: list[str] = []
    for atom, holds in body:
        if atom.subject != ANYONE:
            parts.append(f"{atom.subject} {_says(atom, holds)}")
        elif not parts:
            parts.append(f"{lexicon.anyone} {_says(atom, holds)}")
        else:
            parts.append(f"{lexicon.pronoun} {_says_of_anyone(atom, holds, lexicon)}")
    return parts


def _says(atom: Atom, holds: bool) -> str:
    if atom.object is None:
        return f"is {atom.predicate}" if holds else f"is not {atom.predicate}"
    return f"{atom.predicate}s {atom.object}" if holds else f"does not {atom.predicate} {atom.object}"


def _says_of_anyone(atom: Atom, holds: bool, lexicon: Lexicon) -> str:
    if lexicon.verb_is == "is":
        return _says(atom, holds)
    if atom.object is None:
        return f"are {atom.predicate}" if holds else f"are not {atom.predicate}"
    return f"{atom.predicate} {atom.object}" if holds else f"do not {atom.predicate} {atom.object}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
