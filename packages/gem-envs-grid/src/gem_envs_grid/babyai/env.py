r"""BabyAI: instructions in words, carried out in rooms of which the agent sees what lies ahead.

The levels are those of minigrid (Chevalier-Boisvert et al., "BabyAI: A Platform to Study the Sample Efficiency of
Grounded Language Learning", ICLR 2019). The agent reads them in the manner of AgentGym: the objects in front of it by
their distance, what it carries, and the actions that are possible. An action is primitive ("turn left", "toggle") or
stands for several ("go to red ball 1", "toggle and go through blue closed door 1"), which end early where one of them
changes nothing.

Reward: 1.0 when the mission is accomplished, 0.0 for anything else; with ``native_reward`` minigrid's own
``1 - 0.9 · steps / max_steps``, where every primitive action is a step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from gem.action_forms import BoxedText
from gem.arguments import boolean, choice, integer, string
from gem.core import Env, Info
from gem.counts import counted
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, failure, illegal, legal, success
from gem_envs_grid.babyai.levels import bot_of, make_level
from gem_envs_grid.babyai.surroundings import SeenObject, Sight, look, way_to
from gem_envs_grid.grid_game import GridGame
from gem_envs_grid.splits import SPLITS, split_name

__all__ = ["PRIMITIVES", "BabyAIEnv", "BabyAIPolicy"]

PRIMITIVES = ("turn left", "turn right", "move forward", "pick up", "drop", "toggle")
"""Primitive actions, by the number that minigrid gives them."""

_FORWARD, _PICK_UP, _TOGGLE = 2, 3, 5
_TEST_SHARE = 4
_LARGEST_SEED = 2**31
_PLACE = re.compile(r"\b(?:in front of|behind|on your) (?:you|left|right)\b")
"""A place in a mission, which minigrid means as seen at the beginning."""


class BabyAIEnv(GridGame[str]):
    r"""Carry out the mission with ``\boxed{go to red ball 1}`` or another of the actions that each observation lists.

    Reset options: ``level_seed`` (int, 0 … 2³¹ - 1), minigrid's seed of the level; otherwise drawn.

    Args:
        level: name of the level without ``BabyAI-`` and version, such as ``"PutNextLocal"``.
        actions: ``"all"``, or ``"primitive"`` for turns, steps, picking up, dropping and toggling alone.
        native_reward: pay less for a longer way, as minigrid does.
        max_turns: actions that the instructions announce.
        split: ``"train"`` or ``"test"``; a seed of a level that is a multiple of four is for testing.
        format_penalty: points that an unreadable action costs, 0 … 1.

    Raises:
        NotSupportedError: if minigrid is not installed.
    """

    form = BoxedText(*PRIMITIVES)
    saved = StateFields(level_seed=int, primitives=list[int])
    request = "What is your next action?"
    closings: ClassVar[Mapping[str, str]] = {
        **GridGame.closings,
        "success": "The mission is accomplished.",
        "failure": "The mission has failed.",
    }

    def __init__(
        self,
        level: str = "PutNextLocal",
        actions: str = "all",
        native_reward: bool = False,
        max_turns: int = 64,
        split: str = "train",
        format_penalty: float = 0.0,
    ) -> None:
        self.level_name = string("level", level)
        self.actions = choice("actions", actions, ("all", "primitive"))
        self.native_reward = boolean("native_reward", native_reward)
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.split = split_name(split)
        self._set_format_penalty(format_penalty)
        self.level = make_level(self.level_name)

    def _begin(self, level_seed: int | None = None) -> None:
        if level_seed is not None:
            self.level_seed = integer("level_seed", level_seed, minimum=0, maximum=_LARGEST_SEED - 1)
        else:
            drawn = self.rng.randrange(_LARGEST_SEED // _TEST_SHARE) * _TEST_SHARE
            self.level_seed = drawn + (self.rng.randrange(1, _TEST_SHARE) if self.split == SPLITS[0] else 0)
        self.primitives: list[int] = []
        self.level.reset(seed=self.level_seed)
        self._look()

    def _look(self) -> None:
        self._sight = look(self.level)
        self._ways = self._possible(self._sight)

    def _possible(self, sight: Sight) -> dict[str, list[int]]:
        """Return the actions that can be carried out as far as the agent sees, with their primitive actions."""
        carried = self.level.carrying
        ways = {name: [number] for number, name in enumerate(PRIMITIVES[:2])}
        ahead = next((thing for thing in sight.things if thing.place == (1, 0)), None)
        if (1, 0) in sight.free:
            ways["move forward"] = [_FORWARD]
        if carried is None and ahead is not None and ahead.kind in ("key", "ball", "box"):
            ways["pick up"] = [_PICK_UP]
        if carried is not None and ahead is None and (1, 0) in sight.free:
            ways["drop"] = [PRIMITIVES.index("drop")]
        if ahead is not None and (ahead.kind == "box" or (ahead.kind == "door" and self._opens(ahead))):
            ways["toggle"] = [_TOGGLE]
        if self.actions == "primitive":
            return ways
        for thing in sight.things:
            way = way_to(sight, thing.place)
            if way is None:
                continue
            if way:
                ways[f"go to {thing.name}"] = way
            if carried is None and thing.kind in ("key", "ball", "box"):
                ways[f"pick up {thing.name}"] = [*way, _PICK_UP]
            if thing.kind == "door":
                ways.update(self._through(sight, thing, way))
        return ways

    def _through(self, sight: Sight, door: SeenObject, way: list[int]) -> dict[str, list[int]]:
        if door.state == "open":
            onto = way_to(sight, door.place, onto=True)
            return {} if onto is None else {f"go through {door.name}": [*onto, _FORWARD]}
        if not self._opens(door):
            return {}
        return {f"toggle and go through {door.name}": [*way, _TOGGLE, _FORWARD, _FORWARD]}

    def _opens(self, door: SeenObject) -> bool:
        """Return whether the agent can open or close a door: a locked one with the key of its colour alone."""
        carried = self.level.carrying
        return door.state != "locked" or (carried is not None and (carried.type, carried.color) == ("key", door.color))

    def _instructions(self) -> str:
        size = self.level.agent_view_size
        mission = f"{self.level.mission}."
        if _PLACE.search(mission):
            mission += " Its places are as seen from where you begin."
        kinds = "" if self.actions == "primitive" else " Some stand for several steps, which end early where one fails."
        return (
            f"You are in a world of rooms with doors, keys, balls and boxes. Your mission: {mission} "
            f"You have {counted(self.max_turns, 'action')}. You face one way, 'ahead', and see {size - 1} steps ahead "
            f"and {size // 2} to either side, but not through walls and closed doors. You carry one thing at a time, "
            "and drop it in front of you. You have gone to a thing when you stand in front of it and face it; things "
            "are next to each other if they are one step apart, not diagonally. "
            "'toggle' opens or closes the door in front of you; a locked one needs the key of its colour in your "
            "hands. It also opens a box, which is then gone. Each observation lists the actions that are "
            f"possible.{kinds} Put one of them in \\boxed{{}}, for example \\boxed{{turn left}}."
        )

    def _board(self) -> str:
        things = "; ".join(f"{thing.name}, {_where(thing.place)}" for thing in self._sight.things)
        wall = self._sight.wall_ahead
        carried = self.level.carrying
        return (
            f"In sight: {things or 'no objects'}.\n"
            f"Straight ahead, {'no wall is in sight' if wall is None else f'a wall is {_steps(wall)} away'}. "
            f"You carry {'nothing' if carried is None else f'a {carried.color} {carried.type}'}.\n"
            f"Possible actions: {', '.join(self._ways)}."
        )

    def _play(self, move: str) -> MoveResult:
        name = " ".join(move.lower().replace("pickup", "pick up").split())
        way = self._ways.get(name)
        if way is None:
            return illegal(self._refusal(name))
        done = 0
        for primitive in way:
            before = self._situation()
            _, reward, terminated, _, _ = self.level.step(primitive)
            self.primitives.append(primitive)
            if terminated:
                self._look()
                if reward > 0:
                    return success("You have done it.", max(0.0, float(reward)) if self.native_reward else 1.0)
                return failure("That was not what the mission asks for.")
            if self._situation() == before:
                break
            done += 1
        self._look()
        if done == len(way):
            return legal(f"Done: {name}.")
        return legal(f"Of the {len(way)} steps of '{name}', {done or 'none'} could be done: the way was blocked.")

    def _refusal(self, name: str) -> str:
        for thing in self._sight.things:
            aimed = name == "toggle" and thing.place == (1, 0)
            if thing.kind == "door" and (aimed or name.endswith(f" {thing.name}")) and not self._opens(thing):
                return f"The {thing.color} door is locked, and you do not carry a {thing.color} key."
        return "This action is not possible now."

    def _situation(self) -> tuple[Any, ...]:
        """Return what a primitive action can change."""
        level = self.level
        ahead = level.grid.get(*level.front_pos)
        return (
            tuple(map(int, level.agent_pos)),
            int(level.agent_dir),
            id(level.carrying),
            id(ahead),
            ahead is not None and ahead.encode(),
        )

    def _random_action(self) -> str:
        return f"\\boxed{{{self.action_rng.choice(tuple(self._ways))}}}"

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("level_seed", self.level_seed, minimum=0, maximum=_LARGEST_SEED - 1)
        for primitive in self.primitives:
            integer("primitive action", primitive, minimum=0, maximum=len(PRIMITIVES) - 1)
        self._replay()

    def _replay(self) -> None:
        """Make the level anew and bring it to where the primitive actions led."""
        self.level = make_level(self.level_name)
        self.level.reset(seed=self.level_seed)
        for primitive in self.primitives:
            self.level.step(primitive)
        self._look()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the level, whose class is made at run time and cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name not in ("level", "_sight", "_ways")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "level_seed" in state:
            self._replay()
        else:
            self.level = make_level(self.level_name)


class BabyAIPolicy(Policy[str, str]):
    """Plays as minigrid's bot does, which knows the mission and remembers what it has seen; primitive actions alone.

    Args:
        env: the environment, whose state the bot reads.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        assert isinstance(env, BabyAIEnv)
        self._env = env

    def reset(self, observation: str, info: Info) -> None:
        self._bot = bot_of(self._env.level)

    def act(self, observation: str, info: Info) -> str:
        primitive = int(self._bot.replan())
        return f"\\boxed{{{PRIMITIVES[primitive] if primitive < len(PRIMITIVES) else PRIMITIVES[0]}}}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _where(place: tuple[int, int]) -> str:
    ahead, right = place
    side = f"{_steps(abs(right))} to your {'right' if right > 0 else 'left'}"
    if not right:
        return f"{_steps(ahead)} ahead"
    return f"{_steps(ahead)} ahead and {side}" if ahead else side
