"""Training the model behind an agent program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("transformers", reason="gem-rl[models] is not installed")
pytest.importorskip("gem_gateway", reason="gem-gateway is not installed")

from stopped_run import Asked, end_of  # noqa: E402
from trainer_drivers.letter_hunt import LetterHunt  # noqa: E402
from trainer_drivers.tiny_chat import save_model, tiny_tokenizer  # noqa: E402

import gem  # noqa: E402
from gem.errors import ArgumentError  # noqa: E402
from gem_rl import token_rows  # noqa: E402
from gem_rl.training.episode_rows import sampled_counts  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rollout.trajectory import read_trajectories  # noqa: E402

PROGRAM = Path(__file__).parent / "trainer_drivers" / "letter_program.py"


@pytest.fixture(autouse=True)
def prepared() -> Iterator[None]:
    """Offers the environment, and lets torch use one thread."""
    gem.register("test:LetterHunt-v0", LetterHunt)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        gem.registry.unregister("test:LetterHunt-v0")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """A recipe with a random model of 0.1 million parameters, which reads characters, behind a program."""
    return Recipe(
        {"test:LetterHunt-v0": 1.0},
        model=save_model(tmp_path_factory.mktemp("model"), tiny_tokenizer(), 64),
        harness=f"command:'{sys.executable}' -I -S '{PROGRAM}'",
        algorithm="rebn",
        updates=25,
        episodes=32,
        minibatches=2,
        learning_rate=3e-3,
        warm_steps=0,
        max_new_tokens=6,
    )


@pytest.mark.nightly
def test_the_rows_of_programs_are_what_the_model_sampled(recipe: Recipe, tmp_path: Path) -> None:
    """Each call is a row of its turn, whose probabilities are those of the model on the whole row."""
    trainer = Trainer(recipe, 0, tmp_path)
    episodes = trainer.evaluate(6, temperature=1.0)
    for episode in episodes:
        rows = token_rows(episode)
        assert [sorted(set(row.turns[row.sampled])) for row in rows] == [[0], [1], [2]]
        for row, turn in zip(rows, episode.transitions, strict=True):
            ids = torch.as_tensor(row.token_ids)[None]
            with torch.no_grad():
                logprobs = trainer.model.logits(trainer.model.hidden(ids)).log_softmax(-1)[0, :-1]
            computed = logprobs.gather(1, ids[0, 1:, None]).squeeze(1)[torch.as_tensor(row.sampled[1:])]
            torch.testing.assert_close(
                computed, torch.as_tensor(row.logprobs[row.sampled]).float(), rtol=1e-3, atol=1e-4
            )
            said = trainer.tokenizer.decode(row.token_ids[row.sampled].tolist())
            assert said == turn.action
    assert sampled_counts(episodes).tolist() == [
        int(np.count_nonzero(row.sampled)) for episode in episodes for row in token_rows(episode)
    ]


@pytest.mark.nightly
@pytest.mark.parametrize(("learning_rate", "updates", "learns"), [(3e-3, 20, True), (0.0, 5, False)])
def test_a_model_learns_behind_a_program(
    recipe: Recipe, tmp_path: Path, learning_rate: float, updates: int, learns: bool
) -> None:
    """Beyond a bar that a run with learning rate 0 misses, from the same beginning."""
    trainer = Trainer(replace(recipe, learning_rate=learning_rate, updates=updates), 0, tmp_path)
    trainer.train()
    returns = [line["mean_return"] for line in trainer.folder.metrics]
    assert returns[0] < 0.2
    assert (sum(returns[-5:]) / 5 > 0.35) is learns


RUN = """
import json
import sys
from pathlib import Path

import torch

import gem
from gem_rl.training.recipe import Recipe
from gem_rl.training.trainer import Trainer
from trainer_drivers.letter_hunt import LetterHunt

torch.set_num_threads(1)
gem.register("test:LetterHunt-v0", LetterHunt)
Trainer(Recipe.from_dict(json.loads(sys.argv[1])), 0, Path(sys.argv[2])).train()
"""


@pytest.mark.nightly
def test_a_trainer_that_was_killed_asks_for_no_finished_episode_again(recipe: Recipe, tmp_path: Path) -> None:
    """It is killed in each update, with some episodes finished and programs running; programs of unfinished episodes
    begin again, and are answered as before. Weights, generators, curve and rows are those of an undisturbed run.
    """
    recipe = replace(recipe, updates=2, episodes=12, programs=3, keep_turns=True)
    whole = Trainer(recipe, 0, tmp_path / "whole")
    whole.train()
    folder = tmp_path / "killed"

    def played(update: int) -> int:
        """Return how many episodes of an update are on disk; their seeds go on from those of the update before."""
        path = folder / "played.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return sum(json.loads(line)["seed"] // 12 == update for line in lines if line.endswith(b"}\n"))

    for update, finished in enumerate((4, 7)):
        command = [sys.executable, "-c", RUN, json.dumps(recipe.to_dict()), str(folder)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        with subprocess.Popen(command, env=environment) as process:
            while process.poll() is None:
                if played(update) >= finished:
                    process.kill()
                os.sched_yield()
        assert process.returncode == -signal.SIGKILL
    kept = played(1)
    assert 7 <= kept < 12
    with Asked() as asked:
        Trainer(recipe, 0, folder).train()
    assert asked.turns == 3 * (12 - kept)
    ends = [end_of(one) for one in (folder, tmp_path / "whole")]
    assert ends[0]["bytes"] == ends[1]["bytes"]
    assert ends[0]["metrics"] == ends[1]["metrics"]
    episodes = [list(read_trajectories(one / "episodes.jsonl")) for one in (folder, tmp_path / "whole")]
    assert len(episodes[0]) == len(episodes[1]) > 0
    for one, other in zip(*episodes, strict=True):
        for row, expected in zip(token_rows(one), token_rows(other), strict=True):
            assert row.token_ids.tobytes() == expected.token_ids.tobytes()
            assert row.logprobs.tobytes() == expected.logprobs.tobytes()


def test_a_recipe_says_what_a_program_needs() -> None:
    """A chat template, and no values of states."""
    with pytest.raises(ArgumentError, match="needs a published model"):
        Recipe({"game:Sudoku-v0": 1.0}, harness="command:x")
    with pytest.raises(ArgumentError, match="ppo needs the values of states"):
        Recipe({"game:Sudoku-v0": 1.0}, harness="command:x", model="m", algorithm="ppo")
