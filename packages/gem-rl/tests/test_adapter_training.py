"""A pretrained model in the trainer: adapters, supervised steps on reference answers, and prompts computed once."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
transformers = pytest.importorskip("transformers", reason="gem-rl[models] is not installed")
pytest.importorskip("peft", reason="gem-rl[lora] is not installed")

from click.testing import CliRunner  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from stopped_run import resumed_run  # noqa: E402
from trainer_drivers.letter_hunt import LetterHunt  # noqa: E402
from trainer_drivers.tiny_chat import save_model, tiny_tokenizer  # noqa: E402

import gem  # noqa: E402
from gem.errors import ArgumentError, MissingPluginError  # noqa: E402
from gem_rl import rloo, token_rows  # noqa: E402
from gem_rl.cli.train import train_command  # noqa: E402
from gem_rl.training.episode_rows import TextRow  # noqa: E402
from gem_rl.training.huggingface import HuggingFaceModel  # noqa: E402
from gem_rl.training.losses import text_loss  # noqa: E402
from gem_rl.training.prompt_sharing import by_prompt, pack  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rl.training.weights import using_weights  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # of peft for transformers

HUNT, UNKNOWN = "test:LetterHunt-v0", "test:UnknownHunt-v0"


@pytest.fixture(autouse=True)
def prepared() -> Iterator[None]:
    """Offers an environment with a reference policy and one without, and lets torch use one thread."""
    for name in (HUNT, UNKNOWN):
        gem.register(name, LetterHunt)
    found = replace(gem.spec(HUNT), reference_policy="trainer_drivers.letter_hunt:Speller")
    gem.registry._registered[HUNT] = found
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        for name in (HUNT, UNKNOWN):
            gem.registry.unregister(name)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a random model of two layers that reads characters.

    Its embeddings are large, or no state that adapters can reach would make one token likely.
    """
    return save_model(tmp_path_factory.mktemp("model é"), tiny_tokenizer(), 16, spread=0.4)


@pytest.fixture(scope="module")
def small(model: str) -> Recipe:
    """Groups of four, three episodes of the reference policy to learn from, and two updates."""
    return Recipe(
        {HUNT: 1.0},
        model=model,
        lora=4,
        algorithm="rloo",
        group=4,
        updates=2,
        episodes=16,
        epochs=1,
        minibatches=2,
        warm_steps=0,
        sft_steps=6,
        sft_learning_rate=1e-2,
        sft_tasks=3,
        max_new_tokens=4,
        evaluated=4,
    )


def adapters(trainer: Trainer) -> dict[str, Any]:
    """Return the weights that learn."""
    return {name: one for name, one in trainer.model.named_parameters() if one.requires_grad}


