"""Environments whose methods take, return or refuse what they must not."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np

from gem.core import Env, Info
from planted_envs.healthy import Circles, Sums
from planted_envs.healthy_agents import CountUp
from planted_envs.quiz import IN_PLAY, NOT_BEGUN

Result = tuple[Any, Any, Any, Any, Any]


class SwallowsArguments(Sums):
    """Its constructor takes any keyword, so that a misspelt one goes unnoticed."""

    def __init__(self, goal: int = 8, **kwargs: Any) -> None:
        super().__init__(goal=goal)


class CannotBeMade(Sums):
    """Its constructor fails with the defaults."""

    def __init__(self, goal: int = 0) -> None:
        super().__init__(goal=goal)


class ResetsWithoutInfo(Sums):
    """Its reset returns the observation alone."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed, options=options)[0]


class RefusesToAbandon(Sums):
    """Its reset raises in mid-episode."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if self._phase == IN_PLAY and self._turn:
            raise RuntimeError("finish this episode first")
        return super().reset(seed=seed, options=options)


class TakesNegativeSeeds(Sums):
    """It takes a negative seed."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        return super().reset(seed=-seed if type(seed) is int and seed < 0 else seed, options=options)


class TakesSmallSeeds(Sums):
    """It refuses seeds of more than 32 bits, as NumPy does."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed is not None:
            np.random.RandomState(seed)
        return super().reset(seed=seed, options=options)


class FallsSilent(Sums):
    """Its observations are empty from turn 5 on."""

    def _observe(self) -> Any:
        return super()._observe() if self._turn < 5 else ""


class ChangesKind(Circles):
    """Its last observation is text, and the others are content parts."""

    def _observe(self) -> Any:
        observation = super()._observe()
        return observation if self._turn == 0 else observation[0]["text"]


class NamesNoPicture(Circles):
    """Its picture is no content part as chat APIs take it."""

    def _observe(self) -> Any:
        text, picture = super()._observe()
        return [text, {"type": "image", "url": picture["image_url"]["url"]}]


class ReturnsFour(Sums):
    """Its last step returns four values, as the old Gym's did."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated or truncated:
            return observation, reward, True, info
        return observation, reward, terminated, truncated, info


class LosesInfo(Sums):
    """Its last step returns None as info."""

    def step(self, action: Any) -> Any:
        *result, info = super().step(action)
        return *result, None if "success" in info else info


class PaysNothingAtAll(Sums):
    """It pays float('nan') at turn 7."""

    def step(self, action: Any) -> Result:
        observation, reward, *rest = super().step(action)
        return observation, float("nan") if self._turn == 7 else reward, *rest


class PaysInts(Sums):
    """It pays the int 0 for a wrong answer."""

    def step(self, action: Any) -> Result:
        observation, reward, *rest = super().step(action)
        return observation, reward or 0, *rest


class PaysNumpy(Sums):
    """It pays NumPy's 32-bit floats."""

    def step(self, action: Any) -> Result:
        observation, reward, *rest = super().step(action)
        return observation, np.float32(reward), *rest


class PaysAnnNothing(CountUp):
    """It pays one of its agents float('inf') late."""

    def _process_actions(self, actions: dict[str, Any]) -> Any:
        observations, rewards, *rest = super()._process_actions(actions)
        return observations, {**rewards, "ann": float("inf")} if self._turn == 7 else rewards, *rest


class FlagsAreNumpy(Sums):
    """Its flags are NumPy's bools."""

    def step(self, action: Any) -> Result:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, np.bool_(terminated), np.bool_(truncated), info


class FlagsAreInts(Sums):
    """Its terminated is 0 or 1."""

    def step(self, action: Any) -> Result:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, int(terminated), truncated, info


class PlaysBeforeReset(Sums):
    """A step before the first reset is played."""

    def step(self, action: Any) -> Result:
        if self._phase == NOT_BEGUN:
            self.reset(seed=0)
        return super().step(action)


class PlaysAfterEnd(Sums):
    """A step after the end shows the last observation again, and pays nothing."""

    def step(self, action: Any) -> Result:
        if self._phase not in (IN_PLAY, NOT_BEGUN):
            return self._observe(), 0.0, True, False, {"turn": self._turn}
        return super().step(action)


class FailsAfterEnd(Sums):
    """A step after the end raises an error that does not say what to do."""

    def step(self, action: Any) -> Result:
        if self._phase not in (IN_PLAY, NOT_BEGUN):
            raise IndexError("list index out of range")
        return super().step(action)


class NeverEnds(Sums):
    """A wrong answer is asked again and again, so the episode of an agent that gets nothing right never ends."""

    def __init__(self) -> None:
        super().__init__()
        del self.max_turns

    def step(self, action: Any) -> Result:
        self.max_turns = self._turn + 2
        try:
            return super().step(action)
        finally:
            del self.max_turns

    def _observe(self) -> Any:
        return f"{self._right} right of {self.goal}. {self._ask()} Answer with \\boxed{{number}}."


class EndsLate(Sums):
    """It announces twelve turns, and ends after fourteen."""

    def step(self, action: Any) -> Result:
        announced, self.max_turns = self.max_turns, self.max_turns + 2
        try:
            return super().step(action)
        finally:
            self.max_turns = announced


class TruncatesAlone(Sums):
    """Out of the announced turns is truncated alone."""

    def step(self, action: Any) -> Result:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated and not truncated, truncated, info


class TerminatesAlone(Sums):
    """Out of the announced turns is terminated alone."""

    def step(self, action: Any) -> Result:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, False, info


class SamplesMalformed(Sums):
    """The actions that it samples have no box."""

    def sample_random_action(self) -> Any:
        return str(self.action_rng.randint(0, 20))


class SamplesAnything(Sums):
    """It samples actions with the process's generator."""

    def sample_random_action(self) -> Any:
        return f"\\boxed{{{random.randint(0, 20)}}}"


class ClosesOnce(Sums):
    """Its second close raises."""

    def __init__(self, goal: int = 8, max_turns: int = 12) -> None:
        super().__init__(goal=goal, max_turns=max_turns)
        self._open = ["a handle"]

    def close(self) -> None:
        self._open.remove("a handle")


class SpawnShares(Sums):
    """What it spawns has the same generator."""

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Any:
        return copy.copy(self)


class SpawnSharesList(Sums):
    """What it spawns keeps its question in the same list, which both write to."""

    def _draw(self) -> list[int]:
        self._question[:] = super()._draw()
        return self._question

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Any:
        twin = super().spawn(same_state, **kwargs)
        twin._question = self._question
        return twin


class SpawnForgets(Sums):
    """What it spawns has its spec, and is made with the defaults whatever the arguments were."""

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Env[Any, Any]:
        twin = type(self)(**kwargs)
        twin.spec = self.spec
        if same_state:
            twin.set_state(self.get_state())
        return twin
