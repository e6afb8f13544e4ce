"""Scripted agents for tests of environments and of training code.

:class:`gem.policies.RandomPolicy` and :class:`gem.policies.ScriptedPolicy` are the other two. The random choices
of the agents here are a function of their seed and of the episode's first observation, so that an episode depends
neither on the number of earlier episodes nor on the size of a batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from gem.arguments import real, seed_value
from gem.core import Info
from gem.policies import NullPolicy, Policy
from gem_rollout.replay import compare
from gem_rollout.trajectory import Trajectory
from gem_testing.outcomes import Violation

__all__ = [
    "FaultyPolicy",
    "FunctionPolicy",
    "GarbagePolicy",
    "NullPolicy",
    "RepeatPolicy",
    "ReplayPolicy",
]


class RepeatPolicy(Policy[Any, Any]):
    """Plays the same action in every turn."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def act(self, observation: Any, info: Info) -> Any:
        return self.action


class FunctionPolicy(Policy[Any, Any]):
    """Calls a function: ``FunctionPolicy(lambda observation, info: "look")``."""

    def __init__(self, function: Callable[[Any, Info], Any]) -> None:
        self.function = function

    def act(self, observation: Any, info: Info) -> Any:
        return self.function(observation, info)


class GarbagePolicy(Policy[Any, str]):
    r"""Emits text that no sensible grammar accepts: noise, boxes and tags that are empty or never close, broken JSON.

    Args:
        seed: seed of the agent's own generator.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed_value(seed)
        self._rng = random.Random(self.seed)

    def reset(self, observation: Any, info: Info) -> None:
        self._rng = _generator("garbage", self.seed, observation)

    def act(self, observation: Any, info: Info) -> str:
        return self._rng.choice(_GARBAGE)(self._rng)


class FaultyPolicy(Policy[Any, Any]):
    """Another agent that sometimes emits garbage instead.

    The other agent does not act in such a turn, so that an agent with a plan loses no move of it.

    Args:
        policy: the other agent.
        rate: share of the turns with garbage, from 0.0 to 1.0.
        seed: seed of the generator that decides and of the garbage.
    """

    def __init__(self, policy: Policy[Any, Any], rate: float, seed: int = 0) -> None:
        self.policy = policy
        self.rate = real("rate", rate, minimum=0.0, maximum=1.0)
        self._garbage = GarbagePolicy(seed)
        self._rng = random.Random(seed)

    def reset(self, observation: Any, info: Info) -> None:
        self._rng = _generator("faults", self._garbage.seed, observation)
        self._garbage.reset(observation, info)
        self.policy.reset(observation, info)

    def act(self, observation: Any, info: Info) -> Any:
        acting = self._garbage if self._rng.random() < self.rate else self.policy
        return acting.act(observation, info)


class ReplayPolicy(Policy[Any, Any]):
    """Plays the actions of a recorded episode, and checks that the environment shows the recorded observations.

    For training code and vector environments that take a policy; :func:`gem_rollout.replay.replay` compares rewards,
    flags and infos as well.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self._turn = 0

    def reset(self, observation: Any, info: Info) -> None:
        self._turn = 0

    def act(self, observation: Any, info: Info) -> Any:
        """Return the next recorded action.

        Raises:
            Violation: if the observation differs from the recorded one, or the record has no more actions.
        """
        recorded = self.trajectory
        if self._turn >= len(recorded):
            raise Violation(
                f"the recorded episode (seed {recorded.seed}) ends after {len(recorded)} turns, and this one goes on"
            )
        expected = recorded.transitions[self._turn]
        difference = compare(
            Trajectory(None, None, final_observation=expected.observation),
            Trajectory(None, None, final_observation=observation),
        )
        if difference is not None:
            raise Violation(
                f"after {self._turn} turns of the recorded episode (seed {recorded.seed}), the "
                f"{str(difference).partition(': ')[2]}; replay it with the environment, wrappers and seed it has"
            )
        self._turn += 1
        return expected.action


def _generator(purpose: str, seed: int, observation: Any) -> random.Random:
    # A str seeds by its content, equally in every process.
    return random.Random(f"{purpose} {seed} {observation!r}")


def _noise(rng: random.Random) -> str:
    return "".join(rng.choice(_CHARACTERS) for _ in range(rng.randint(1, 80)))


_CHARACTERS = "\x00\x07\x1b\t�¤§¬¶×÷†‡‰※⁂☠♞漢字كتاب\u200b\u202e\ud800\udfff🂡🤖"

_GARBAGE: tuple[Callable[[random.Random], str], ...] = (
    _noise,
    lambda rng: " \n" * rng.randint(1, 20),
    lambda rng: "\\boxed{}" * rng.randint(1, 5),
    lambda rng: f"\\boxed{{{_noise(rng)}}}",
    lambda rng: f"I am sure: \\boxed{{{_noise(rng)}",
    lambda rng: f"<answer>{_noise(rng)}",
    lambda rng: f'<tool_call>{{"name": "{_noise(rng)}", "arguments": {{</tool_call>',
    lambda rng: "{" * rng.randint(1, 200) + "}" * rng.randint(0, 200),
    lambda rng: f"```python\n{_noise(rng)}",
)