def test_the_command_trains_adapters_and_nothing_else(model: str, small: Recipe, tmp_path: Path) -> None:
    """In bfloat16; what is in ``adapter/`` gives the published model the states of the trained one."""
    import peft

    settings = {**small.to_dict(), "model": "", "lora": 0, "sft_steps": 0}
    config, out = tmp_path / "mine.json.toml", tmp_path / "run é"
    config.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in settings.items()), encoding="utf-8")
    options = ["--config", str(config), "--model", model, "--lora", "4", "--bf16", "--sft-steps", "6"]
    result = CliRunner().invoke(train_command, [*options, "--sft-tasks", "3", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["updates"] == 2
    evaluations = (out / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    assert [len(line["achieved"]) for line in map(json.loads, evaluations)] == [4, 4]
    trained = Trainer(replace(small, precision="bfloat16"), 0, out)
    published = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.bfloat16)
    weights = dict(published.named_parameters())
    kept = [name for name in dict(trained.model.model.named_parameters()) if "lora" not in name]
    assert len(kept) == len(weights)
    for name in kept:
        found = trained.model.model.get_parameter(name)
        assert torch.equal(found, weights[name.replace(".base_layer", "")]), name
        assert found.dtype == torch.bfloat16
    assert any(line["within_group_spread"] for line in trained.folder.metrics)
    changed = [name for name, one in adapters(trained).items() if "lora_B" in name and bool(one.any())]  # 0 at first
    assert len(changed) == 2 * 7  # all linear layers
    ids = torch.tensor([trained.tokenizer.encode("say b please")])
    loaded = peft.PeftModel.from_pretrained(published, out / "adapter", autocast_adapter_dtype=True).eval()
    with torch.inference_mode():
        torch.testing.assert_close(loaded(ids).logits, trained.model.model(ids).logits)


def _toml(value: Any) -> str:
    """Return a setting in TOML, whose inline tables are not JSON's."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


@pytest.mark.nightly
@pytest.mark.parametrize(("sign", "learns"), [(1, True), (-1, False)])
def test_adapters_learn_from_rewards(
    small: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: int, learns: bool
) -> None:
    """After a start on reference answers, beyond a bar that advantages of the wrong sign miss."""
    monkeypatch.setattr("gem_rl.training.update_advantages.rloo", lambda batch: sign * rloo(batch))
    supervised = replace(small, sft_steps=30, sft_tasks=16, sft_learning_rate=2e-2)
    trainer = Trainer(replace(supervised, updates=16, episodes=32, learning_rate=2e-2), 0, tmp_path)
    trainer.train()
    returns = [line["mean_return"] for line in trainer.folder.metrics]
    assert 0 < returns[0] < 0.12
    assert (sum(returns[-5:]) / 5 > 0.15) is learns


def test_the_reference_of_adapters_is_the_model_without_them(small: Recipe, tmp_path: Path) -> None:
    """Bit for bit, if nothing came before the first update; other adapters say something else."""
    trainer = Trainer(replace(small, sft_steps=0, kl_weight=0.1), 0, tmp_path)
    for one in adapters(trainer).values():
        torch.nn.init.normal_(one)
    ids = torch.tensor([trainer.tokenizer.encode("say b please")])
    with torch.inference_mode(), using_weights(trainer.model, trainer.reference):
        reference = trainer.model.hidden(ids)
    with torch.inference_mode(), trainer.model.adapted.disable_adapter():
        assert torch.equal(trainer.model.hidden(ids), reference)
    with torch.inference_mode():
        assert not torch.equal(trainer.model.hidden(ids), reference)


@pytest.mark.nightly
def test_a_stopped_run_resumes_to_the_same_weights(small: Recipe, tmp_path: Path) -> None:
    """Adapters and value head with PPO, after supervised steps that are not taken again."""
    recipe = replace(small, algorithm="ppo")
    whole = Trainer(recipe, 0, tmp_path / "whole")
    begun = {name: one.detach().clone() for name, one in adapters(whole).items()}
    whole.train()

    resumed = resumed_run(recipe, tmp_path / "stopped")
    assert resumed.update == 1
    resumed.train()
    for name, one in adapters(whole).items():
        assert torch.equal(one, adapters(resumed)[name]), name
    assert any(not torch.equal(one, begun[name]) for name, one in adapters(whole).items())


@pytest.mark.nightly
def test_supervised_steps_raise_the_probability_of_reference_answers(small: Recipe, tmp_path: Path) -> None:
    """Of twelve steps; the loss is that of the agent's tokens, as the probabilities of each prefix have it."""
    losses = []
    for steps in (0, 12):
        trainer = Trainer(replace(small, sft_steps=steps), 0, tmp_path / str(steps))
        row = trainer.tokenizer.conversation().prompt("say b please")
        said = [*trainer.tokenizer.encode("b"), trainer.tokenizer.end]
        text = TextRow(row + said, [False] * len(row) + [True] * len(said))
        losses.append(text_loss(trainer.model, [text], actions=True).item())
        expected = 0.0
        for token in said:
            logits = trainer.model.logits(trainer.model.hidden(torch.tensor([row])))[0, -1]
            expected -= logits.log_softmax(-1)[token].item()
            row = [*row, token]
        assert losses[-1] == pytest.approx(expected, rel=1e-4)
    assert losses[1] < 0.8 * losses[0]


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(3, 90), min_size=1, max_size=6)), min_size=1, max_size=9
)
"""Each row's prompt, by its number, and what follows it."""
PROMPTS = ([5, 6, 7, 8], [5, 6, 7, 9], [40] * 7)


@pytest.fixture(scope="module")
def whole(model: str) -> Any:
    """The model with all of its weights."""
    return HuggingFaceModel(model, 512)


