"""ALFWorld: the text games of a user's own copy of ALFWorld's data, without ALFWorld, TextWorld or a planner.

ALFWorld (Shridhar et al., ICLR 2021) keeps its games in files ``game.tw-pddl`` below ``json_2.1.1`` in the folder
``ALFWORLD_DATA``, where ``alfworld-download`` puts them. This environment reads these files and plays them by the rules
of :mod:`gem_envs_house.situation`, with ALFWorld's texts. It needs no other package, runs in threads, and each game
costs some hundred kilobytes while it is played.

Reward: 1.0 for the task, which ends the episode, and 0.0 for anything else, as in ALFWorld.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gem.arguments import boolean, choice, integer, string
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError, NotSupportedError
from gem.policies import Policy
from gem.text_env import MAX_TURNS
from gem_envs_house.alfworld_game import ALFWorldGame, read_game
from gem_envs_house.commands import HELP
from gem_envs_house.generator import SPLITS
from gem_envs_house.house import MIDDLE, Chore
from gem_envs_house.house_env import HouseEnv
from gem_envs_house.situation import Situation

__all__ = ["TASKS", "ALFWorldEnv", "ALFWorldPolicy"]

TASKS = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
_GAMES = "json_2.1.1"
_GAME = "game.tw-pddl"
_UNPLAYABLE = ("movable", "Sliced")
"""Parts of the paths of games that ALFWorld leaves out too."""


class ALFWorldEnv(HouseEnv):
    """Play one of ALFWorld's games per episode.

    Args:
        data: the folder ``ALFWORLD_DATA``, or one with games of your own below ``json_2.1.1/<split>``. By default the
            environment variable of that name, or else ``~/.cache/alfworld``, as in ALFWorld.
        split: ``"train"``, ``"valid_seen"`` or ``"valid_unseen"``.
        tasks: the kinds of task, by ALFWorld's names; by default all six.
        max_turns: turns that the instructions announce.
        explain: say why a command is impossible. In ALFWorld, "Nothing happens." is all.
        list_commands: end each observation with the commands that are possible.

    Raises:
        ArgumentError: at the constructor, if the folder has no games of the split.
    """

    def __init__(
        self,
        data: str | None = None,
        split: str = "train",
        tasks: Sequence[str] = TASKS,
        max_turns: int = 50,
        explain: bool = False,
        list_commands: bool = False,
    ) -> None:
        self.data = _data_folder(data)
        self.split = choice("split", split, SPLITS)
        self.tasks = tuple(choice("tasks", task, TASKS) for task in tasks)
        self.explain = boolean("explain", explain)
        self.list_commands = boolean("list_commands", list_commands)
        self._games = _games_below(self.data / _GAMES / split, self.tasks)
        super().__init__(max_turns=integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))

    def _begin(self) -> None:
        for name in self.rng.sample(self._games, len(self._games)):
            self._set_game(name)
            if self._game.solvable:
                return
        raise ArgumentError(f"no game below {self.data / _GAMES / self.split} is marked as solvable")

    def _set_game(self, name: str) -> None:
        self._game: ALFWorldGame = read_game(self.data / _GAMES / self.split / name)
        self._name = name
        self._situation = Situation(self._game.house, self.explain, as_alfworld=True)

    @property
    def _chores(self) -> Sequence[Chore]:
        return (self._game.chore,)

    def _instructions(self) -> str:
        return (
            f"You do a household task through text commands, one a turn, in {counted(self.max_turns, 'turn')}.\n"
            f"The commands:\n{HELP}\n"
            "Reply with one command, in the last line of your answer, for example: go to shelf 1\n"
            "\n"
            f"{self._situation.overview() if self._game.house.spot == MIDDLE else self._situation.look()}\n"
            "\n"
            f"Your task is to: {self._game.sentence}"
        )

    def _save(self) -> dict[str, Any]:
        return {"game": self._name, **super()._save()}

    def _load(self, episode: dict[str, Any]) -> None:
        name = string("game", episode["game"])
        if name not in self._games:
            raise ArgumentError(f"game {name!r:.200} is not among the {len(self._games)} games of this environment")
        self._set_game(name)
        super()._load(episode)


class ALFWorldPolicy(Policy[str, str]):
    """Plays the walkthrough in the game's file, which ALFWorld's own expert found; it reads the state."""

    def __init__(self, env: ALFWorldEnv) -> None:
        self.env = env

    def reset(self, observation: str, info: Info) -> None:
        self._left = list(self.env._game.walkthrough)
        if not self._left:
            raise NotSupportedError(f"the file of game {self.env._name!r} has no walkthrough")

    def act(self, observation: str, info: Info) -> str:
        return self._left.pop(0) if self._left else "look"


def _data_folder(data: str | None) -> Path:
    if data is not None:
        return Path(string("data", data)).expanduser()
    return Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()


@lru_cache(maxsize=16)
def _games_below(folder: Path, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of the games, relative to the folder, in an order that is the same everywhere."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.glob(f"*/*/{_GAME}"))
    games = [name for name in names if name.startswith(tasks) and not any(part in name for part in _UNPLAYABLE)]
    if not games:
        _games_below.cache_clear()
        raise ArgumentError(
            f"no games of ALFWorld below {folder}; set data, or the environment variable ALFWORLD_DATA, to the folder "
            "that alfworld-download filled"
        )
    return tuple(games)
