"""The letters from which forms are filled in: how a person says, corrects and confuses values."""

from __future__ import annotations

import random
from collections.abc import Sequence

__all__ = ["FILLERS", "aside", "corrected", "letter", "plainly", "postscript"]

_PLAIN = ("{Noun} is {v}.", "{Noun}: {v}.", "For {noun} put {v}.", "As {noun}, take {v}.")
_OF_CLAUSES = "{Noun}: {v}."
_CORRECTED = (
    "Whatever you may have heard, {noun} is not {wrong} but {v}.",
    "On the phone I said {wrong} for {noun}, but it has to be {v}.",
    "You may still have {wrong} as {noun}: please replace it with {v}.",
    "In an earlier letter I gave {wrong} as {noun}; that was a mistake, and {v} is right.",
    "Do not be misled by the old papers, in which {noun} is {wrong}. It is {v}.",
    "I had written {wrong} for {noun} at first, and crossed it out: {v} it is.",
    "Two papers of mine differ on {noun}: one says {wrong}, and the other, which is right, says {v}.",
)
_OTHERS = (
    "{Noun} is {v}. (My {relative} sends you the same form with {wrong} there; do not mix us up.)",
    "About {noun}: my {relative} will write {wrong}, but I want {v}.",
    "{Noun}: {v}. With my {relative} it is {wrong}, which is no concern of this form.",
    "As to {noun}: my {relative} put {wrong} there, but for me it is {v}.",
    "For {noun} take {v}, and not {wrong}, which belongs to my {relative}.",
)
_RELATIVES = ("brother", "sister", "neighbour", "cousin", "colleague", "aunt", "uncle", "flatmate", "son", "daughter")
_POSTSCRIPTS = (
    "P.S. I read this again and found a slip: {noun} is {v}, not what I wrote above.",
    "P.S. Please change one thing: {noun} is {v} after all.",
    "P.S. I had mixed up my papers. {Noun} is {v}.",
    "P.S. Forget what I say above about {noun}. Correct is {v}.",
    "P.S. I was wrong about {noun}: make it {v}.",
)
FILLERS = (
    "It has been raining here for days.",
    "Your office was recommended to me by a friend.",
    "I hope that I have not forgotten anything.",
    "Forgive my handwriting, the pen is new.",
    "Last year the same took me three visits to the counter.",
    "I would have come in person, but my knee does not allow it.",
    "I tried your hotline first, and gave up after an hour of music.",
    "My cat walked over this sheet, hence the marks.",
    "You have always been kind to me, so I thank you in advance.",
    "The form itself I could not open on my old computer.",
)
_NAMES = (
    "My name is {given} {family}.",
    "I am {given} {family}.",
    "This is {given} {family} writing.",
    "You know me as {given} {family}.",
    "The name is {family}, {given} {family}.",
)
_GREETINGS = ("Hello,", "Good morning,", "Dear all,", "Good day,", "Dear Sir or Madam,", "Greetings,")
_REGARDS = ("Kind regards", "Best wishes", "Yours sincerely", "With many thanks", "All the best")


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