@given(rows=ROWS)
def test_rows_that_share_a_prompt_have_the_states_and_gradients_of_single_rows(whole: Any, rows: Any) -> None:
    """Whatever the order and the number of prompts."""
    texts = sorted(([*PROMPTS[prompt], *rest], len(PROMPTS[prompt])) for prompt, rest in rows)
    longest = max(len(ids) for ids, _ in texts)
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row, _ in texts])
    sizes = [size for _, size in texts]
    found = []
    for prompts in (sizes, None):
        states = whole.hidden(ids, prompts)
        kept = torch.cat([states[place, : len(row)] for place, (row, _) in enumerate(texts)])
        whole.zero_grad()
        kept.pow(2).mean().backward()
        found.append((kept.detach(), whole.model.model.layers[0].self_attn.k_proj.weight.grad.clone()))
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)
    neighbours = {(size, tuple(row[:size])) for row, size in texts}
    packed = pack(ids, sizes)
    assert (packed is None) == (len(neighbours) == len(texts))
    assert packed is None or len(packed.ids) == len(neighbours)


def test_a_model_whose_layers_see_a_window_computes_each_row_alone(model: str, tmp_path: Path) -> None:
    """As places in a packed sequence are not those of its rows."""
    folder = shutil.copytree(model, tmp_path / "window")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    window = {"use_sliding_window": True, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}
    (folder / "config.json").write_text(json.dumps({**config, **window}), encoding="utf-8")
    found = HuggingFaceModel(str(folder), 512)
    ids = torch.tensor([[*PROMPTS[0], 9, 9, last] for last in (10, 11, 12)])
    torch.testing.assert_close(found.hidden(ids, [4, 4, 4]), found.hidden(ids))
    assert not found.shares_prompts


class _Row(tuple[int, ...]):
    """A row whose prompt is its first token."""

    @property
    def prompt(self) -> tuple[int, ...]:
        return self[:1]


@given(
    rows=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=12).map(_Row), max_size=30), most=st.integers(1, 40)
)
def test_every_row_comes_once_beside_those_of_its_prompt(rows: list[_Row], most: int) -> None:
    """And no more rows come together than fit."""
    chunks = list(by_prompt(rows, most))
    assert sorted(row for chunk in chunks for row in chunk) == sorted(rows)
    for chunk in chunks:
        prompts = [row.prompt for row in chunk]
        assert sum(one != other for one, other in itertools.pairwise(prompts)) == len(set(prompts)) - 1
        assert len(chunk) == 1 or len(set(prompts)) + sum(len(row) - 1 for row in chunk) <= most


def test_groups_are_sampled_with_the_probabilities_of_whole_rows(small: Recipe, tmp_path: Path) -> None:
    """Although their first prompt is computed once; and the groups do not all say the same."""
    trainer = Trainer(replace(small, sft_steps=0, lora=0, max_new_tokens=6, temperature=3.0), 0, tmp_path)
    requests = trainer._requests(8, 0)
    assert len({request.key.seed for request in requests}) == 2
    episodes = trainer.play(requests)
    for episode in episodes:
        (row,) = token_rows(episode)
        ids = torch.as_tensor(row.token_ids)[None]
        logprobs = trainer.model.logits(trainer.model.hidden(ids)).log_softmax(-1)[0, :-1]
        computed = logprobs.gather(1, ids[0, 1:, None]).squeeze(1)[torch.as_tensor(row.sampled[1:])]
        torch.testing.assert_close(
            computed.detach(), torch.as_tensor(row.logprobs[row.sampled]).float(), rtol=1e-3, atol=1e-4
        )
    assert len({episode.transitions[0].action for episode in episodes[:4]}) > 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "", "sft_steps": 0}, "adapters .* need a pretrained model: .* --model"),
        ({"model": "./nowhere"}, "there is no folder './nowhere'"),
        ({"lora": 0, "precision": "bfloat16"}, "set lora"),
        ({"precision": "float16"}, "precision must be .*'float16'"),
        ({"sft_tasks": 0}, "sft_tasks must be an integer ≥ 1, got 0"),
        ({"context": 20}, "no action of the reference policy fits into context = 20"),
        ({"environments": {HUNT: 1.0, UNKNOWN: 1.0}}, "test:UnknownHunt-v0 declares no reference policy"),
    ],
)
def test_what_cannot_be_trained_is_said(small: Recipe, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """With the value and the remedy."""
    with pytest.raises(ArgumentError, match=message):
        Trainer(replace(small, **changes), 0, tmp_path)


def test_a_missing_library_is_named_with_the_line_that_installs_it(
    small: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where adapters are wanted."""
    monkeypatch.setitem(sys.modules, "peft", None)
    Trainer(replace(small, lora=0, sft_steps=0), 0, tmp_path / "whole")
    with pytest.raises(MissingPluginError, match=r"peft; run: pip install 'gem-rl\[lora\]'"):
        Trainer(small, 0, tmp_path)
