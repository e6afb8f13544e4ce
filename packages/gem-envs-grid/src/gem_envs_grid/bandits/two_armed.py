r"""TwoArmed: RAGEN's bandit, one choice between two names.

The rules are RAGEN's (Wang et al., "RAGEN: Understanding Self-Evolution in LLM Agents via Multi-Turn Reinforcement
Learning", 2025): the steady arm always pays 0.1, the risky one 1.0 with probability 0.25 and nothing otherwise. The
agent learns nothing but the two names, so it can only learn over many episodes which name stands for which arm. With
``reverse`` the names are exchanged, as in RAGEN's test of generalization, and the prompt is the same.

The exact optimum is the mean of the better arm, 0.25 with the original's numbers; an agent that draws an arm earns
0.175, one that always takes the steady arm 0.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gem.action_forms import BoxedChoice
from gem.arguments import boolean, real, string
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, success
from gem_envs_grid.grid_game import GridGame

__all__ = ["TwoArmedEnv", "TwoArmedPolicy"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")


class TwoArmedEnv(GridGame[str]):
    r"""Pull one of two arms, of which only the names are known, with ``\boxed{dragon}``. The episode has one turn.

    The reward is the payoff. ``info["success"]`` says whether the arm with the higher mean was pulled.

    Args:
        names: the name of the steady arm and that of the risky one.
        reverse: exchange the names; the prompt does not show it.
        steady_payoff: what the steady arm pays, 0 … 1.
        risky_payoff: what the risky arm pays if it pays, 0 … 1.
        risky_probability: how often it pays, 0 … 1.
        format_penalty: points that an unreadable action costs, 0 … 1; RAGEN takes 0.1.
    """

    saved = StateFields(risky_first=bool)
    request = "Which arm do you pull?"
    closings: ClassVar[Mapping[str, str]] = {
        **GridGame.closings,
        "success": "That was the arm that pays more on average.",
        "failure": "The other arm pays more on average.",
    }

    def __init__(
        self,
        names: Sequence[str] = ("phoenix", "dragon"),
        reverse: bool = False,
        steady_payoff: float = 0.1,
        risky_payoff: float = 1.0,
        risky_probability: float = 0.25,
        format_penalty: float = 0.0,
    ) -> None:
        if not isinstance(names, (list, tuple)) or len(names) != 2:
            raise ArgumentTypeError(f"names must be a list of two names, got an object of type {type(names).__name__}")
        steady, risky = (string("name of an arm", name) for name in names)
        if not (_NAME.fullmatch(steady) and _NAME.fullmatch(risky)) or steady.lower() == risky.lower():
            raise ArgumentError(
                f"names must be two different words of ASCII letters, digits, '_' and '-', got {list(names)!r:.100}"
            )
        self.steady, self.risky = (risky, steady) if boolean("reverse", reverse) else (steady, risky)
        self.steady_payoff = real("steady_payoff", steady_payoff, minimum=0.0, maximum=1.0)
        self.risky_payoff = real("risky_payoff", risky_payoff, minimum=0.0, maximum=1.0)
        self.risky_probability = real("risky_probability", risky_probability, minimum=0.0, maximum=1.0)
        self._set_format_penalty(format_penalty)
        self.max_turns = 1
        self.form = BoxedChoice(steady, risky)

    @property
    def best(self) -> str:
        """The arm with the higher mean; the steady one if they are equal."""
        return self.risky if self.risky_payoff * self.risky_probability > self.steady_payoff else self.steady

    @property
    def optimum(self) -> float:
        """The highest expected return there is."""
        return max(self.risky_payoff * self.risky_probability, self.steady_payoff)

    def _begin(self) -> None:
        self.risky_first = self.rng.random() < 0.5

    def _instructions(self) -> str:
        first, second = (self.risky, self.steady) if self.risky_first else (self.steady, self.risky)
        return (
            f"You are playing a bandit game with two arms, {first} and {second}. Each arm pays by a rule of its own, "
            "which its name hints at. Think about what the names stand for, and choose the arm that pays more points "
            f"on average. You have one pull. Put the name of the arm in \\boxed{{}}, for example \\boxed{{{first}}} or "
            f"\\boxed{{{second}}}."
        )

    def _play(self, move: str) -> MoveResult:
        if move == self.steady:
            payoff = self.steady_payoff
        else:
            payoff = self.risky_payoff if self.rng.random() < self.risky_probability else 0.0
        return (success if move == self.best else failure)(
            f"{move} pays {payoff:g} {'point' if payoff == 1 else 'points'}.", payoff
        )


class TwoArmedPolicy(Policy[str, str]):
    """Pulls the arm with the higher mean, which only the state tells.

    Args:
        env: the environment.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        assert isinstance(env, TwoArmedEnv)
        self._best = env.best

    def act(self, observation: str, info: Info) -> str:
        return f"\\boxed{{{self._best}}}"
