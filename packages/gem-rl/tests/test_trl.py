"""TRL trains on GEM environments through the file in examples/trainers."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    trl = pytest.importorskip("trl", reason="trl is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    from datasets import Dataset

from trainer_drivers.tiny_chat import tiny_tokenizer

import gem
from gem.core import Env
from gem_rl.adapters import BatchPlayer, rows_of_tasks

EXAMPLE = Path(__file__).parents[3] / "examples" / "trainers" / "trl_grpo.py"
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # the libraries warn of each other
    pytest.mark.skipif(not EXAMPLE.is_file(), reason="the examples are not part of the package"),
]


class Letters(Env[str, str]):
    """Asks for a letter, twice; pays a half for each answer that has it."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return self._ask(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reward = 0.5 * (self.letter in action)
        self.turn += 1
        return self._ask(), reward, self.turn == 2, False, {}

    def _ask(self) -> str:
        self.letter = self.rng.choice("abc")
        return f"say {self.letter}"


@pytest.fixture(scope="module")
def example() -> Any:
    """Return the file of examples as a module."""
    spec = importlib.util.spec_from_file_location("trl_grpo", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Offers the environment."""
    gem.register("test:Letters-v0", Letters)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        gem.registry.unregister("test:Letters-v0")


def tiny_model(tokenizer: Any) -> Any:
    """Return a random model of 0.1 million parameters, the same each time."""
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return transformers.Qwen3ForCausalLM(config)


def settings(folder: Path, **fields: Any) -> Any:
    """Return the arguments of a trainer on one CPU core that writes nothing."""
    fixed = {
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "beta": 0.0,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
        "seed": 0,
    }
    return trl.GRPOConfig(str(folder), **fixed, **fields)


def trained(example: Any, folder: Path, learning_rate: float, steps: int) -> list[float]:
    """Return the mean reward of each step of a run."""
    tokenizer = tiny_tokenizer()
    trainer = trl.GRPOTrainer(
        tiny_model(tokenizer),
        reward_funcs=example.episode_return,
        args=settings(
            folder,
            learning_rate=learning_rate,
            max_steps=steps,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=6,
        ),
        train_dataset=Dataset.from_list(rows_of_tasks("test:Letters-v0", tasks=64)),
        processing_class=tokenizer,
        rollout_func=example.rollout_func(BatchPlayer(tokenizer)),
    )
    trainer.train()
    return [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]


STEPS = 40
BAR = 0.5
"""A random answer of six characters has the letter in one of twenty cases or so."""


def test_the_reward_of_a_random_model_rises(example: Any, tmp_path: Path) -> None:
    """Two turns an episode, through the rollout engine and back as one masked row."""
    rewards = trained(example, tmp_path, 3e-3, STEPS)
    assert sum(rewards[:3]) / 3 < 0.2
    assert sum(rewards[-5:]) / 5 > BAR


def test_a_run_that_does_not_learn_fails_the_bar(example: Any, tmp_path: Path) -> None:
    """The bar is no property of the environment."""
    rewards = trained(example, tmp_path, 0.0, 10)
    assert max(rewards) < BAR


class Scripted:
    """Samples fixed letters for each prompt, and writes down what it was asked."""

    def __init__(self, tokenizer: Any) -> None:
        self.processing_class = self.tokenizer = tokenizer
        self.asked: list[list[list[int]]] = []

    def _generate_single_turn(self, prompt_ids: Any, images: Any, fields: Any, num_generations: int) -> Any:
        assert (images, fields, num_generations) == (None, {}, 1)
        self.asked.append(prompt_ids)
        answers = [self.tokenizer.encode("abc"[: 1 + place % 3] + "<|im_end|>") for place in range(len(prompt_ids))]
        return answers, [[-0.5 - place for place in range(len(ids))] for ids in answers]


def test_a_batch_comes_back_in_its_order_with_the_environment_masked(example: Any) -> None:
    """Rows are repeated as TRL repeats them, and the mask leaves exactly what was sampled."""
    tokenizer = tiny_tokenizer()
    model = Scripted(tokenizer)
    prompts = [row["prompt"] for row in rows_of_tasks("test:Letters-v0", tasks=2) for _ in range(3)]
    found = example.rollout_func(BatchPlayer(tokenizer))(prompts, model)
    assert [len(prompts) for prompts in model.asked] == [6, 6]
    for place, (prompt, row, mask, logprobs, paid) in enumerate(
        zip(
            found["prompt_ids"],
            found["completion_ids"],
            found["env_mask"],
            found["logprobs"],
            found["episode_return"],
            strict=True,
        )
    ):
        said = "abc"[: 1 + place % 3]
        ours = [token for token, flag in zip(row, mask, strict=True) if flag]
        assert tokenizer.decode(ours) == 2 * f"{said}<|im_end|>"
        assert [value for value, flag in zip(logprobs, mask, strict=True) if flag] == 2 * [
            -0.5 - step for step in range(len(said) + 1)
        ]
        assert prompt == model.asked[0][place]
        assert (prompt + row)[: -len(ours) // 2] == model.asked[1][place]
        assert tokenizer.decode(prompt).startswith(f"<|im_start|>user\n{prompts[place][0]['content']}<|im_end|>")
        asked = [line[4] for line in tokenizer.decode(prompt + row).splitlines() if line.startswith("say ")]
        assert paid == sum(0.5 * (letter in said) for letter in asked)


def test_a_history_that_was_rewritten_is_refused(example: Any) -> None:
    """TRL has one row for an episode, and no single row holds what was sampled here."""
    tokenizer = tiny_tokenizer()
    player = BatchPlayer(tokenizer, wrappers=())
    prompts = [row["prompt"] for row in rows_of_tasks("test:Letters-v0", tasks=1)]
    with pytest.raises(gem.errors.TrajectoryError, match="makes 2 rows"):
        example.rollout_func(player)(prompts, Scripted(tokenizer))


def test_a_turn_is_a_call_of_a_tool(example: Any, tmp_path: Path) -> None:
    """TRL's own loop parses the calls of a scripted model, plays the environment and asks it for the reward."""
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer = tiny_tokenizer(template.read_text(encoding="utf-8"))
    call = '<tool_call>\n{"name": "play", "arguments": {"action": "abc"}}\n</tool_call><|im_end|>'
    script = [call, call, "Done.<|im_end|>"]
    calls: list[int] = []

    class Player(trl.GRPOTrainer):
        def _generate_single_turn(self, prompt_ids: Any, *arguments: Any, **fields: Any) -> Any:
            calls.append(len(prompt_ids))
            return [tokenizer.encode(script[len(calls) - 1]) for _ in prompt_ids], None

    trainer = Player(
        tiny_model(tokenizer),
        args=settings(
            tmp_path,
            learning_rate=0.0,
            max_steps=1,
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=400,
        ),
        train_dataset=Dataset.from_list(rows_of_tasks("test:Letters-v0", tasks=2)),
        processing_class=tokenizer,
        environment_factory=example.environment_factory("test:Letters-v0"),
    )
    trainer.train()
    (entry,) = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert calls == [4, 4, 4]
    assert entry["reward"] == 1.0
    assert entry["rewards/ToolEpisode/mean"] == 1.0
