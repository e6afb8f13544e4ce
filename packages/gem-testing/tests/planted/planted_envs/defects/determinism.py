"""Environments whose episodes depend on more than seed and actions."""

from __future__ import annotations

import os
import random
import time
from typing import Any, ClassVar

import numpy as np

from gem.core import Info
from planted_envs.healthy import Sums
from planted_envs.healthy_agents import Orders

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
DECK = list(range(10))
CACHE: dict[int, list[int]] = {}
BUFFER: list[str] = []


class LateChance(Sums):
    """From turn 7 on it draws from the operating system."""

    def _draw(self) -> list[int]:
        return super()._draw() if self._turn < 7 else [random.SystemRandom().randint(0, 9) for _ in range(2)]


class ThirdEpisode(Sums):
    """The third episode of an instance, and no other, draws from the operating system."""

    _episode = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self._episode += 1
        return super().reset(seed=seed, options=options)

    def _draw(self) -> list[int]:
        return super()._draw() if self._episode != 3 else [random.SystemRandom().randint(0, 9) for _ in range(2)]


class DropsSeed(Sums):
    """It checks the seed and does not use it."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        result = super().reset(seed=seed, options=options)
        if seed is None:
            return result
        self.rng.seed()
        return super().reset(options=options)


class TellsTime(Sums):
    """Its info holds the time of day."""

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        *result, info = super().step(action)
        return *result, {**info, "time": time.time_ns()}


class ShufflesDeck(Sums):
    """It shuffles a list of the module in place, so that an episode depends on how often that was done before."""

    def _draw(self) -> list[int]:
        self.rng.shuffle(DECK)
        return DECK[:2]


class GetsHarder(Sums):
    """An instance asks for larger numbers with each episode that it has played, whatever the seed."""

    _episodes = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self._episodes += 1
        return super().reset(seed=seed, options=options)

    def _draw(self) -> list[int]:
        return [number + self._episodes for number in super()._draw()]


class KeepsScore(Sums):
    """Its reset forgets to begin anew with the right answers."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        right = self._right
        super().reset(seed=seed, options=options)
        self._right = min(right, self.goal - 1)
        return self._observe(), {"turn": 0}


class ClearsAtEnd(KeepsScore):
    """Its right answers are cleared at the end of an episode, so that an abandoned one leaves some to the next."""

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        *result, info = super().step(action)
        if "success" in info:
            self._right = 0
        return *result, info


class UnseededFromSystem(Sums):
    """A reset without a seed begins with entropy of the operating system."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed is None:
            self.rng.seed()
        return super().reset(seed=seed, options=options)


class ClassHoldsQuestion(Sums):
    """The question that is asked lies in the class, so that instances overwrite each other's."""

    asked: ClassVar[list[int]] = [0, 0]

    def _draw(self) -> list[int]:
        type(self).asked = super()._draw()
        return list(self.asked)

    def _answer(self) -> int:
        return sum(type(self).asked)


class DrawsFromRandom(Sums):
    """It draws from the random module, which a reset with a seed seeds."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if type(seed) is int:
            random.seed(seed)
        return super().reset(seed=seed, options=options)

    def _draw(self) -> list[int]:
        return [random.randint(0, 9), random.randint(0, 9)]


class DrawsFromNumpy(Sums):
    """It draws from NumPy's global generator, which a reset with a seed seeds."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if type(seed) is int and seed >= 0:
            np.random.seed(seed % 2**32)
        return super().reset(seed=seed, options=options)

    def _draw(self) -> list[int]:
        return [int(number) for number in np.random.randint(0, 10, size=2)]


class SeedsRandom(Sums):
    """It draws from its own generator, and seeds the random module as well."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if type(seed) is int:
            random.seed(seed)
        return super().reset(seed=seed, options=options)


class SamplesFromRng(Sums):
    """Sampling an action advances the generator of the episode."""

    def sample_random_action(self) -> Any:
        return f"\\boxed{{{self.rng.randint(0, 20)}}}"


class SetOrder(Sums):
    """It lists a set of words in the order that the set happens to have."""

    def _ask(self) -> str:
        return f"Ignore {', '.join(set(WORDS))}. {super()._ask()}"


class SetOrderLate(Sums):
    """From turn 7 on the first of a set of words decides the question."""

    def _draw(self) -> list[int]:
        terms = super()._draw()
        return terms if self._turn < 7 else [terms[0], WORDS.index(next(iter(set(WORDS))))]


class HashesText(Sums):
    """It derives numbers from hash() of a text."""

    def _draw(self) -> list[int]:
        terms = super()._draw()
        return [terms[0], hash(f"question {terms}") % 10]


class DealsFromSet(Orders):
    """It deals to its agents in the order of a set."""

    def _deal(self) -> None:
        self._cards = {agent: self.rng.randint(0, 9) for agent in set(self.agents)}


class DependsOnProcess(Sums):
    """Its questions depend on the number of the process."""

    def _draw(self) -> list[int]:
        terms = super()._draw()
        return [terms[0], (terms[1] + os.getpid()) % 1000]


class CachesQuestions(Sums):
    """It keeps questions in a cache of the module whose key says too little, so that whoever comes first decides."""

    def _draw(self) -> list[int]:
        terms = super()._draw()
        return list(CACHE.setdefault(terms[0], terms))


class SharesBuffer(Sums):
    """It puts its observation together in a list of the module, and waits in between as for a disk."""

    def _ask(self) -> str:
        BUFFER[:] = super()._ask().split()
        time.sleep(1e-4)
        return " ".join(BUFFER)
