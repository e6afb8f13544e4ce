"""The letters from which forms are filled in: how a person says, corrects and confuses values."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gem.tables import read_table

__all__ = ["FILLERS", "aside", "corrected", "letter", "plainly", "postscript"]

_TABLES = read_table(__file__, "letters.json")
_PLAIN: Sequence[str] = _TABLES["plain"]
_OF_CLAUSES = "{Noun}: {v}."
_CORRECTED: Sequence[str] = _TABLES["corrected"]
_OTHERS: Sequence[str] = _TABLES["others"]
_RELATIVES: Sequence[str] = _TABLES["relatives"]
_POSTSCRIPTS: Sequence[str] = _TABLES["postscripts"]
FILLERS: Sequence[str] = _TABLES["fillers"]
_NAMES: Sequence[str] = _TABLES["names"]
_GREETINGS: Sequence[str] = _TABLES["greetings"]
_REGARDS: Sequence[str] = _TABLES["regards"]


def plainly(rng: random.Random, noun: str, value: str, phrases: Sequence[str], clause: bool = False) -> str:
    """Return a sentence that says a value: one of the field's own, or one that fits any field.

    A value that is a whole clause fits only after a colon.
    """
    general = rng.choice(_PLAIN)
    chosen = rng.choice((*phrases, _OF_CLAUSES if clause else general))
    return _filled(chosen, noun, value, "", "")


def corrected(rng: random.Random, noun: str, value: str, wrong: str) -> str:
    """Return sentences that mention a wrong value before the right one."""
    return _filled(rng.choice(_CORRECTED), noun, value, wrong, "")


def aside(rng: random.Random, noun: str, value: str, wrong: str) -> str:
    """Return sentences in which somebody else has another value."""
    return _filled(rng.choice(_OTHERS), noun, value, wrong, rng.choice(_RELATIVES))


def postscript(rng: random.Random, noun: str, value: str) -> str:
    """Return a postscript that corrects a value that the letter states."""
    return _filled(rng.choice(_POSTSCRIPTS), noun, value, "", "")


def letter(
    rng: random.Random, given: str, family: str, intro: str, sentences: Sequence[str], postscripts: Sequence[str]
) -> str:
    """Return the whole letter, in paragraphs of some sentences each."""
    name = rng.choice(_NAMES).format(given=given, family=family)
    opening = [intro, name] if rng.random() < 0.5 else [name, intro]
    paragraphs, left = [" ".join(opening)], list(sentences)
    while left:
        size = rng.randint(3, 5)
        paragraphs.append(" ".join(left[:size]))
        left = left[size:]
    ending = f"{rng.choice(_REGARDS)}, {given} {family}"
    return "\n".join((rng.choice(_GREETINGS), *paragraphs, ending, *postscripts))


def _filled(sentence: str, noun: str, value: str, wrong: str, relative: str) -> str:
    first = noun[0].upper() + noun[1:]
    return sentence.format(noun=noun, Noun=first, v=value, wrong=wrong, relative=relative)
