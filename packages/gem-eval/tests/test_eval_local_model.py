"""A real model: in this process, and behind ``transformers serve``. The model is made here, with random weights.

These tests run where torch and transformers are installed, which CI does not do: they take 200 MB and minutes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from real_models import serving

import gem
from gem.errors import ArgumentError, MissingPluginError, NotSupportedError
from gem.tools import ToolEnvWrapper, tool
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
from gem_rollout import RolloutEngine, plan_episodes

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None,
    reason='torch and transformers are not installed: pip install "gem-eval[transformers]"',
)
needs_grammars = pytest.mark.skipif(
    importlib.util.find_spec("llguidance") is None,
    reason='llguidance is not installed: pip install "gem-eval[transformers]"',
)
GAME = "game:GuessTheNumber-v0-easy"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@tool
def double(number: int) -> str:
    """Double a number.

    Args:
        number: any.
    """
    return str(2 * number)


def make_model(path: Path, template: str, lessons: dict[str, str] | None = None) -> None:
    """Save a Qwen 2 of 100,000 parameters, and a tokenizer for bytes.

    Args:
        path: the folder.
        template: the chat template.
        lessons: prompt → answer; the model is trained until it gives just these.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(["guess the number from one to ten"] * 20, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template
    )
    tokenizer.save_pretrained(path)
    torch.manual_seed(0)
    config = Qwen2Config(
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
    network = Qwen2ForCausalLM(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    texts = [(tokenizer.encode(prompt), tokenizer.encode(answer)) for prompt, answer in (lessons or {}).items()]
    pairs = [(torch.tensor([one + two]), torch.tensor([[-100] * len(one) + two])) for one, two in texts]
    loss = float("inf") if pairs else 0.0
    while loss > 0.01:
        total = sum(network(input_ids=ids, labels=labels).loss for ids, labels in pairs)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        loss = float(total.detach())
    network.save_pretrained(path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with random weights."""
    path = tmp_path_factory.mktemp("model") / "tiny"
    make_model(path, TEMPLATE)
    return path


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that answers the user with a tool call, and a tool with a guess; it sees the role."""
    path = tmp_path_factory.mktemp("model") / "taught"
    prompt = "<|im_start|>{}<|im_end|>\n<|im_start|>assistant\n"
    call = '<tool_call>\n{"name": "double", "arguments": {"number": 4}}\n</tool_call><|im_end|>'
    lessons = {prompt.format("user"): call, prompt.format("tool"): "\\boxed{8}<|im_end|>"}
    # Jinja drops a newline at the end of a template.
    make_model(path, prompt.strip().format("{{ messages[-1].role }}") + "{{ '\\n' }}", lessons)
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
    seed, whole = next((n, one) for n in range(20) if (one := once(replace(seeded, seed=n))).finish_reason == "length")
    assert len(whole.token_ids or ()) == 16
    letter = next(letter for letter in whole.text[2:] if letter != "\ufffd")
    stopped = once(replace(seeded, seed=seed, stop=[letter]))
    assert stopped.text == whole.text.partition(letter)[0]
    assert stopped.finish_reason == "stop"
    assert stopped.token_ids == (whole.token_ids or [])[: len(stopped.token_ids or ())]


@needs_torch
@pytest.mark.slow(reason="loads torch")
def test_the_library_has_nothing_to_say(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No bar while the model loads, and no argument that transformers will drop: the output is the command's alone."""
    from transformers.utils import logging

    assert logging.is_progress_bar_enabled()
    assert answers(open_client(f"transformers:{folder}"), [said("x")], Sampling(max_tokens=3))
    assert logging.is_progress_bar_enabled()
    assert capfd.readouterr() == ("", "")


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
    """A full context ends the episode; unknown settings and damaged folders are refused."""
    with pytest.raises(ContextOverflow, match="512"):
        answers(open_client(f"transformers:{folder}"), [said("long " * 600)], Sampling())
    with pytest.raises(ArgumentError, match="min_p"):
        answers(open_client(f"transformers:{folder}"), [said("x")], Sampling(extra={"min_p": 0.1}))
    with pytest.raises(ModelError, match="cannot be loaded"):
        answers(open_client(f"transformers:{tmp_path}"), [said("x")], Sampling())


VERDICT = {
    "type": "object",
    "properties": {"met": {"type": "boolean"}, "better": {"enum": ["first", "second", "tie"]}},
    "required": ["met", "better"],
    "additionalProperties": False,
}


def by_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the response format of a schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


@needs_torch
@needs_grammars
@pytest.mark.slow(reason="loads torch")
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_structured_output_of_a_model_that_knows_nothing_has_its_schema(folder: Path, temperature: float) -> None:
    """Each of several answers in one batch, to its end token; other answers of the batch are as free as before."""
    sampling = Sampling(temperature=temperature, max_tokens=120, seed=3, logprobs=True)
    free, *bound = asyncio.run(mixed(folder, sampling))
    (alone,) = answers(open_client(f"transformers:{folder}"), [said("case 0")], sampling)
    assert free.token_ids == alone.token_ids
    for completion in bound:
        verdict = json.loads(completion.text)
        assert list(verdict) == ["met", "better"]
        assert isinstance(verdict["met"], bool)
        assert verdict["better"] in ("first", "second", "tie")
        assert completion.finish_reason == "stop"
        assert min(completion.logprobs or ()) < -1.0, (
            "the model's own log-probabilities, which the schema does not change"
        )


async def mixed(folder: Path, sampling: Sampling) -> list[Any]:
    """Return a free answer and three by a schema, sampled side by side."""
    client = open_client(f"transformers:{folder}")
    forms = [None, *[by_schema(VERDICT)] * 3]
    try:
        return await asyncio.gather(
            *(client.chat(said(f"case {n}"), sampling=sampling, response_format=form) for n, form in enumerate(forms))
        )
    finally:
        await client.close()


@needs_torch
@needs_grammars
@pytest.mark.slow(reason="loads torch")
@pytest.mark.parametrize(
    ("form", "said_so"),
    [
        ({"type": "grammar"}, "json_schema or a json_object"),
        ({"type": "json_schema"}, "json_schema or a json_object"),
        (by_schema({"type": "strange"}), "by this schema"),
        (by_schema({"type": "string", "pattern": "(?=a)b"}), "by this schema"),
    ],
)
def test_a_form_that_no_grammar_has_is_refused(folder: Path, form: dict[str, Any], said_so: str) -> None:
    """With the reason; a judge then asks in words."""
    with pytest.raises(NotSupportedError, match=said_so):
        answers(open_client(f"transformers:{folder}"), [said("x")], Sampling(), response_format=form)


@needs_torch
@pytest.mark.slow(reason="loads torch")
def test_structured_output_without_its_library_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that installs it is in the message."""
    monkeypatch.setitem(sys.modules, "llguidance", None)
    with pytest.raises(NotSupportedError, match=r"llguidance; run: pip install .*gem-eval\[transformers\]"):
        answers(open_client(f"transformers:{folder}"), [said("x")], Sampling(), response_format=by_schema(VERDICT))


def test_a_folder_that_does_not_exist_is_refused_at_once() -> None:
    """Before anything is loaded."""
    with pytest.raises(ArgumentError, match="no folder"):
        open_client("transformers:/no/such/folder")


def test_without_the_extra_the_client_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a run begins; the command that installs it is in the message."""
    monkeypatch.setattr("gem_eval.clients.transformers_client.find_spec", lambda name: None)
    with pytest.raises(MissingPluginError, match=r"pip install .*gem-eval\[transformers\]"):
        open_client("transformers:some-model")


@needs_torch
@pytest.mark.nightly
def test_a_real_model_behind_a_real_server(folder: Path, reserve_port: Callable[[], int]) -> None:
    """Episodes are played through ``transformers serve``, and what it does not give is named.

    The model is that of the folder in ``GEM_TEST_MODEL``, or the one made here.
    """
    name = os.environ.get("GEM_TEST_MODEL", str(folder))

    async def run(url: str) -> tuple[list[gem.Trajectory], dict[str, object]]:
        async with EndpointClient(url, name, concurrency=2, token_ids=True) as client:
            sampling = Sampling(temperature=0.0, max_tokens=24, logprobs=True)
            engine = RolloutEngine(
                plan_episodes([GAME], 2), lambda env: ModelPolicy(client, sampling), wrappers="messages", concurrency=2
            )
            async with engine:
                return [trajectory async for trajectory in engine], client.capabilities.to_dict()

    with serving(name, reserve_port()) as url:
        played, capabilities = asyncio.run(run(url))
    for trajectory in played:
        assert trajectory.failure is None, trajectory.failure
        assert all((turn.usage or {})["completion_tokens"] for turn in trajectory.transitions)
        assert all(turn.finish_reason in ("stop", "length") for turn in trajectory.transitions)
    assert "return_token_ids" in str(capabilities["dropped"])
    notes = json.dumps(capabilities["notes"])
    assert "token ids are asked for" in notes
    assert "log-probabilities are asked for" in notes


@needs_torch
@pytest.mark.nightly
def test_tool_calls_of_a_real_model_behind_a_real_server(taught: Path, reserve_port: Callable[[], int]) -> None:
    """The server reads the model's call, the tool answers it, and the model answers the tool."""

    async def run(url: str) -> list[gem.Trajectory]:
        async with EndpointClient(url, str(taught), retries=0) as client:
            wrappers = [lambda env: ToolEnvWrapper(env, [double], instructions=False), "messages"]
            engine = RolloutEngine(
                plan_episodes([GAME], 1),
                lambda env: ModelPolicy(client, Sampling(temperature=0.0, max_tokens=96), tools="native", env=env),
                wrappers=wrappers,
            )
            async with engine:
                return [trajectory async for trajectory in engine]

    with serving(str(taught), reserve_port()) as url:
        (played,) = asyncio.run(run(url))
    assert played.failure is None, played.failure
    first, second = played.transitions[:2]
    (call,) = first.action["tool_calls"]
    assert call["function"]["name"] == "double"
    assert json.loads(call["function"]["arguments"]) == {"number": 4}
    assert first.finish_reason == "tool_calls"
    assert second.observation[-1] == {"role": "tool", "tool_call_id": call["id"], "content": "8"}
    assert second.action == "\\boxed{8}"


@needs_torch
@pytest.mark.slow(reason="loads torch and trains a model")
def test_tool_calls_of_a_local_model(taught: Path) -> None:
    """Without a server, calls are read from the text; a template that leaves the tools out is warned of."""
    client = open_client(f"transformers:{taught}")
    schema = double.to_openai()
    with pytest.warns(UserWarning, match="no place for tools"):
        (completion,) = answers(client, [said("x")], Sampling(temperature=0.0, max_tokens=96), tools=[schema])
    assert completion.tool_calls[0]["function"] == {"name": "double", "arguments": '{"number":4}'}
    assert completion.message["content"] is None
    assert completion.finish_reason == "stop"
