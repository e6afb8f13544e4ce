"""Healthy environments with one agent: every clause of the kit holds. The planted defects are subclasses."""

from __future__ import annotations

import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, ClassVar

from gem.arguments import integer
from gem.core import Env, Info
from gem.errors import EpisodeFinishedError, ResetNeededError, StateError
from gem.policies import Policy
from gem.tools import ToolEnvWrapper
from planted_envs.quiz import Quiz

COUNTRIES = {"France": 68, "Japan": 124, "Kenya": 55, "Peru": 34, "Fiji": 1}


class Sums(Quiz):
    """Multi-turn: add two numbers in each turn, until eight sums are right or the turns are used up."""

    def _draw(self) -> list[int]:
        return [self.rng.randint(0, 9), self.rng.randint(0, 9)]

    def _ask(self) -> str:
        return f"What is {self._question[0]} + {self._question[1]}?"

    def _answer(self) -> int:
        return sum(self._question)


class SumsPolicy(Policy[str, str]):
    """Adds the numbers that it reads."""

    def act(self, observation: str, info: Info) -> str:
        first, second = re.findall(r"(\d+) \+ (\d+)", observation)[0]
        return f"\\boxed{{{int(first) + int(second)}}}"


class Product(Quiz):
    """Single-turn: multiply two numbers."""

    def __init__(self) -> None:
        super().__init__(goal=1, max_turns=1)

    def _draw(self) -> list[int]:
        return [self.rng.randint(2, 9), self.rng.randint(2, 9)]

    def _ask(self) -> str:
        return f"What is {self._question[0]} x {self._question[1]}?"

    def _answer(self) -> int:
        return self._question[0] * self._question[1]


class ProductPolicy(Policy[str, str]):
    """Multiplies the numbers that it reads."""

    def act(self, observation: str, info: Info) -> str:
        first, second = re.findall(r"(\d+) x (\d+)", observation)[0]
        return f"\\boxed{{{int(first) * int(second)}}}"


class Circles(Quiz):
    """Content parts: count the circles in a picture; nothing in the text gives them away."""

    numbers: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__(goal=2, max_turns=3)

    def _draw(self) -> list[int]:
        return [self.rng.randint(1, 9)]

    def _ask(self) -> str:
        return "How many circles are there?"

    def _answer(self) -> int:
        return self._question[0]

    def _observe(self) -> Any:
        circles = "".join(f'<circle cx="{9 * i}" cy="5" r="4"/>' for i in range(1, self._question[0] + 1))
        picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="10">{circles}</svg>'
        url = f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"
        return [{"type": "text", "text": super()._observe()}, {"type": "image_url", "image_url": {"url": url}}]


class CirclesPolicy(Policy[Any, str]):
    """Counts the circles in the picture."""

    def act(self, observation: Any, info: Info) -> str:
        picture = b64decode(observation[1]["image_url"]["url"].partition(",")[2]).decode()
        return f"\\boxed{{{picture.count('<circle')}}}"


class Countries(Quiz):
    """A small data set, asked in a new order in each pass over it; the pass goes on from episode to episode."""

    numbers: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__(goal=1, max_turns=1)
        self._order: list[int] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed is not None:
            self._order = []
        return super().reset(seed=seed, options=options)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "order": list(self._order)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        try:
            order = [integer("a row", row, minimum=0, maximum=len(COUNTRIES) - 1) for row in state["order"]]
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"not a state of {type(self).__name__}: {error!r}") from error
        super().set_state(state)
        self._order = order

    def _draw(self) -> list[int]:
        if not self._order:
            self._order = self.rng.sample(range(len(COUNTRIES)), len(COUNTRIES))
        return [self._order.pop()]

    def _ask(self) -> str:
        return f"How many million people live in {list(COUNTRIES)[self._question[0]]}?"

    def _answer(self) -> int:
        return list(COUNTRIES.values())[self._question[0]]


class CountriesPolicy(Policy[str, str]):
    """Knows the data set."""

    def act(self, observation: str, info: Info) -> str:
        country = re.findall(r"live in (\w+)", observation)[0]
        return f"\\boxed{{{COUNTRIES[country]}}}"


def add(first: int, second: int) -> int:
    """Add two numbers.

    Args:
        first: one number.
        second: the other.
    """
    return first + second


def sums_with_calculator(goal: int = 8) -> ToolEnvWrapper:
    """Make sums whose agent has a tool that adds."""
    return ToolEnvWrapper(Sums(goal=goal), [add])


class CalculatorPolicy(Policy[str, str]):
    """Asks the tool, and repeats what the tool shows."""

    def act(self, observation: str, info: Info) -> str:
        if observation.isdigit():
            return f"\\boxed{{{observation}}}"
        first, second = re.findall(r"(\d+) \+ (\d+)", observation)[0]
        return f'<tool_call>{{"name": "add", "arguments": {{"first": {first}, "second": {second}}}}}</tool_call>'


class Patient(Product):
    """Takes its time over the right answer to a large product, within the seconds that its manifest declares."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        result = super().step(action)
        if result[1] and self._answer() > 40:
            time.sleep(0.11)
        return result


class Stateless(Env[str, str]):
    """Neither its state can be taken nor actions sampled: no more than reset and step."""

    _sides: int | None = None
    _has_begun = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self._sides, self._has_begun = self.rng.randint(3, 9), True
        return f"How many corners has a polygon with {self._sides} sides?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if not self._has_begun:
            raise ResetNeededError("no episode has begun; call reset() first")
        if self._sides is None:
            raise EpisodeFinishedError("the episode has ended; call reset() to begin another")
        sides, self._sides = self._sides, None
        return f"There are {sides}.", float(action == str(sides)), True, False, {}


class StatelessPolicy(Policy[str, str]):
    """Reads the answer in the question."""

    def act(self, observation: str, info: Info) -> str:
        return re.findall(r"\d+", observation)[0]


class Overtime(Sums):
    """Out of turns is truncated alone, as its manifest declares and gives a reason for."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated and not truncated, truncated, info
