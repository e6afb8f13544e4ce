r"""The commands of a crafting world, in the grammar of TextCraft (Prasad et al., "ADaPT", NAACL Findings 2024).

==========================================  ================================
line                                        command
==========================================  ================================
``get 3 oak log``                           :class:`GetCommand`
``craft 4 oak planks using 1 oak log``      :class:`CraftCommand`
``craft oak planks using 1 oak log``        the same, without its count
``inventory``                               :class:`InventoryCommand`
==========================================  ================================
"""

from __future__ import annotations

import random
from typing import NamedTuple

from gem.errors import NotSupportedError

__all__ = ["Command", "CommandLine", "CraftCommand", "GetCommand", "InventoryCommand"]

_MOST_DIGITS = 6
_PREFIX = "action:"
_DECORATION = " \t`*>."


class GetCommand(NamedTuple):
    """Collect pieces of an item that no recipe makes."""

    pieces: int
    item: str


class CraftCommand(NamedTuple):
    """Use a recipe once."""

    output: str
    pieces: int | None
    """The number that the command says it makes; None if it does not say."""
    used: dict[str, int]


class InventoryCommand(NamedTuple):
    """List what the agent carries."""


Command = GetCommand | CraftCommand | InventoryCommand


class CommandLine:
    """The last line of a text that is a command; lines before and after it are the agent's thoughts.

    Capitals and further blanks make no difference, nor does what models add to a line: marks of Markdown around it, a
    full stop at its end, and ``Action:`` before it.
    """

    def read(self, text: str, /) -> Command | None:
        """Return the command in the last line that holds one."""
        for line in reversed(text.splitlines()):
            if (command := _command(line)) is not None:
                return command
        return None

    def sample(self, rng: random.Random, /) -> str:
        """Refuse: which commands make sense, only the environment knows.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a random command needs the items of a world; ask the environment for one")


def _command(line: str) -> Command | None:
    line = " ".join(line.lower().strip(_DECORATION).split())
    if line.startswith(_PREFIX):
        line = line[len(_PREFIX) :].strip(_DECORATION)
    verb, _, rest = line.partition(" ")
    if verb == "get":
        pieces = _pieces(rest)
        return None if pieces is None else GetCommand(*pieces)
    if verb == "craft":
        made, _, ingredients = rest.partition(" using ")
        used: dict[str, int] = {}
        for part in ingredients.split(","):
            pieces = _pieces(part.strip())
            if pieces is None:
                return None
            used[pieces[1]] = used.get(pieces[1], 0) + pieces[0]
        pieces = _pieces(made)
        return CraftCommand(made, None, used) if pieces is None else CraftCommand(pieces[1], pieces[0], used)
    return InventoryCommand() if line == "inventory" else None


def _pieces(text: str) -> tuple[int, str] | None:
    number, _, item = text.partition(" ")
    if item and len(number) <= _MOST_DIGITS and number.isascii() and number.isdigit() and int(number):
        return int(number), item
    return None
