"""A real model: in this process, and behind ``transformers serve``. The model is made here, with random weights.

These tests run where torch and transformers are installed, which CI does not do: they take 200 MB and minutes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, MissingPluginError, NotSupportedError
from gem.rollout import RolloutEngine, plan_episodes
from gem_eval.clients import (
    Completion,
    ContextOverflow,
    EndpointClient,
    ModelClient,
    ModelError,
    ModelPolicy,
    Sampling,
    open_client,
)

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None,
    reason='torch and transformers are not installed: pip install "gem-eval[transformers]"',
)
GAME = "game:GuessTheNumber-v0-easy"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOL = {"type": "function", "function": {"name": "look", "description": "", "parameters": {"type": "object"}}}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Llama of 100,000 parameters and a tokenizer for bytes."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("model") / "tiny-llama"
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(["guess the number from one to ten"] * 20, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
    tokenizer.save_pretrained(path)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(path)
    return path


def answers(client: ModelClient, prompts: list[Any], sampling: Sampling, **options: Any) -> list[Completion]:
    """Return the answers to prompts asked at the same time, and close the client."""

    async def run() -> list[Completion]:
        try:
            return list(
                await asyncio.gather(*(client.chat(prompt, sampling=sampling, **options) for prompt in prompts))
            )
        finally:
            await client.close()

    return asyncio.run(run())


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


@needs_torch
@pytest.mark.slow(reason="loads torch")
def test_ids_and_log_probabilities_are_those_of_one_pass_over_the_whole_text(folder: Path) -> None:
    """Batched sampling with prompts of several lengths agrees with a single pass, token by token."""
    import torch
    from transformers import AutoModelForCausalLM

    sampling = Sampling(temperature=1.0, max_tokens=12, seed=5, logprobs=True, top_logprobs=2)
    prompts = [said("x" * count) for count in (1, 30, 7)]
    found = answers(open_client(f"transformers:{folder}"), prompts, sampling)
    network = AutoModelForCausalLM.from_pretrained(folder).eval()
    for completion in found:
        prompt, ids = completion.prompt_token_ids, completion.token_ids
        assert prompt is not None
        assert ids is not None
        with torch.inference_mode():
            scores = network(torch.tensor([[*prompt, *ids]])).logits[0].float().log_softmax(-1)
        expected = [float(scores[len(prompt) + place - 1, token]) for place, token in enumerate(ids)]
        assert completion.logprobs == pytest.approx(expected, abs=1e-4)
        assert completion.usage == {"prompt_tokens": len(prompt), "completion_tokens": len(ids)}
        assert completion.top_logprobs is not None
        assert [len(top) for top in completion.top_logprobs] == [2] * len(ids)
        assert all(
            top[0][1] >= lp - 1e-5 for top, lp in zip(completion.top_logprobs, completion.logprobs or [], strict=True)
        )


@needs_torch
@pytest.mark.slow(reason="loads torch")
def test_sampling_follows_its_settings(folder: Path) -> None:
    """Seeds repeat, temperature 0 takes the most probable, limits and stop texts end, top_k and top_p restrict."""

    def once(sampling: Sampling, client: ModelClient | None = None) -> Completion:
        return answers(client or open_client(f"transformers:{folder}"), [said("go")], sampling)[0]

    seeded = Sampling(temperature=1.0, max_tokens=16, seed=1)
    assert once(seeded).token_ids == once(seeded).token_ids
    assert once(seeded).token_ids != once(Sampling(temperature=1.0, max_tokens=16, seed=2)).token_ids
    greedy = once(Sampling(temperature=0.0, max_tokens=16))
    assert greedy.token_ids == once(Sampling(max_tokens=16)).token_ids
    for narrow in (Sampling(1.0, 1e-9, 16, seed=3), Sampling(1.0, max_tokens=16, seed=4, extra={"top_k": 1})):
        assert once(narrow).token_ids == greedy.token_ids
    assert greedy.finish_reason == "length"
    assert len(greedy.token_ids or ()) == 16
    letter = greedy.text[3]
    stopped = once(Sampling(temperature=0.0, max_tokens=16, stop=[letter]))
    assert stopped.text == greedy.text.partition(letter)[0]
    assert stopped.finish_reason == "stop"


@needs_torch
@pytest.mark.slow(reason="loads torch")
def test_episodes_share_batches_and_keep_their_tokens(folder: Path) -> None:
    """The engine plays with the local model, and each prompt continues the last one exactly."""

    async def run() -> list[gem.Trajectory]:
        client = open_client(f"transformers:{folder}", batch_size=4)
        sampling = Sampling(temperature=1.0, max_tokens=8, seed=0, logprobs=True)
        engine = RolloutEngine(
            plan_episodes([GAME], 6, group=2),
            lambda env: ModelPolicy(client, sampling, exact_tokens=True),
            wrappers="messages",
        )
        async with engine:
            played = [trajectory async for trajectory in engine]
        await client.close()
        return played

    played = asyncio.run(run())
    assert [trajectory.failure for trajectory in played] == [None] * 6
    for trajectory in played:
        before: list[int] = []
        for transition in trajectory.transitions:
            assert transition.prompt_token_ids is not None
            assert transition.prompt_token_ids[: len(before)] == before
            before = [*transition.prompt_token_ids, *(transition.token_ids or ())]
    pairs = [
        [t.transitions[0].token_ids for t in played if t.key.seed == seed] for seed in {t.key.seed for t in played}
    ]
    assert all(one != other for one, other in pairs)


@needs_torch
@pytest.mark.slow(reason="loads torch")
def test_what_a_local_model_cannot_do_is_said(folder: Path, tmp_path: Path) -> None:
    """A full context ends the episode; structured output, unknown settings and damaged folders are refused."""
    with pytest.raises(ContextOverflow, match="512"):
        answers(open_client(f"transformers:{folder}"), [said("long " * 600)], Sampling())
    with pytest.raises(NotSupportedError, match="structured"):
        answers(open_client(f"transformers:{folder}"), [said("x")], Sampling(), response_format={"type": "json_object"})
    with pytest.raises(ArgumentError, match="min_p"):
        answers(open_client(f"transformers:{folder}"), [said("x")], Sampling(extra={"min_p": 0.1}))
    with pytest.raises(ModelError, match="cannot be loaded"):
        answers(open_client(f"transformers:{tmp_path}"), [said("x")], Sampling())


def test_a_folder_that_does_not_exist_is_refused_at_once() -> None:
    """Before anything is loaded."""
    with pytest.raises(ArgumentError, match="no folder"):
        open_client("transformers:/no/such/folder")


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    """The command is in the message."""
    with pytest.raises(MissingPluginError, match=r"pip install .*gem-eval\[transformers\]"):
        answers(open_client("transformers:some-model"), [said("x")], Sampling())


@pytest.fixture
def served(folder: Path) -> Iterator[str]:
    """The address of ``transformers serve`` with the model of ``GEM_TEST_MODEL``, or with the one made here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("transformers")),
        "serve",
        os.environ.get("GEM_TEST_MODEL", str(folder)),
    ]
    server = subprocess.Popen(
        [*command, "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except (urllib.error.URLError, OSError):
                assert server.poll() is None, "transformers serve ended"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@needs_torch
@pytest.mark.nightly
def test_a_real_model_behind_a_real_server(served: str, folder: Path) -> None:
    """Episodes are played through ``transformers serve``; what it does not give is named; tools are accepted."""
    name = os.environ.get("GEM_TEST_MODEL", str(folder))

    async def run() -> tuple[list[gem.Trajectory], Completion, dict[str, object]]:
        async with EndpointClient(served, name, concurrency=2, token_ids=True) as client:
            sampling = Sampling(temperature=0.0, max_tokens=24, logprobs=True)
            engine = RolloutEngine(
                plan_episodes([GAME], 2), lambda env: ModelPolicy(client, sampling), wrappers="messages", concurrency=2
            )
            async with engine:
                played = [trajectory async for trajectory in engine]
            answer = await client.chat(said("Look around with the tool."), tools=[TOOL], sampling=sampling)
            return played, answer, client.capabilities.to_dict()

    played, answer, capabilities = asyncio.run(run())
    for trajectory in played:
        assert trajectory.failure is None, trajectory.failure
        assert all(transition.usage for transition in trajectory.transitions)
    assert answer.finish_reason in ("stop", "length", "tool_calls")
    assert "return_token_ids" in str(capabilities["dropped"])
    notes = json.dumps(capabilities["notes"])
    assert "token ids are asked for" in notes
    assert "log-probabilities are asked for" in notes
    print([transition.action for trajectory in played for transition in trajectory.transitions], answer, notes)
