"""The file that a researcher copies and changes, ``examples/train_tiny.py``, learns."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")
pytest.importorskip("gem_envs_games", reason="gem-envs-games is not installed")

import gem  # noqa: E402
from gem.core import Env  # noqa: E402

EXAMPLE = Path(__file__).parents[3] / "examples" / "train_tiny.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.is_file(), reason="the examples are not part of the package")


class SayLow(Env[str, str]):
    """Pays for digits below 5, twice; a model without a warm start says some."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return "more", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return "more", float(any(digit in action for digit in "01234")), self.turn == 2, False, {}

    def sample_random_action(self) -> str:
        return str(self.rng.randrange(10))


@pytest.fixture
def example() -> Iterator[Any]:
    """Return a fresh module of the file."""
    spec = importlib.util.spec_from_file_location("train_tiny", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gem.register("test:SayLow-v0", SayLow)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        gem.registry.unregister("test:SayLow-v0")
        torch.set_num_threads(threads)


@pytest.mark.parametrize(("learning_rate", "learns"), [(3e-3, True), (0.0, False)])
def test_updates_move_the_policy_towards_what_pays(example: Any, learning_rate: float, learns: bool) -> None:
    """From an untrained model, by the functions of the file, and not at a learning rate of 0."""
    torch.manual_seed(0)
    example.random.seed(0)
    example.ENVIRONMENT, example.EPISODES = gem.spec("test:SayLow-v0"), 32
    model, tokenizer = example.warm_start(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    samples = torch.Generator().manual_seed(0)
    returns, seeds = [], []
    for update in range(10):
        episodes = example.play(model, tokenizer, update, samples)
        example.learn(model, optimizer, episodes)
        returns.append(sum(episode.episode_return for episode in episodes) / len(episodes))
        seeds += [episode.seed for episode in episodes]
    assert len(set(seeds)) == 10 * 32
    assert returns[0] < 1.75
    assert (sum(returns[-4:]) / 4 > 1.85) is learns


BAR = 0.7
"""Success of the last updates; the warm start has 0.6."""


@pytest.mark.nightly
@pytest.mark.parametrize(("learning_rate", "learns"), [(2e-3, True), (0.0, False)])
def test_a_short_run_learns(
    example: Any, learning_rate: float, learns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """To find the number, beyond a bar that a run with learning rate 0 misses; every update is printed."""
    found = example.main(25, learning_rate)
    assert found[0] < BAR
    assert (sum(found[-5:]) / 5 > BAR) is learns
    lines = capsys.readouterr().out.splitlines()
    assert [f"{success:.2f}" for success in found] == [line.split("success ")[1][:4] for line in lines]
