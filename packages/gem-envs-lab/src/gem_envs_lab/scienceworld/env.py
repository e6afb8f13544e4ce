"""ScienceWorld's tasks through its own simulator, with score changes as rewards.

ScienceWorld (Wang et al., "ScienceWorld: Is your Agent Smarter than a 5th Grader?", EMNLP 2022) has thirty tasks of
primary-school science in a text world. Rules, texts, scores, variations and splits are the simulator's own. It runs in
a Java process for each environment in play; environments that are closed leave theirs to the next. A seed gives the
same episode in every process under HotSpot, the virtual machine of OpenJDK; another one may list the things of a room
in another order.
"""

from __future__ import annotations

import random
import weakref
from typing import Any

from gem.arguments import boolean, choice, integer, string
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError, NotSupportedError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, failure, fault, legal, malformed, success
from gem_envs_lab.scienceworld.simulator import JavaSimulator, borrow, give_back, task_names

__all__ = ["ScienceWorldEnv", "ScienceWorldPolicy"]

_SPLITS = ("train", "dev", "test")
_LONGEST = 300
_PREFIX = "action:"


class _LastLine:
    """The last line that is not empty, also after ``Action:``."""

    def read(self, text: str, /) -> str | None:
        line = text.rstrip().rpartition("\n")[2].strip(" \t`*>")
        if line.lower().startswith(_PREFIX):
            line = line[len(_PREFIX) :].strip(" \t`*")
        printable = "".join(character for character in line[: _LONGEST + 1] if character.isprintable())
        return printable if 0 < len(printable) <= _LONGEST else None

    def sample(self, rng: random.Random, /) -> str:
        raise NotSupportedError("which actions are possible, only the simulator knows; ask the environment for one")


class ScienceWorldEnv(TextEnv[str]):
    """A variation of a ScienceWorld task per episode.

    Args:
        task: number or name of a task, such as ``"1-1"`` or ``"boil"``; None: all of them, drawn.
        split: ``"train"``, ``"dev"`` or ``"test"``: ScienceWorld's own variations.
        simplifications: ScienceWorld's simplifications, separated by commas, such as ``"teleportAction,openDoors"``;
            ``"easy"``: all of them.
        raw_rewards: pay changes of the score as they are, -100 … 100, as AgentGym does; otherwise changes of the share
            that is done, where a score below zero counts as 0, so that an episode's return is in 0 … 1.
        max_turns: turns that the instructions announce.
    """

    form = _LastLine()
    saved = StateFields(_task=str, _variation=int, _actions=list[str], _score=int)
    request = ""
    _task: str
    _variation: int
    _actions: list[str]
    _score: int
    _simulator: JavaSimulator | None = None
    _return_simulator: weakref.finalize[Any, ScienceWorldEnv] | None = None

    def __init__(
        self,
        task: str | None = None,
        split: str = "train",
        simplifications: str = "",
        raw_rewards: bool = False,
        max_turns: int = 100,
    ) -> None:
        self.task = None if task is None else string("task", task)
        self.split = choice("split", split, _SPLITS)
        self.simplifications = "" if simplifications == "" else string("simplifications", simplifications)
        self.raw_rewards = boolean("raw_rewards", raw_rewards)
        super().__init__(max_turns=integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))

    def __getstate__(self) -> dict[str, Any]:
        # A copy borrows a simulator of its own and repeats the actions in it.
        return {**self.__dict__, "_simulator": None, "_return_simulator": None}

    def close(self) -> None:
        """Leave the simulator to the next environment."""
        if self._return_simulator is not None:
            self._return_simulator()
            self._simulator = self._return_simulator = None
        super().close()

    def walkthrough(self) -> list[str]:
        """Return the simulator's own solution of this episode, from its beginning."""
        simulator = borrow()
        try:
            simulator.load(self._task, self._variation, self.simplifications, walkthrough=True)
            return simulator.walkthrough()
        finally:
            give_back(simulator)

    def _begin(self) -> None:
        names = task_names()
        if self.task is None:
            self._task = self.rng.choice(list(names.values()))
        else:
            self._task = names.get(self.task, self.task)
            choice("task", self._task, tuple(names.values()))
        simulator = self._borrowed()
        unknown = set(filter(None, self.simplifications.split(","))) - set(simulator.simplifications())
        if unknown:
            known = ", ".join(simulator.simplifications())
            raise ArgumentError(f"simplifications must be some of {known}, got {sorted(unknown)[0]!r}")
        self._variation = self.rng.choice(simulator.variations(self._task, self.split))
        self._around = simulator.load(self._task, self._variation, self.simplifications)
        self._actions, self._score = [], 0

    def _instructions(self) -> str:
        return (
            f"{self._borrowed().description()}\n"
            f"You have {counted(self.max_turns, 'turn')}, and each action takes one. The actions are: open, close, "
            "activate, deactivate, use X on Y, connect X to Y, disconnect X, move X to Y, pick up X, pour X into Y, "
            "dunk X into Y, mix X, go to X, read X, look around, look at X, look in X, eat X, flush X, focus on X, "
            "wait, task, inventory. Write one action in the last line of your answer. Focusing on the wrong thing ends "
            "the task.\n\n"
            f"{self._around}"
        )

    def _play(self, move: str) -> MoveResult:
        try:
            shown, score, over = self._at_this_place().step(move)
        except Exception as error:
            if self._simulator is not None and self._simulator.usable:
                self._simulator.close()
            self.close()
            return fault("The simulator failed.", f"{type(error).__name__}: {error}"[:500])
        self._actions.append(move)
        before, self._score = self._score, score
        reward = float(score - before) if self.raw_rewards else (max(score, 0) - max(before, 0)) / 100
        if over:
            return success(shown, reward) if score >= 100 else failure(shown, reward)
        return legal(shown, reward)

    def _malformed(self) -> MoveResult:
        return malformed("Write one action in the last line.", 0.0, ends=False)

    def _random_action(self) -> str:
        return self.action_rng.choice(self._at_this_place().possible())

    def _borrowed(self) -> JavaSimulator:
        if self._simulator is None or not self._simulator.usable:
            self._simulator = simulator = borrow()
            self._return_simulator = weakref.finalize(self, give_back, simulator)
        return self._simulator

    def _at_this_place(self) -> JavaSimulator:
        """Return the simulator, in which the actions so far are repeated if it is a new one."""
        if self._simulator is None or not self._simulator.usable:
            simulator = self._borrowed()
            simulator.load(self._task, self._variation, self.simplifications)
            for action in self._actions:
                simulator.step(action)
        return self._borrowed()

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        choice("_task", self._task, tuple(task_names().values()))
        integer("_variation", self._variation, minimum=0, maximum=10_000)
        self.close()


class ScienceWorldPolicy(Policy[str, str]):
    """Plays the simulator's own solution; it reads the state."""

    def __init__(self, env: ScienceWorldEnv) -> None:
        self.env = env

    def reset(self, observation: str, info: Info) -> None:
        self._left = self.env.walkthrough()

    def act(self, observation: str, info: Info) -> str:
        return self._left.pop(0) if self._left else "look around"
