"""Going on within an update (``keep_turns``): nothing is asked for again, and everything ends as it would have."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")
pytest.importorskip("gem_envs_games", reason="gem-envs-games is not installed")

from stopped_run import Asked, KilledRun, end_of, killed_runs  # noqa: E402
from trainer_drivers.letter_hunt import LetterHunt  # noqa: E402

import gem  # noqa: E402
from gem.errors import ArgumentError  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402


class Hunt(LetterHunt):
    """With a random player, and episodes of two to five turns, so that some have ended while others go on."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        observation, info = super().reset(seed=seed)
        self.last = self.rng.randrange(2, 6)
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, self.turn == self.last, truncated, info

    def sample_random_action(self) -> str:
        return random.Random(self.turn).choice("abc")


HUNTS = Recipe(
    {"test:Hunt-v0": 1.0},
    algorithm="grpo",
    updates=2,
    episodes=8,
    group=2,
    minibatches=2,
    warm_episodes=8,
    warm_steps=5,
    width=16,
    heads=2,
    context=96,
    max_new_tokens=4,
    keep_turns=True,
)


@pytest.fixture(autouse=True)
def prepared() -> Iterator[None]:
    """Offers the environment, and lets torch use one thread, as gem train does."""
    gem.register("test:Hunt-v0", Hunt)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        gem.registry.unregister("test:Hunt-v0")


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file that are whole; none if there is no file."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"}\n")]


@dataclass
class WholeRun:
    """A run that nothing disturbed, and its folder after each write."""

    recipe: Recipe
    killed: list[KilledRun]
    end: dict[str, Any]

    def goes_on(self, killed: KilledRun, *, torn: int = 0) -> None:
        """Let a run go on from a copy of its folder, whose last line lacks so many bytes, and compare its end."""
        folder = killed.folder.with_name("again")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(killed.folder, folder)
        path = folder / killed.written.name
        if torn:
            path.write_bytes(path.read_bytes()[:-torn])
        played = whole_lines(folder / "played.jsonl")
        keys = [(one["spec"]["id"], one["seed"], one.get("repetition", 0)) for one in played]
        attempts: dict[int, list[Any]] = {}
        for line in whole_lines(folder / "unfinished.jsonl"):
            if "over" in line:
                attempts.pop(line["attempt"], None)
            else:
                attempts.setdefault(line["attempt"], []).append(line)
        running = [lines for lines in attempts.values() if tuple(lines[0]["key"]) not in keys]
        kept = sum(len(one["transitions"]) for one in played) + sum(len(lines) - 1 for lines in running)
        done = torch.load(folder / "checkpoint.pt", weights_only=False)["update"]
        left = sum(line["turns"] for line in self.end["metrics"][done:])
        with Asked() as asked:
            Trainer(self.recipe, 0, folder).train()
        assert end_of(folder) == self.end
        assert asked.turns == left - (0 if killed.written.name == "checkpoint.pt" else kept)


def whole_run(recipe: Recipe, folder: Path) -> WholeRun:
    """Make a run, and state that it was written in all ways, or kills at its writes would show nothing."""
    trainer, killed = killed_runs(recipe, folder / "whole", folder / "killed")
    end = end_of(trainer.folder.path)
    names = {one.written.name for one in killed}
    assert names == {"played.jsonl", "unfinished.jsonl", "episodes.jsonl", "checkpoint.pt"}
    assert all(line["turns"] > recipe.episodes for line in end["metrics"])
    return WholeRun(recipe, killed, end)


def test_a_kill_costs_the_turns_that_were_being_played(tmp_path: Path) -> None:
    """At eight random moments, half of them in the middle of a line: no turn that is on disk is asked for again, and
    weights, optimizer, generators, curve and episodes end bit for bit as those of a run that nothing disturbed.
    """
    run, chance = whole_run(HUNTS, tmp_path), random.Random(0)
    for number, killed in enumerate(chance.sample(run.killed, 8)):
        cut = number % 2 and killed.size > 1
        run.goes_on(killed, torn=chance.randrange(1, killed.size) if cut else 0)


VARIANTS: dict[str, dict[str, Any]] = {
    "groups": {},
    "the latest observation alone": {"history": False},
    "growing budgets of turns": {"budgets": (2, 4), "algorithm": "rebn"},
    "two environments, values": {
        "environments": {"test:Hunt-v0": 1.0, "game:GuessTheNumber-v0-easy": 0.5},
        "algorithm": "ppo",
        "context": 256,
        "warm_steps": 60,
        "warm_episodes": 32,
    },
    "equal prompts": {"group": 8, "episodes": 16},
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", VARIANTS)
def test_a_kill_at_any_moment_changes_nothing(name: str, tmp_path: Path) -> None:
    """After every line and checkpoint, and once in the middle of each line."""
    run, chance = whole_run(replace(HUNTS, **VARIANTS[name]), tmp_path), random.Random(name)
    for killed in run.killed:
        run.goes_on(killed)
        if killed.size > 1:
            run.goes_on(killed, torn=chance.randrange(1, killed.size))


def test_an_environment_that_answers_otherwise_is_played_again(tmp_path: Path) -> None:
    """One that depends on more than its seed: its episode begins anew, all of them end, and the figures say so."""
    run = whole_run(HUNTS, tmp_path)
    killed = next(one for one in run.killed if one.written.name == "unfinished.jsonl")
    with mock.patch.object(Hunt, "_ask", lambda hunt: f"say {hunt.__dict__.setdefault('letter', 'b')} now"):
        trainer = Trainer(HUNTS, 0, killed.folder)
        trainer.train()
    figures = trainer.folder.metrics
    assert [line["episodes"] for line in figures] == [HUNTS.episodes] * HUNTS.updates
    assert figures[0]["begun_again"] == 1
    assert "begun_again" not in figures[1]


def test_games_of_several_agents_are_refused(tmp_path: Path) -> None:
    """Since no turns of theirs are written down."""
    recipe = replace(HUNTS, environments={"duel:Nim-v0": 1.0})
    with pytest.raises(ArgumentError, match=r"keep_turns goes on within .* one agent, and duel:Nim-v0 has several"):
        Trainer(recipe, 0, tmp_path)


@pytest.mark.nightly
def test_a_published_model_goes_on_to_the_same_digits(tmp_path: Path) -> None:
    """Its attention sums in another order where a batch has other rows or a cache, which the last digits show."""
    pytest.importorskip("transformers", reason="gem-rl[models] is not installed")
    from trainer_drivers.tiny_chat import save_model, tiny_tokenizer

    model = save_model(tmp_path / "model", tiny_tokenizer(), 64)
    recipe = replace(HUNTS, model=model, warm_steps=0, context=400, algorithm="rebn")
    run, chance = whole_run(recipe, tmp_path), random.Random(1)
    for killed in chance.sample(run.killed, 12):
        run.goes_on(killed)
