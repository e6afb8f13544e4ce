"""The clause on hostile actions keeps the whole contract for each of them, also in later turns and after a reset."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem_testing import ClauseOutcome, EnvUnderTest, run_clauses
from gem_testing.clauses.hostile import HOSTILE_ACTIONS, derived_from


class Echo(Env[str, Any]):
    """Wants the action "yes" in three turns; subclasses break for all others."""

    turn = 0
    hostile = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return "Say yes.", {}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        self.turn += 1
        self.hostile = action != "yes"
        return "And again.", 0.0, self.turn == 3, False, {}

    def sample_random_action(self) -> str:
        return "yes"


class PaysWithoutEnd(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, _, *rest = super().step(action)
        return observation, float("inf") if self.hostile else 0.0, *rest


class PaysNoNumber(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, _, *rest = super().step(action)
        return observation, float("nan") if self.hostile else 0.0, *rest


class EndsWithAWord(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, "yes" if self.hostile else terminated, truncated, info


class IsCutByACount(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, int(self.hostile) if self.hostile else truncated, info


class KeepsTheAction(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        *rest, _ = super().step(action)
        return *rest, {"said": action}  # type: ignore[return-value]


class SaysNothing(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, *rest = super().step(action)
        return None if self.hostile else observation, *rest


class BreaksInItsSecondTurn(Echo):
    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        result = super().step(action)
        return result if self.turn == 1 else (result[0], len(action) * 0.0, *result[2:])


class NeverBeginsAgain(Echo):
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        if self.hostile:
            raise ValueError("the last action was no word")
        return super().reset(seed, options)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Echo, None),
        (PaysWithoutEnd, r"returned the reward inf; return a finite float"),
        (PaysNoNumber, r"returned the reward nan; return a finite float"),
        (EndsWithAWord, r"returned the flag 'yes'; return True or False"),
        (IsCutByACount, r"returned the flag 1; return True or False"),
        (KeepsTheAction, r"returned the info .*, which JSON refuses"),
        (SaysNothing, r"step 1 \(seed 5\) answered the action .* None"),
        (BreaksInItsSecondTurn, r"step 2 \(seed 5\) raised TypeError"),
        (NeverBeginsAgain, r"reset.* raised ValueError: the last action was no word"),
    ],
)
def test_what_a_hostile_action_breaks_is_named(env: type[Env[Any, Any]], message: str | None) -> None:
    """The reward, both flags, info, the observation, a later turn and the next reset; a sound one passes."""
    (result,) = run_clauses(EnvUnderTest(EnvSpec("test:Echo-v0", env)), ["hostile.actions"])
    if message is None:
        assert result.outcome is ClauseOutcome.HOLDS, result.message
    else:
        assert result.outcome is ClauseOutcome.VIOLATED
        assert re.search(message, result.message), result.message


def test_actions_outside_every_grammar_are_of_every_kind() -> None:
    """Nothing, numbers, bytes, containers and messages; and ten or more that nearly look like a usual action."""
    kinds = {type(action) for action in HOSTILE_ACTIONS}
    assert {type(None), bool, int, float, bytes, tuple, list, dict, object, str} <= kinds
    nearly = list(derived_from("\\boxed{12}"))
    assert {"\\boxed{-1}", "\\boxed{0}", "\\boxed{1e999}", "\\BOXED{12}"} <= set(nearly)
    assert len(nearly) >= 10
    assert list(derived_from(7)) == []
