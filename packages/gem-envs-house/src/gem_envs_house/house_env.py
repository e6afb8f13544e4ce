"""The common part of the environments that are played by the rules of a house."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from gem.arguments import boolean, integer
from gem.errors import ArgumentError, ArgumentTypeError
from gem.text_env import MoveResult, TextEnv, illegal, legal, malformed, success
from gem_envs_house.commands import Command, CommandForm
from gem_envs_house.house import HELD, MIDDLE, NOWHERE, ON, Chore
from gem_envs_house.situation import NOTHING, Situation

__all__ = ["HouseEnv"]

_UNCHANGING = frozenset({"look", "inventory", "help", "examine", "open", "close"})
"""Verbs that cannot complete a task."""


class HouseEnv(TextEnv[Command], ABC):
    """Base class: plays commands in a situation that a subclass sets up.

    A subclass assigns ``_situation`` in ``_begin`` and in ``_load``, before it calls that of this class.
    """

    form = CommandForm()
    request = ">"
    explain: bool
    list_commands: bool
    _situation: Situation

    @property
    @abstractmethod
    def _chores(self) -> Sequence[Chore]:
        """The conditions that must hold together."""

    def _board(self) -> str:
        if not self.list_commands:
            return ""
        return f"Possible commands: {', '.join(map(str, self._situation.possible()))}."

    def _play(self, move: Command) -> MoveResult:
        message, done = self._situation.do(move)
        if not done:
            return illegal(message)
        if move.verb not in _UNCHANGING and all(map(self._situation.holds, self._chores)):
            return success(message)
        return legal(message)

    def _malformed(self) -> MoveResult:
        reason = f'{NOTHING} That is no command; "help" lists them.' if self.explain else NOTHING
        return malformed(reason, 0.0, ends=False)

    def _random_action(self) -> str:
        return str(self.action_rng.choice(self._situation.possible()))

    def _save(self) -> dict[str, Any]:
        now = self._situation
        return {
            "room": now.room,
            "spot": now.spot,
            "opened": list(now.opened),
            "places": list(now.places),
            "marks": list(now.marks),
        }

    def _load(self, episode: dict[str, Any]) -> None:
        now, house = self._situation, self._situation.house
        now.room = integer("room", episode["room"], minimum=0, maximum=len(house.rooms) - 1)
        now.spot = integer("spot", episode["spot"], minimum=MIDDLE)
        if now.spot != MIDDLE and not any(one[3:] == (now.room, now.spot) for one in house.receptacles):
            raise ArgumentError(f"spot {now.spot} is not in room {now.room}")
        now.opened = [boolean("opened", value) for value in _listed("opened", episode["opened"], now.opened)]
        now.places = [
            integer("places", value, minimum=NOWHERE, maximum=len(house.receptacles) - 1)
            for value in _listed("places", episode["places"], now.places)
        ]
        if now.places.count(HELD) > 1:
            raise ArgumentError("places must have one thing at most that is carried")
        now.marks = [
            integer("marks", value, minimum=0, maximum=2 * ON - 1)
            for value in _listed("marks", episode["marks"], now.marks)
        ]


def _listed(name: str, values: Any, like: Sequence[Any]) -> list[Any]:
    if not isinstance(values, list) or len(values) != len(like):
        raise ArgumentTypeError(f"{name} must be a list of {len(like)} values")
    return values
