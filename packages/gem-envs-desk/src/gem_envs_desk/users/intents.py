"""What the sentences of an agent mean to a user: :class:`Intent`, and the table of words that show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from gem.tables import read_table
from gem_rollout.simulated_people.sentences import Sentence

__all__ = ["Intent", "intents_of"]


class Intent(Enum):
    """What the agent does with a sentence."""

    OFFERS_HELP = "asks for the wish"
    ASKS = "asks for something"
    VERIFIES = "asks whether something is so"
    RESTATES = "says what the user wants"
    PROCEEDS = "asks for permission"
    CONFIRMS = "asks for a confirmation, or for data"
    LOOKS_UP = "offers to look something up"
    OFFERS_OTHER = "offers something that nobody asked for"
    NOT_FOUND = "does not find what the user named"
    RECHECKS = "asks to check what the user has said"
    REPEATS = "asks to say it again"
    REFUSES = "refuses"
    PROMISES = "is about to do something"
    DONE = "has done something"
    WAITS = "asks to wait"
    THANKS = "thanks"
    MORE = "asks for further wishes"
    MORE_TO_KNOW = "asks for anything else to know"
    CLOSES = "says goodbye"
    OFFERS_LIST = "lists what there is to choose from"
    CONDITIONAL = "says what would be"
    TESTS = "asks whether it works"
    SMALL_TALK = "is polite"
    CHECKS = "asks a question that is answered by yes or no"


def _compiled(patterns: Sequence[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    text = "|".join(patterns)
    for part, words in _TABLES["parts"].items():
        text = text.replace(part, words)
    return re.compile(text)


_TABLES = read_table(__file__, "intents.toml")
_COMPILED = tuple(
    (Intent[name], _compiled(words["shows"]), _compiled(words.get("unless", ())))
    for name, words in _TABLES["intents"].items()
)


def intents_of(sentence: Sentence) -> frozenset[Intent]:
    """Return all that a sentence can mean."""
    text = sentence.text
    return frozenset(
        intent
        for intent, shows, unless in _COMPILED
        if shows is not None and shows.search(text) and not (unless is not None and unless.search(text))
    )
