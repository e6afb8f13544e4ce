"""The files of examples/trainers whose trainers need a GPU, against stand-ins for what they import.

A stand-in has no more than the names, fields and calls that the published sources have; the docstring of each file says
which. The trainers that run without a GPU are in ``test_trainer_packages.py`` and ``test_trl.py``.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from sampled_episodes import TURNS, PieceTokenizer, environments
from test_token_books import TEMPLATES

import gem
from gem_rl.adapters import rows_of_tasks

EXAMPLES = Path(__file__).parents[3] / "examples" / "trainers"
ENV = "test:Talk-v0"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not part of the package")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Offers the environments."""
    with environments():
        yield


@pytest.fixture
def tokenizer() -> PieceTokenizer:
    """Return a tokenizer whose ids do not survive their text."""
    return PieceTokenizer(TEMPLATES["growing"])


def load(monkeypatch: pytest.MonkeyPatch, name: str, modules: dict[str, dict[str, Any]]) -> Any:
    """Return a file of examples as a module, with stand-ins for what it imports."""
    for path, names in modules.items():
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            parent = ".".join(parts[:count])
            if parent not in sys.modules or count == len(parts):
                module = ModuleType(parent)
                module.__path__ = []  # type: ignore[attr-defined]
                monkeypatch.setitem(sys.modules, parent, module)
        vars(sys.modules[path]).update(names)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


class LetterModel:
    """Says ``ab`` letter by letter, which the tokenizer would write as one piece, and logs what it was asked."""

    def __init__(self, tokenizer: PieceTokenizer) -> None:
        self.answer = [tokenizer.encode(letter, add_special_tokens=False)[0] for letter in "ab"] + [tokenizer.end]
        assert tokenizer.encode("ab", add_special_tokens=False) != self.answer[:2]
        self.asked: list[list[int]] = []

    def __call__(self, prompt: list[int]) -> list[int]:
        self.asked.append(list(prompt))
        return list(self.answer)


def sampled(ids: list[int], mask: list[int]) -> list[int]:
    return [token for token, ours in zip(ids, mask, strict=True) if ours]


# verl 0.9.1: verl/experimental/agent_loop/agent_loop.py


@dataclass
class AgentLoopMetrics:
    generate_sequences: float = 0.0


@dataclass
class AgentLoopOutput:
    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    metrics: AgentLoopMetrics
    response_logprobs: list[float] | None = None
    reward_score: float | None = None
    num_turns: int = 0
    extra_fields: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize("logprobs", [True, False])
def test_verl_gets_one_masked_sequence(
    monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer, logprobs: bool
) -> None:
    """Its server is asked with one request id in all turns, and the score is the sum of rewards."""
    model = LetterModel(tokenizer)
    requests: set[str] = set()

    class Server:
        async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
            requests.add(request_id)
            assert sampling_params == {"temperature": 1.0}
            ids = model(prompt_ids)
            return SimpleNamespace(
                token_ids=ids, log_probs=[-0.5] * len(ids) if logprobs else None, stop_reason="completed"
            )

    names = {
        "AgentLoopBase": object,
        "AgentLoopMetrics": AgentLoopMetrics,
        "AgentLoopOutput": AgentLoopOutput,
        "register": lambda name: lambda cls: cls,
    }
    module = load(monkeypatch, "verl_agent_loop", {"verl.experimental.agent_loop.agent_loop": names})
    loop = module.GemAgentLoop()
    loop.rollout_config = SimpleNamespace(prompt_length=1000, response_length=2000)
    loop.tokenizer, loop.apply_chat_template_kwargs, loop.server_manager = tokenizer, {}, Server()
    row = {**rows_of_tasks(ENV, 1, seed=3)[0], "raw_prompt": [], "agent_name": "gem", "index": 0}
    output = asyncio.run(loop.run({"temperature": 1.0}, **row))
    assert len(requests) == 1
    assert output.num_turns == 2 * TURNS
    assert sampled(output.response_ids, output.response_mask) == model.answer * TURNS
    assert (output.prompt_ids + output.response_ids)[: len(model.asked[-1])] == model.asked[-1]
    assert (output.response_logprobs is not None) == logprobs
    assert output.reward_score == pytest.approx(sum(output.extra_fields["turn_scores"]))
    loop.rollout_config = SimpleNamespace(prompt_length=5, response_length=5)
    with pytest.raises(RuntimeError, match="fills the 10 tokens"):
        asyncio.run(loop.run({"temperature": 1.0}, **row))


# RL2, commit 9161ede: RL2/datasets/rl.py, RL2/utils/communication.py


@dataclass
class Sample:
    class Status(Enum):
        """How far a sample is."""

        RUNNING = "running"
        ABORTED = "aborted"
        DONE = "done"

    sample: dict[str, Any] = field(default_factory=dict)
    state_text: str = ""
    action_text: str = ""
    state_dicts: list[dict[str, list[Any]]] = field(default_factory=list)
    turn: int = 0
    metrics: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    status: Status = Status.RUNNING


