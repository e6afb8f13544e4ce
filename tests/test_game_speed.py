"""A game's resets and steps cost no more than the kept figures say, in turns of a reference loop of the same minute."""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gem
from gem_envs_games.guess_the_number import GuessTheNumberEnv

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KEPT = json.loads((BENCHMARKS / "results" / "game_speed.json").read_text(encoding="utf-8"))
QUICK = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def game_speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("game_speed")


def minor(version: str) -> str:
    """Return a version of Python without its last part."""
    return version.rpartition(".")[0]


@pytest.mark.nightly
@pytest.mark.skipif(
    minor(platform.python_version()) != minor(KEPT["versions"]["python"]) or sys.gettrace() is not None,
    reason="the kept figures are of another minor version of Python, or every line is traced",
)
@pytest.mark.parametrize("env_id", [row[0] for row in KEPT["tables"]["1"][1:]])
def test_no_game_has_become_slower(game_speed: ModuleType, env_id: str) -> None:
    """Of a figure above the limit the least of four measurements counts: others on the machine only add to it."""
    before = game_speed.kept()[env_id]
    costs = {"reset": game_speed.reset_cost, "step": game_speed.step_cost}
    now = {what: cost(env_id) for what, cost in costs.items()}
    for what, cost in costs.items():
        if game_speed.slower(before, {what: now[what]}):
            now[what] = min(now[what], *(cost(env_id) for _ in range(3)))
    assert game_speed.slower(before, now) == []


def test_every_game_of_the_original_has_kept_figures(game_speed: ModuleType) -> None:
    """Both sizes of each, and a cost of each operation."""
    kept = game_speed.kept()
    assert tuple(kept) == game_speed.IDS
    assert all(costs.keys() == {"reset", "step"} for costs in kept.values())


def test_a_figure_above_the_limit_is_named(game_speed: ModuleType) -> None:
    """Up to 1.08 times the kept figure nothing is said, above it a sentence with both figures."""
    before = {"reset": 2.0, "step": 10.0}
    assert game_speed.slower(before, {"reset": 2.15, "step": 10.7}) == []
    (sentence,) = game_speed.slower(before, {"reset": 2.0, "step": 10.9})
    assert sentence.startswith("step costs 1.09 times as much as before: 10.9 turns of the reference, not 10")


def test_a_first_observation_written_anew_is_too_slow(game_speed: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure notices the loss of the kept texts, a quarter of a microsecond in each reset."""
    before = {"reset": game_speed.reset_cost(QUICK, rounds=20)}
    begin = GuessTheNumberEnv._begin

    def forgetful(self: Any) -> None:
        self._opening_parts = ()
        begin(self)

    monkeypatch.setattr(GuessTheNumberEnv, "_begin", forgetful)
    assert game_speed.slower(before, {"reset": game_speed.reset_cost(QUICK, rounds=20)})


def test_every_round_does_the_same_work(game_speed: ModuleType) -> None:
    """Each begins from the same state, so that figures of two days compare the same moves."""
    counts = []

    def work() -> int:
        counts.append(env.rng.random())
        return 1

    env = gem.make(QUICK)
    game_speed.relative_cost(lambda: env.reset(seed=0), work, 3)
    assert len(counts) == 4
    assert len(set(counts)) == 1
