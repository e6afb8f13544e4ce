"""Steps and resets keep within the declared budget."""

from __future__ import annotations

import time
from typing import Any

from gem.core import Env
from gem_testing.clause import clauses_of
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.episodes import begin, has_ended, take
from gem_testing.outcomes import NotTested, Violation

__all__ = ["CLAUSES", "RESET_SECONDS", "STEP_SECONDS"]

STEP_SECONDS = 0.1
"""Wall-clock seconds of a step, where the manifest declares no ``step_seconds``."""
RESET_SECONDS = 1.0
"""The same for a reset and ``reset_seconds``."""

REPEATS = 3
"""Repetitions of an episode; the quickest step is close to its true cost even on a busy machine."""


def step(under_test: EnvUnderTest) -> None:
    """No step of an episode takes longer than the declared step_seconds (wall-clock; 0.1 where none are declared)."""
    budget = under_test.spec.step_seconds or STEP_SECONDS
    for script in under_test.scripts:
        quickest = [float("inf")] * len(script.actions)
        for repeat in range(REPEATS):
            with under_test.make() as env:
                begin(env, script.seed)
                for turn, action in enumerate(script.actions):
                    spent, over = _timed_step(env, action, f"step {turn + 1} (seed {script.seed})")
                    quickest[turn] = min(quickest[turn], spent)
                    if over:
                        break
            if max(quickest, default=0.0) <= budget:
                break
            if repeat == REPEATS - 1:
                slowest = max(range(len(quickest)), key=quickest.__getitem__)
                if quickest[slowest] == float("inf"):
                    raise NotTested("an episode does not repeat", "see determinism.instances")
                raise Violation(
                    f"step {slowest + 1} (seed {script.seed}) took {quickest[slowest]:.3g} s, and its budget is "
                    f"{budget:g} s; make it quicker or declare step_seconds in environments.toml"
                )


def reset(under_test: EnvUnderTest) -> None:
    """No reset takes longer than the declared reset_seconds (wall-clock; 1.0 where none are declared)."""
    budget = under_test.spec.reset_seconds or RESET_SECONDS
    for script in under_test.scripts:
        quickest = float("inf")
        for _ in range(REPEATS):
            with under_test.make() as env:
                start = time.perf_counter()
                begin(env, script.seed)
                quickest = min(quickest, time.perf_counter() - start)
            if quickest <= budget:
                break
        else:
            raise Violation(
                f"reset(seed={script.seed}) took {quickest:.3g} s, and its budget is {budget:g} s; make it quicker or "
                "declare reset_seconds in environments.toml"
            )


def _timed_step(env: Env[Any, Any], action: Any, where: str) -> tuple[float, bool]:
    start = time.perf_counter()
    *_, terminated, truncated, _ = take(env, action, where)
    return time.perf_counter() - start, has_ended(env, terminated, truncated)


CLAUSES = clauses_of("speed", step, reset, by_arguments=True)