def test_rl2_gets_sequences_and_plays_an_aborted_episode_anew(
    monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer
) -> None:
    """The router aborts one request in the second turn; the sample is finished by the next call."""
    model = LetterModel(tokenizer)
    calls: list[dict[str, Any]] = []

    async def async_request(url: str, endpoint: str, *, json: dict[str, Any]) -> dict[str, Any]:
        calls.append(json)
        assert (url, endpoint) == ("http://router", "generate")
        assert json["sampling_params"] == {"max_new_tokens": 8, "no_stop_trim": True}
        ids = model(json["input_ids"])
        reason = "abort" if len(calls) == 2 else "stop"
        entries = [[-0.25, token, None] for token in ids]
        return {"text": "", "meta_info": {"output_token_logprobs": entries, "finish_reason": {"type": reason}}}

    module = load(
        monkeypatch,
        "rl2_env",
        {
            "omegaconf": {"DictConfig": dict, "OmegaConf": SimpleNamespace(to_container=dict)},
            "RL2.datasets": {"Sample": Sample},
            "RL2.utils.communication": {"async_request": async_request},
        },
    )
    sample = Sample(rows_of_tasks(ENV, 1)[0])
    config = SimpleNamespace(sampling_params={"max_new_tokens": 8})
    asyncio.run(module.generate(config, tokenizer, "http://router", sample))
    assert (sample.status, sample.state_dicts) == (Sample.Status.ABORTED, [])
    model.asked.clear()
    for _ in range(2):  # a finished sample is left alone
        asyncio.run(module.generate(config, tokenizer, "http://router", sample))
    assert sample.status == Sample.Status.DONE
    (found,) = sample.state_dicts
    assert len({len(values) for values in found.values()}) == 1
    assert sampled(found["states"], found["action_mask"]) == model.answer * TURNS
    assert sampled(found["actions"], found["action_mask"]) == model.answer * TURNS
    assert sampled(found["logps"], found["action_mask"]) == [-0.25] * (3 * TURNS)
    assert found["states"][: len(model.asked[-1])] == model.asked[-1]
    assert sum(found["rewards"]) == pytest.approx(sample.metrics["rewards"][0])
    assert sample.metrics["turns"] == [sample.turn] == [TURNS]


# Oat, commit c1a074c: oat/algorithms/ppo_multiturn.py, oat/types.py


@dataclass
class Transition:
    obs: str
    action: str
    rewards: float
    done: bool
    prompt: str
    prompt_ids: list[int]
    response: str
    response_ids: list[int]
    response_logprobs: list[float]
    response_is_truncated: bool
    action_is_formatted: bool
    loss_mask: bool = True
    info: dict[str, Any] | None = None


def test_oat_gets_turns_as_transitions(monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer) -> None:
    """As many as its learner takes, from seeds that go on, with the tokens of prompt and answer."""
    model = LetterModel(tokenizer)

    class PPOMultiTurnActor:
        def init(self, actor_id: int, save_path: str) -> None:
            self.tokenizer = tokenizer
            self.sampling_params = SimpleNamespace(n=8, logprobs=1)

        def generate(self, prompts: list[list[int]], params: Any) -> list[Any]:
            assert params.n == 1
            found = []
            for prompt in prompts:
                ids = model(prompt)
                logprobs = [{token: SimpleNamespace(logprob=-0.5)} for token in ids]
                answer = SimpleNamespace(token_ids=tuple(ids), logprobs=logprobs, finish_reason="stop")
                found.append(SimpleNamespace(prompt_token_ids=prompt, outputs=[answer]))
            return found

    @dataclass
    class PPOArgs:
        prompt_max_length: int = 500
        generate_max_length: int = 500
        rollout_batch_size_per_device: int = 3

    module = load(
        monkeypatch,
        "oat_actor",
        {
            "launchpad": {},
            "oat.algorithms.ppo": {"PPOArgs": PPOArgs},
            "oat.algorithms.ppo_multiturn": {"PPOMultiTurnActor": PPOMultiTurnActor, "PPOMultiTurnLearner": object},
            "oat.args": {"default_args_validation": None, "get_default_args": None},
            "oat.interface": {"get_program": None},
            "oat.types": {"Transition": Transition},
        },
    )
    actor = module.GemActor()
    actor.args = module.GemArgs(env_id=ENV, env_seed=7)
    actor.init(2, "")
    assert actor.sampling_params.n == 8
    firsts = set()
    for _ in range(2):
        episodes, figures = actor.collect_experience()
        assert [len(episode) for episode in episodes] == [TURNS] * 3
        for episode in episodes:
            firsts.add(episode[0].obs)
            assert [turn.done for turn in episode] == [False] * (TURNS - 1) + [True]
            for turn in episode:
                assert turn.prompt_ids in model.asked
                assert turn.response_ids == model.answer
                assert turn.response_logprobs == [-0.5] * 3
                assert set(turn.info) == {"actor/turns"}  # Oat averages what is in it
        assert figures["actor/success"] == 1.0
    assert len(firsts) == 6, "each call has new seeds"


# ROLL, commit 8eb27cc: roll/pipeline/agentic/env_manager/traj_env_manager.py


def test_roll_plays_an_episode_by_its_own_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its manager makes the environment by keyword, resets it by a seed, and joins each info with its record."""
    pytest.importorskip("gem_envs_games")
    manager = "roll.pipeline.agentic.env_manager.traj_env_manager"
    load(monkeypatch, "roll_env", {manager: {"TrajEnvManager": object}})
    try:
        config = {"env": "game:GuessTheNumber-v0-easy", "seed": 5}
        env = gem.make(env_id="gem_text", **config)
        for seed in (11, 12):
            observation, info = env.reset(seed=seed)
            history = [{"observation": observation, "actions_left": 10, "messages": None, **info}]
            assert history[0]["messages"] is None
            guess, terminated = 0, False
            while not terminated:
                guess += 1
                observation, reward, terminated, _, info = env.step(action=f"\\boxed{{{guess}}}<|im_end|>")
                history[-1].update(reward=reward, **info)
                history.append({"observation": observation, "messages": None})
            played = history[:-1]
            assert all(item["metrics"]["malformed"] == 0.0 for item in played)
            assert set(played[-1]["metrics"]) <= set(played[-1]["metrics_agg_mode"])
            assert played[-1]["metrics"]["success"] == float(played[-1]["reward"] == 1.0)
            assert "success" not in played[0]["metrics"] or len(played) == 1
        env.close()
    finally:
        gem.registry.unregister("gem_text")
