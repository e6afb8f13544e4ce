"""Environments whose state is incomplete, shared, or taken from anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.core import Info
from planted_envs.healthy import Sums
from planted_envs.healthy_agents import CountUp


class StateForgetsGenerator(Sums):
    """Its state does not hold the generators."""

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        del state["rng"], state["action_rng"]
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state({**self.generator_state(), **state} if isinstance(state, Mapping) else state)


class StateForgetsRight(Sums):
    """Its state does not hold how many answers were right."""

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        del state["right"]
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state({"right": self._right, **state} if isinstance(state, Mapping) else state)


class StateForgetsPass(Sums):
    """It asks in a shuffled order that goes on over episodes, and that its state does not hold."""

    _order: tuple[int, ...] = ()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed is not None:
            self._order = ()
        return super().reset(seed=seed, options=options)

    def _draw(self) -> list[int]:
        if not self._order:
            self._order = tuple(self.rng.sample(range(100), 100))
        first, *rest = self._order
        self._order = tuple(rest)
        return [first, 1]


class StateForgetsAgents(CountUp):
    """Its state holds the episode, and takes over nothing of the number that was said."""

    def _load(self, episode: dict[str, Any]) -> None:
        number = self._number
        super()._load(episode)
        self._number = number


class SpawnDropsState(Sums):
    """What it spawns is fresh, also where the same state was asked for."""

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Any:
        return super().spawn(**kwargs)


class StateIsAlive(Sums):
    """The question in its state is the list that it changes while it plays on."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "question": self._question}

    def _draw(self) -> list[int]:
        self._question[:] = super()._draw()
        return self._question


class StateIsKept(Sums):
    """It goes on with the very list that it was given in a state."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._question = state["question"]


class StateHoldsTuple(Sums):
    """Its state holds a tuple, which comes back from JSON as a list."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "question": tuple(self._question)}


class StateHoldsGenerator(Sums):
    """Its state holds the generator itself, which JSON refuses."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "generator": self.rng}


class TakesAnyState(Sums):
    """It takes what is no state without a word."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        if isinstance(state, Mapping) and "rng" in state:
            super().set_state(state)


class FailsOnBadState(Sums):
    """What is no state raises whatever Python happens to raise."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        if state["environment"] == type(self).__name__:
            super().set_state(state)


class HalfState(Sums):
    """A damaged state leaves it changed by half."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        if isinstance(state, Mapping) and isinstance(state.get("turn"), int):
            self._turn = state["turn"] + (state.get("question") is None)
        super().set_state(state)


class HoldsLambda(Sums):
    """It holds a function that cannot be pickled."""

    def __init__(self, goal: int = 8, max_turns: int = 12) -> None:
        super().__init__(goal=goal, max_turns=max_turns)
        self._add = lambda terms: sum(terms)

    def _answer(self) -> int:
        return self._add(self._question)


class PickleForgets(Sums):
    """A pickled copy has a new generator."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rng": None}


class PickleIsReset(Sums):
    """A pickled copy has lost its turns."""

    def __reduce__(self) -> Any:
        return _with_generator, (type(self), self.rng, self.action_rng, self._phase, self._question)


def _with_generator(cls: type[Sums], rng: Any, action_rng: Any, phase: int, question: list[int]) -> Sums:
    env = cls()
    env._rng, env._action_rng, env._phase, env._question = rng, action_rng, phase, question
    return env
