"""Commands of an experiment: a grammar of patterns, and the form that reads one of them out of an agent's text."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import NamedTuple

from gem.errors import NotSupportedError

__all__ = ["ExperimentCommand", "ExperimentGrammar"]

_LONGEST = 300
"""Characters of the longest line that is read as a command."""
_DECORATION = " \t`*>."
_PREFIX = "action:"


class ExperimentCommand(NamedTuple):
    """A command that follows the grammar; what it names need not exist."""

    verb: str
    parts: tuple[str, ...]
    """The groups of the pattern, "" for one that is not there."""


class ExperimentGrammar:
    """The last line of a text that is a command; lines before and after it are the agent's thoughts.

    Capitals and further blanks make no difference, nor does what models add to a line: marks of Markdown around it, a
    full stop at its end, and ``Action:`` before it.

    Args:
        patterns: verb → a regular expression over lower-case letters with single blanks, whose groups are the parts.
            It must match in time linear in the length of a line.
    """

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = [(verb, re.compile(pattern, re.ASCII)) for verb, pattern in patterns.items()]

    def read(self, text: str, /) -> ExperimentCommand | None:
        """Return the command in the last line that holds one."""
        if (command := self._command(text)) is not None:
            return command
        if len(text) <= _LONGEST and "\n" not in text:
            return self._command(_tidied(text))
        for line in reversed(text.splitlines()):
            if 4 <= len(line) <= _LONGEST and (command := self._command(_tidied(line))) is not None:
                return command
        return None

    def sample(self, rng: random.Random, /) -> str:
        """Refuse: which commands make sense, only the environment knows.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a random command needs the things of a laboratory; ask the environment for one")

    def _command(self, line: str) -> ExperimentCommand | None:
        if len(line) > _LONGEST:
            return None
        for verb, pattern in self._patterns:
            if (match := pattern.fullmatch(line)) is not None:
                return ExperimentCommand(verb, match.groups(""))
        return None


def _tidied(line: str) -> str:
    line = " ".join(line.lower().strip(_DECORATION).split())
    return line[len(_PREFIX) :].strip(_DECORATION) if line.startswith(_PREFIX) else line
