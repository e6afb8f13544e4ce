"""Household: find things in a house, prepare them, and bring them where they are wanted.

In the manner of ALFWorld (Shridhar et al., ICLR 2021), with houses, chores and code of our own. The skill is to search
with sense, and to bring steps into an order: what is needed lies where such things are usually kept, or somewhere else,
often behind doors; the agent must find it, remember what it saw, and prepare it before it puts it down.

Reward: 1.0 when all chores are done at the same time, which ends the episode, and 0.0 for anything else. A command that
is impossible, or no command at all, costs its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gem.arguments import boolean, choice, integer
from gem.counts import counted
from gem.errors import ArgumentError, ArgumentTypeError
from gem.text_env import MAX_TURNS
from gem_envs_house.commands import HELP
from gem_envs_house.generator import ALFWORLD_KINDS, KINDS, LEVELS, SPLITS, TURNS_PER_CHORE, draw_task
from gem_envs_house.house import Chore
from gem_envs_house.house_env import HouseEnv
from gem_envs_house.situation import Situation

__all__ = ["HouseholdEnv"]

_MOST_CHORES = 4
_KEY_BITS = 64


class HouseholdEnv(HouseEnv):
    """Do the chores of a generated house with commands such as ``take mug 1 from shelf 2``.

    Args:
        level: ``"easy"``: one room of 6 to 8 receptacles, everything in its usual place; ``"medium"``: one room of 13
            to 16 receptacles, every fourth thing elsewhere; ``"hard"``: three rooms of 9 to 11, each seen from inside
            only, twice as many things, half of them elsewhere.
        kinds: the kinds of chores to draw from: ``"place"``, ``"light"``, ``"clean"``, ``"heat"``, ``"cool"`` and
            ``"two"`` (ALFWorld's six, the default), ``"slice"`` and ``"both"`` (clean and hot, or clean and cool).
        chores: number of chores, 1 … 4.
        split: ``"train"``, ``"valid_seen"`` (other tasks) or ``"valid_unseen"`` (other houses).
        max_turns: turns that the instructions announce; by default 25, 50 or 75 by level, and 15 more for each
            further chore.
        explain: say why a command is impossible; if False, "Nothing happens." is all, as in ALFWorld.
        list_commands: end each observation with the commands that are possible.
    """

    def __init__(
        self,
        level: str = "medium",
        kinds: str | Sequence[str] = ALFWORLD_KINDS,
        chores: int = 1,
        split: str = "train",
        max_turns: int | None = None,
        explain: bool = True,
        list_commands: bool = False,
    ) -> None:
        self.level = choice("level", level, tuple(LEVELS))
        self.kinds = _checked_kinds(kinds)
        self.chores = integer("chores", chores, minimum=1, maximum=_MOST_CHORES)
        self.split = choice("split", split, SPLITS)
        self.explain = boolean("explain", explain)
        self.list_commands = boolean("list_commands", list_commands)
        self._size = LEVELS[level]
        if self._size.rooms == 1 and self.chores > 1:
            raise ArgumentError(f"level {level!r} has one room, too small for {chores} chores; choose level 'hard'")
        if self.chores > 1 and self.kinds == ("light",):
            raise ArgumentError(f"kinds of {chores} chores must hold more than 'light': one thing at a time is held")
        if max_turns is None:
            max_turns = self._size.turns + TURNS_PER_CHORE * (self.chores - 1)
        super().__init__(max_turns=integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))

    def _begin(self) -> None:
        self._set_key(self.rng.getrandbits(_KEY_BITS))

    def _set_key(self, key: int) -> None:
        self._task = draw_task(key, self._size, self.kinds, self.chores, self.split)
        self._key = key
        self._situation = Situation(self._task.house, self.explain)

    def _instructions(self) -> str:
        return (
            f"You do household chores through text commands, one a turn, in {counted(self.max_turns, 'turn')}. What "
            "you look for may be inside something that is closed. To see a thing in the light of a lamp, carry it "
            "there and turn the lamp on.\n"
            f"The commands:\n{HELP}\n"
            "Reply with one command, in the last line of your answer, for example: go to shelf 1\n"
            "\n"
            f"{self._situation.overview()}\n"
            f"{self._task.sentence}"
        )

    @property
    def _chores(self) -> Sequence[Chore]:
        return self._task.chores

    def _save(self) -> dict[str, Any]:
        return {"key": self._key, **super()._save()}

    def _load(self, episode: dict[str, Any]) -> None:
        self._set_key(integer("key", episode["key"], minimum=0, maximum=(1 << _KEY_BITS) - 1))
        super()._load(episode)


def _checked_kinds(kinds: str | Sequence[str]) -> tuple[str, ...]:
    names = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(names, (list, tuple)) or not names:
        raise ArgumentTypeError(f"kinds must be a name or a list of names, got {kinds!r:.80}")
    return tuple(choice("kinds", name, KINDS) for name in names)
