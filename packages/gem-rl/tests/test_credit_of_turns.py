"""The trainer learns from the turn that earned a reward: advantages of the turn before or after it teach nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")

import gem  # noqa: E402
from gem.core import Env  # noqa: E402
from gem_rl.training import trainer as trainer_module  # noqa: E402
from gem_rl.training.episode_rows import training_rows  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402

TURNS = 6


class OneTurnPays(Env[str, str]):
    """Six turns, of which one, that chance draws, pays for an even digit; its observation says so."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn, self.paying = 0, self.rng.randrange(TURNS)
        self.paid = False
        return self.observation(), {}

    def observation(self) -> str:
        return "now" if self.turn == self.paying else "wait"

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reward = float(self.turn == self.paying and action[:1] in ("0", "2", "4", "6", "8"))
        self.paid = self.paid or bool(reward)
        self.turn += 1
        over = self.turn == TURNS
        return self.observation(), reward, over, False, {"success": self.paid} if over else {}

    def sample_random_action(self) -> str:
        return str(self.rng.randrange(10))


ONE_TURN = "test:OneTurnPays-v0"
RECIPE = Recipe(
    {ONE_TURN: 1.0},
    algorithm="rebn",
    gamma=0.0,
    updates=12,
    episodes=64,
    epochs=1,
    minibatches=2,
    learning_rate=1e-2,
    rise=1,
    history=False,
    warm_episodes=32,
    warm_steps=30,
    warm_learning_rate=1e-2,
    width=16,
    layers=1,
    heads=2,
    context=64,
    max_new_tokens=2,
)
BAR = 0.75
"""Half of the digits are even."""


@pytest.fixture(autouse=True)
def prepared() -> Iterator[None]:
    """Offers the environment, and lets torch use one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gem.register(ONE_TURN, OneTurnPays)
    try:
        yield
    finally:
        gem.registry.unregister(ONE_TURN)
        torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("turns", "learns"),
    [
        (0, True),
        pytest.param(1, False, marks=pytest.mark.nightly),
        pytest.param(-1, False, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 5))])
def test_a_policy_learns_from_the_turn_that_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: int, learns: bool, seed: int
) -> None:
    """Beyond a bar that advantages shifted by one turn within their episodes miss."""

    def shifted(episodes: Any, advantages: Any, *rest: Any) -> Any:
        moved = np.roll(advantages.reshape(-1, TURNS), turns, axis=1).ravel()
        return training_rows(episodes, moved, *rest)

    monkeypatch.setattr(trainer_module, "training_rows", shifted)
    trainer = Trainer(RECIPE, seed, tmp_path)
    trainer.train()
    last = [line["success"] for line in trainer.folder.metrics[-3:]]
    assert (sum(last) / 3 > BAR) is learns, last
