"""The grammar of commands, ALFWorld's, and the form that reads one out of an agent's text."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from gem.text import extract_last_tagged_answer

__all__ = ["HELP", "Command", "CommandForm"]

HELP = """\
go to (receptacle or room): walk there
open (receptacle), close (receptacle)
take (thing) from (receptacle): you can carry one thing at a time
move (thing) to (receptacle): put down what you carry
heat (thing) with (microwave), cool (thing) with (fridge), clean (thing) with (sinkbasin): while you carry the thing
slice (thing) with (knife): while you carry the knife
use (lamp): turn a lamp on or off
examine (receptacle or thing), look, inventory
You must be at a receptacle to do anything with it, or with what is in or on it."""

_NAME = r"(?:the )?([a-z]{1,30}(?: [0-9]{1,4})?)"
_GRAMMAR = re.compile(
    rf"(?:(go to|open|close|examine|use|toggle) {_NAME}"
    rf"|(take) {_NAME} from {_NAME}"
    rf"|(move|put) {_NAME} (?:to|into|onto|in/on|in|on) {_NAME}"
    rf"|(heat|cool|clean|slice) {_NAME} (?:with|using) {_NAME}"
    r"|(look|inventory|help))"
)
_SYNONYMS = {"go to": "go", "toggle": "use", "put": "move"}
_LINKS = {"take": "from", "move": "to"}
_PREFIX = re.compile(r"(?:action ?: ?|> ?|- )+")
_LONGEST = 200
"""Characters of the longest line that is read as a command."""


class Command(NamedTuple):
    """A command that follows the grammar; its names need not exist."""

    verb: str
    first: str = ""
    second: str = ""

    def __str__(self) -> str:
        verb, first, second = self
        if not second:
            return f"go to {first}" if verb == "go" else f"{verb} {first}".rstrip()
        return f"{verb} {first} {_LINKS.get(verb, 'with')} {second}"


class CommandForm:
    """A command in plain text.

    It stands in the last ``<action>…</action>``, or else in the last line that is not empty, alone or after ``Action:``
    or ``>``. Capitals, further blanks, a full stop at its end and articles make no difference.
    """

    def read(self, text: str, /) -> Command | None:
        """Return the command; None if there is none."""
        match = _GRAMMAR.fullmatch(text) or _GRAMMAR.fullmatch(_tidied(text))
        if match is None:
            return None
        verb, *names = filter(None, match.groups())
        return Command(_SYNONYMS.get(verb, verb), *names)

    def sample(self, rng: random.Random, /) -> str:
        """Return a command that is always possible."""
        return rng.choice(("look", "inventory"))


def _tidied(text: str) -> str:
    if "</action>" in text:
        text = extract_last_tagged_answer(text, "action") or ""
    line = text.rstrip().rpartition("\n")[2]
    if len(line) > _LONGEST:
        return ""
    line = " ".join(line.lower().split()).rstrip(".")
    prefix = _PREFIX.match(line)
    return line if prefix is None else line[prefix.end() :]
