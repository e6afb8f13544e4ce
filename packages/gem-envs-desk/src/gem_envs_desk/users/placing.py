"""What a scripted user can place of an agent's message: :class:`ScriptVocabulary`, :class:`Placed`.

A pattern that recognises a question for permission says nothing of what is to be permitted. So a user says yes only to
a message in which they know every word: those of their script, and those of a list that names no deed and no thing. One
word more, and they ask back. The rule needs no knowledge of the ways in which a proposal can be false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gem.tables import read_table
from gem_envs_desk.task import Aim, Slot, Wish
from gem_envs_desk.users.stated import own_choices, with_plain_dates
from gem_rollout.simulated_people.sentences import Sentence

__all__ = ["MORE_ASKS", "Placed", "ScriptVocabulary", "content_words"]

_TABLES = read_table(__file__, "placing.toml")
MORE_ASKS: dict[str, tuple[str, ...]] = {name: tuple(words) for name, words in _TABLES["asks"].items()}
"""Name of a slot → words that ask for it beside those of the slot."""
_NEUTRAL = frozenset(_TABLES["neutral"])
_MONEY = frozenset(_TABLES["money"])
_DEEDS: dict[str, list[str]] = _TABLES["deeds"]
_DENIALS = frozenset(_TABLES["denials"])
_PHRASES = re.compile("|".join(_TABLES["phrases"]))
_WORD = re.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_NUMBER = re.compile(r"\d[\d.,]*")
_NO_CENTS = re.compile(r"(?<=\d)\.0+$")
_CURRENCY = re.compile(r"[€$£]")
_COUNTS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


@dataclass(frozen=True)
class Placed:
    """How the words of a message stand to a script."""

    strange: frozenset[str]
    """Words that neither the script nor the list has."""
    names_deed: bool
    """Whether it names what the user wants to be done."""
    has_money: bool
    """Whether it speaks of amounts that the user cannot know."""


class ScriptVocabulary:
    """The words that a user knows while one of their wishes is discussed.

    Args:
        wish: the wish.
        slots: what they know of it and of themselves.
        truths: the right answers to questions for these slots, as far as they have not changed their mind.
        aim: the calls to which they agree, whose names they understand; None if nobody has said which.
    """

    def __init__(self, wish: Wish, slots: Sequence[Slot], truths: Iterable[str], aim: Aim | None) -> None:
        tools = [call.tool for call in aim.agrees] if aim is not None else []
        deeds = [verb for tool in tools for verb in _verbs(tool)]
        deeds += [
            words
            for slot in slots
            if slot.says == wish.says
            for choice in own_choices(slot.choices, slot.says)
            for words in choice.split("|")
        ]
        texts = [wish.says, wish.again, *truths, *deeds, *(tool.replace("_", " ") for tool in tools)]
        for slot in slots:
            texts += [*slot.asks, *MORE_ASKS.get(slot.name, ()), slot.name]
            texts += [words for choice in own_choices(slot.choices, slot.says) for words in choice.split("|")]
        self._own = frozenset[str]().union(*map(_words, texts))
        self._deeds = frozenset[str]().union(*map(_words, deeds)) - _NEUTRAL

    def placed(self, sentences: Iterable[Sentence]) -> Placed:
        """Return how the words of sentences stand to what is known."""
        strange: set[str] = set()
        names_deed = has_money = False
        for sentence in sentences:
            text = _PHRASES.sub(" ", sentence.text)
            found = _words(text)
            if not found.isdisjoint(self._deeds):
                names_deed = True
                strange |= found & _DENIALS  # users have them in their reasons: "I do not need it any more."
            is_price = _CURRENCY.search(text) is not None or not found.isdisjoint(_MONEY - self._own)
            for word in found - self._own - _NEUTRAL:
                if word in _MONEY or (is_price and _NUMBER.fullmatch(word)):
                    has_money = True
                else:
                    strange.add(word)
        return Placed(frozenset(strange), names_deed, has_money)


def _verbs(tool: str) -> list[str]:
    verb = tool.partition("_")[0]
    return [verb, *_DEEDS.get(verb, ())]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that say something of the matter."""
    return _words(text) - _NEUTRAL


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case; dates, small counts and whole numbers have one notation."""
    found = (
        _NO_CENTS.sub("", match[0].removesuffix("'s")) for match in _WORD.finditer(with_plain_dates(text.casefold()))
    )
    return frozenset(_COUNTS.get(word, word) for word in found)
