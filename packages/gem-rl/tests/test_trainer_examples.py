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

import numpy as np
import pytest
from sampled_episodes import TURNS, PieceTokenizer, Talk, environments
from test_token_books import TEMPLATES

import gem
from gem.errors import ArgumentError
from gem_rl.adapters import rows_of_tasks

EXAMPLES = Path(__file__).parents[3] / "examples" / "trainers"
ENV = "test:Talk-v0"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not part of the package")


class Breaks(Talk):
    """Fails in the second turn."""

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.turn == 1:
            raise OSError("the disk is full")
        return super().step(action)


class Unread(Talk):
    """Cannot say whether the last answer is right."""

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, _, over, truncated, info = super().step(action)
        return observation, 0.0, over, truncated, {"grader_fault": "no gold"} if over else info


class Gone(Talk):
    """Cannot begin."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        raise OSError("the disk is full")


class Flaky(Talk):
    """Two of its three episodes go well, with returns of 1 and 2."""

    made = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        Flaky.made += 1
        self.number = (Flaky.made - 1) % 3
        return super().reset(seed=seed)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.number == 0:
            raise OSError("the disk is full")
        observation, _, over, truncated, info = super().step(action)
        return observation, float(self.number * over), over, truncated, info


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Offers the environments."""
    monkeypatch.setattr(Flaky, "made", 0)
    made = {"test:Breaks-v0": Breaks, "test:Unread-v0": Unread, "test:Gone-v0": Gone, "test:Flaky-v0": Flaky}
    with environments():
        for name, cls in made.items():
            gem.register(name, cls)
        try:
            yield
        finally:
            for name in made:
                gem.registry.unregister(name)


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
        self.tokenizer = tokenizer
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
    routed_experts: Any = None
    reward_score: float | None = None
    num_turns: int = 0
    extra_fields: dict[str, Any] = field(default_factory=dict)


class AgentLoopBase:
    def __init__(self, trainer_config: Any, server_manager: Any, tokenizer: Any) -> None:
        self.rollout_config = trainer_config.config.actor_rollout_ref.rollout
        self.server_manager, self.tokenizer = server_manager, tokenizer
        self.apply_chat_template_kwargs: dict[str, Any] = {}


class VerlServer:
    """Samples with new weights in each turn, and notes its requests."""

    def __init__(self, model: LetterModel, logprobs: bool = True) -> None:
        self.model, self.logprobs = model, logprobs
        self.requests: set[str] = set()

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        self.requests.add(request_id)
        assert sampling_params == {"temperature": 1.0}
        ids = self.model(prompt_ids)
        version = len(self.model.asked)
        return SimpleNamespace(
            token_ids=ids,
            log_probs=[-0.5] * len(ids) if self.logprobs else None,
            stop_reason="completed",
            routed_experts=None,
            extra_fields={"global_steps": version, "min_global_steps": version, "max_global_steps": version},
        )


class Config(SimpleNamespace):
    """A configuration, as omegaconf has it."""

    def get(self, name: str, default: Any) -> Any:
        return getattr(self, name, default)


def verl_loop(
    monkeypatch: pytest.MonkeyPatch, server: VerlServer, *, prompt: int = 1000, response: int = 2000, **trainer: Any
) -> Any:
    """Return the loop of verl's example."""
    names = {
        "AgentLoopBase": AgentLoopBase,
        "AgentLoopMetrics": AgentLoopMetrics,
        "AgentLoopOutput": AgentLoopOutput,
        "register": lambda name: lambda cls: cls,
    }
    module = load(monkeypatch, "verl_agent_loop", {"verl.experimental.agent_loop.agent_loop": names})
    rollout = Config(prompt_length=prompt, response_length=response)
    config = Config(trainer=Config(**trainer), actor_rollout_ref=Config(rollout=rollout))
    return module.GemAgentLoop(
        trainer_config=Config(config=config), server_manager=server, tokenizer=server.model.tokenizer
    )


def verl_row(env_id: str = ENV) -> dict[str, Any]:
    """Return what verl passes of a row of its data set."""
    return {**rows_of_tasks(env_id, 1, seed=3)[0], "raw_prompt": [], "agent_name": "gem", "index": 0}


@pytest.mark.parametrize("logprobs", [True, False])
def test_verl_gets_one_masked_sequence(
    monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer, logprobs: bool
) -> None:
    """Its server is asked with one request id in all turns, and the score is the sum of rewards."""
    server = VerlServer(LetterModel(tokenizer), logprobs)
    loop = verl_loop(monkeypatch, server)
    (output,) = asyncio.run(loop.run({"temperature": 1.0}, **verl_row()))
    assert len(server.requests) == 1
    assert output.num_turns == 2 * TURNS
    assert sampled(output.response_ids, output.response_mask) == server.model.answer * TURNS
    assert (output.prompt_ids + output.response_ids)[: len(server.model.asked[-1])] == server.model.asked[-1]
    assert (output.response_logprobs is not None) == logprobs
    assert output.reward_score == pytest.approx(sum(output.extra_fields["turn_scores"]))
    # trainer_base.py makes an array of integers of them, and reckons the staleness from both.
    assert (output.extra_fields["min_global_steps"], output.extra_fields["max_global_steps"]) == (1, TURNS)


def test_verl_caps_prompts_and_responses(monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer) -> None:
    """The model sees no more of the first prompt than prompt_length, and no more turns than response_length holds."""
    server = VerlServer(LetterModel(tokenizer))
    loop = verl_loop(monkeypatch, server, prompt=5, response=20)
    (output,) = asyncio.run(loop.run({"temperature": 1.0}, **verl_row()))
    assert len(server.model.asked[0]) == 5
    assert output.prompt_ids == server.model.asked[0]
    assert 3 < len(output.response_ids) == len(output.response_mask) <= 20
    assert (output.prompt_ids + output.response_ids)[: len(server.model.asked[-1])] == server.model.asked[-1]
    assert all(len(asked) < 25 for asked in server.model.asked)


@pytest.mark.parametrize("env_id", ["test:Breaks-v0", "test:Unread-v0"])
def test_verl_leaves_out_an_episode_without_an_outcome(
    monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer, env_id: str
) -> None:
    """It gives no output, neither an error, which loses others, nor a score; the trainer that needs one is refused."""
    server = VerlServer(LetterModel(tokenizer))
    assert asyncio.run(verl_loop(monkeypatch, server).run({"temperature": 1.0}, **verl_row(env_id))) == []
    with pytest.raises(ValueError, match=r"set trainer\.use_v1=true"):
        verl_loop(monkeypatch, server, use_v1=False)


# RL2, commit 9161ede: RL2/datasets/rl.py, RL2/utils/communication.py


class CallableTokenizer(PieceTokenizer):
    """With the names that RL2 and OpenRLHF use."""

    eos_token = "<end>"

    @property
    def eos_token_id(self) -> int:
        return self.end

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": self.encode(text, add_special_tokens=add_special_tokens)}


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


class Router:
    """Samples, and notes what it was asked; one request is aborted."""

    def __init__(self, model: LetterModel, aborts: int = 0) -> None:
        self.model, self.aborts = model, aborts

    async def __call__(self, url: str, endpoint: str, *, json: dict[str, Any]) -> dict[str, Any]:
        assert (url, endpoint) == ("http://router", "generate")
        assert json["sampling_params"] == {"max_new_tokens": 8, "no_stop_trim": True}
        ids = self.model(json["input_ids"])
        reason = "abort" if len(self.model.asked) == self.aborts else "stop"
        entries = [[-0.25, token, None] for token in ids]
        return {"text": "", "meta_info": {"output_token_logprobs": entries, "finish_reason": {"type": reason}}}


def rl2(monkeypatch: pytest.MonkeyPatch, router: Router) -> Any:
    """Return what plays samples, one after the other or a group at once, as RL2's SampleGroup does."""
    module = load(
        monkeypatch,
        "rl2_env",
        {
            "omegaconf": {"DictConfig": dict, "OmegaConf": SimpleNamespace(to_container=dict)},
            "RL2.datasets": {"Sample": Sample},
            "RL2.utils.communication": {"async_request": router},
        },
    )
    config = SimpleNamespace(sampling_params={"max_new_tokens": 8})

    async def group(samples: list[Sample]) -> None:
        tokenizer = router.model.tokenizer
        await asyncio.gather(*(module.generate(config, tokenizer, "http://router", sample) for sample in samples))

    return lambda *samples: asyncio.run(group([*samples]))


def test_rl2_gets_sequences_and_plays_an_aborted_episode_anew(
    monkeypatch: pytest.MonkeyPatch, tokenizer: PieceTokenizer
) -> None:
    """The router aborts one request in the second turn; the sample is finished by the next call."""
    model = LetterModel(tokenizer)
    play = rl2(monkeypatch, Router(model, aborts=2))
    sample = Sample(rows_of_tasks(ENV, 1)[0])
    play(sample)
    assert (sample.status, sample.state_dicts) == (Sample.Status.ABORTED, [])
    model.asked[:] = [[], []]
    for _ in range(2):  # a finished sample is left alone
        play(sample)
    assert sample.status == Sample.Status.DONE
    (found,) = sample.state_dicts
    assert len({len(values) for values in found.values()}) == 1
    assert sampled(found["states"], found["action_mask"]) == model.answer * TURNS
    assert sampled(found["actions"], found["action_mask"]) == model.answer * TURNS
    assert sampled(found["logps"], found["action_mask"]) == [-0.25] * (3 * TURNS)
    assert found["states"][: len(model.asked[-1])] == model.asked[-1]
    assert sum(found["rewards"]) == pytest.approx(sample.metrics["rewards"][0])
    assert sample.metrics["turns"] == [sample.turn] == [TURNS]


def advantages(samples: list[Sample]) -> list[float]:
    """Return what RL2's algorithms.py makes of a group: the sums over action tokens, less their mean."""
    returns = [sum(sampled(one["rewards"], one["action_mask"])) for sample in samples for one in sample.state_dicts]
    assert all(sum(one["action_mask"]) for sample in samples for one in sample.state_dicts)
    return [value - sum(returns) / len(returns) for value in returns]


def test_rl2_masks_an_episode_without_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its advantage is 0 and the others have those of a group without it; so has a sample that was done before."""
    play = rl2(monkeypatch, Router(LetterModel(CallableTokenizer(TEMPLATES["growing"]))))
    samples = [Sample(rows_of_tasks(ENV, 1)[0] | {"env_id": "test:Flaky-v0"}) for _ in range(3)]
    play(*samples)
    assert sorted(advantages(samples)) == [-0.5, 0.0, 0.5]
    masked = [sample.metrics["masked"] == [True] for sample in samples].index(True)
    assert sum(samples[masked].state_dicts[0]["action_mask"]) == 1
    assert [len(sample.metrics["rewards"]) for sample in samples] == [1, 1, 1]
    again = Sample(samples[masked].sample)
    samples[masked] = again
    play(*samples)  # as RL2 calls it again after an abort; this time, the episode fails again
    assert sorted(advantages(samples)) == [-0.5, 0.0, 0.5]
    lost = [Sample(rows_of_tasks("test:Breaks-v0", 1)[0]) for _ in range(2)]
    play(*lost)
    assert advantages(lost) == [0.0, 0.0]


# OpenRLHF 0.11.2: openrlhf/utils/agent.py


class AgentInstanceBase:
    """One episode."""


class MultiTurnAgentExecutor:
    def __init__(self, agent_instance_cls: Any) -> None:
        self.agent_instance_cls = agent_instance_cls

    async def execute(
        self, prompt: str, label: str, sampling_params: Any, max_length: int, hf_tokenizer: Any, llm_engine: Any
    ) -> dict[str, Any]:
        instance = self.agent_instance_cls()
        text = (await instance.reset({"observation": prompt, "label": label}))["observation"]
        ids = hf_tokenizer(text=text, add_special_tokens=False)["input_ids"]
        ranges, reward, score, logs = [], 0.0, 0.0, {}
        while max_length > len(ids):
            said = (await llm_engine(ids))[: max_length - len(ids)]
            ranges.append((len(ids), len(ids) + len(said)))
            action = hf_tokenizer.decode(said, skip_special_tokens=False).removesuffix("<end>")
            step = await instance.step({"observation_text": text, "action_text": action, "label": label})
            reward += step["rewards"].item()
            score, logs = step.get("scores", reward), step.get("extra_logs", {})
            text += action + step["environment_feedback"]
            ids = ids + said + hf_tokenizer(text=step["environment_feedback"], add_special_tokens=False)["input_ids"]
            if step["done"]:
                break
        return {
            "prompt": prompt,
            "label": label,
            "reward": reward,
            "scores": score,
            "observation_tokens": ids,
            "action_ranges": ranges,
            "rollout_log_probs": None,
            "extra_logs": logs,
        }


def openrlhf(monkeypatch: pytest.MonkeyPatch, env_id: str, size: int, max_length: int = 10000) -> Any:
    """Return what a group of OpenRLHF's engine gives, and the environments that are still open."""
    names = {"AgentInstanceBase": AgentInstanceBase, "MultiTurnAgentExecutor": MultiTurnAgentExecutor}
    torch = {"tensor": lambda value: SimpleNamespace(item=lambda: value, value=value)}
    module = load(monkeypatch, "openrlhf_agent", {"torch": torch, "openrlhf.utils.agent": names})
    tokenizer = CallableTokenizer(TEMPLATES["growing"])
    monkeypatch.setattr(module, "tokenizer", lambda: tokenizer)
    model = LetterModel(tokenizer)
    opened: list[Any] = []
    monkeypatch.setattr(Talk, "close", lambda env: opened.remove(env.number_of_opening), raising=False)
    made = Talk.__init__

    def count(env: Any, *arguments: Any) -> None:
        made(env, *arguments)
        env.number_of_opening = object()
        opened.append(env.number_of_opening)

    monkeypatch.setattr(Talk, "__init__", count)

    async def engine(ids: list[int]) -> list[int]:
        await asyncio.sleep(0)
        return model(ids)

    async def group() -> list[Any]:
        executor = module.AgentExecutor()
        label = f'{{"env_id": "{env_id}", "seed": 3}}'
        params = SimpleNamespace(logprobs=None)
        return await asyncio.gather(
            *(executor.execute("Begin.", label, params, max_length, tokenizer, llm_engine=engine) for _ in range(size))
        )

    return asyncio.run(group()), opened


def test_openrlhf_gets_the_return_wherever_an_episode_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its token budget is used up in the middle; the environment is closed then, too."""
    (whole,), _ = openrlhf(monkeypatch, ENV, 1)
    budget = whole["action_ranges"][-2][1]
    (part,), opened = openrlhf(monkeypatch, ENV, 1, budget)
    for result, turns in ((whole, TURNS), (part, TURNS - 1)):
        figures = {name: value.value for name, value in result["extra_logs"].items()}
        assert figures["turns"] == len(result["action_ranges"]) == turns
        assert result["reward"] == result["scores"] == figures["return"] > 1
    assert opened == []


def test_openrlhf_masks_an_episode_without_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """One token of it stays, with the mean of the others; an environment that cannot begin is no exception."""
    results, opened = openrlhf(monkeypatch, "test:Flaky-v0", 3)
    assert sorted(result["reward"] for result in results) == [1.0, 1.5, 2.0]
    (masked,) = [result for result in results if result["reward"] == 1.5]
    assert masked["scores"] == 1.5
    ((start, end),) = masked["action_ranges"]
    assert end - start == 1
    assert opened == []
    with pytest.raises(gem.errors.UnknownEnvironmentError):
        openrlhf(monkeypatch, "test:NoSuch-v0", 1)
    results, _ = openrlhf(monkeypatch, "test:Gone-v0", 2)
    for result in results:
        assert (result["reward"], result["scores"]) == (0.0, 0.0)
        assert result["action_ranges"] == [(len(result["observation_tokens"]) - 1, len(result["observation_tokens"]))]


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


@pytest.mark.parametrize(
    ("truncated", "info", "success"),
    [
        (False, {"correct": True}, 1.0),
        (True, {}, 0.0),
        (False, {}, None),
        (True, {"error": "the server is gone"}, None),
        (False, {"user_fault": "it said nonsense", "success": False}, None),
    ],
)
def test_roll_gets_no_success_that_is_not_known(
    monkeypatch: pytest.MonkeyPatch, truncated: bool, info: dict[str, Any], success: float | None
) -> None:
    """A limit is no success; an end without a word and a fault say nothing."""

    class Ending(gem.Env[str, str]):
        def reset(self, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
            super().reset(seed=seed)
            return "begin", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return "end", 0.0, not truncated, truncated, info

    manager = "roll.pipeline.agentic.env_manager.traj_env_manager"
    load(monkeypatch, "roll_env", {manager: {"TrajEnvManager": object}})
    gem.register("test:Ending-v0", Ending)
    try:
        env = gem.make(env_id="gem_text", env="test:Ending-v0")
        env.reset(seed=1)
        metrics = env.step("x")[4]["metrics"]
        assert metrics.get("success") == success
        env.close()
    finally:
        gem.registry.unregister("gem_text")
        gem.registry.unregister("test:Ending-v0")


class RollManager:
    """What ``TrajEnvManager.formulate_rollouts`` does to the keys that the example reads."""

    def formulate_rollouts(self, rollout_cache: Any) -> Any:
        rollout_cache.history.pop(-1)
        score = sum(turn["reward"] for turn in rollout_cache.history)
        scores = np.zeros((1, 6), dtype=np.float32)
        scores[0, 3] = score
        batch = {"response_mask": np.array([[False, True, False, True, False, False]]), "scores": scores}
        return SimpleNamespace(batch=batch, non_tensor_batch={"episode_scores": np.array([score], dtype=object)})


def roll_rollout(module: Any, env_id: str) -> Any:
    """Play an episode by the calls of ROLL's manager, and return its row."""
    env = gem.make(env_id="gem_text", env=env_id)
    observation, info = env.reset(seed=1)
    history, terminated = [{"observation": observation, "messages": None, **info}], False
    while not terminated:
        observation, reward, terminated, _, info = env.step(action="ab<|im_end|>")
        history[-1].update(reward=reward, **info)
        history.append({"observation": observation, "messages": None})
    env.close()
    return module.GemEnvManager().formulate_rollouts(SimpleNamespace(history=history))


@pytest.mark.parametrize("fault", ["test:Breaks-v0", "test:Unread-v0", "test:Gone-v0"])
def test_roll_trains_on_no_episode_without_an_outcome(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """No token of it counts, its score is the mean of its group's others, and a group of such alone is left out."""
    manager = "roll.pipeline.agentic.env_manager.traj_env_manager"
    module = load(monkeypatch, "roll_env", {manager: {"TrajEnvManager": RollManager}})
    try:
        good, better = roll_rollout(module, ENV), roll_rollout(module, ENV)
        better.batch["scores"][0, 3] = better.non_tensor_batch["episode_scores"][0] = 4.0
        unknown = roll_rollout(module, fault)
        group_filter = module.GemGroupFilter(None, None, "train")
        assert group_filter.filter(0, 0, [good, unknown, None, better]) is False
        mean = (good.batch["scores"].sum() + 4.0) / 2
        assert unknown.batch["scores"].sum() == unknown.non_tensor_batch["episode_scores"][0] == mean
        assert not unknown.batch["response_mask"].any()
        assert good.batch["response_mask"].sum() == better.batch["response_mask"].sum() == 2
        assert better.batch["scores"].sum() == 4.0
        alone = roll_rollout(module, fault)
        assert group_filter.filter(0, 1, [alone, alone]) is True
        assert group_filter.filter(0, 2, [None, None]) is False
    finally:
        gem.registry.unregister("gem_text")


def test_roll_is_stopped_by_a_setting_that_is_wrong_for_every_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no outage, after which the next episode may go well."""

    class Misused(Talk):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
            raise ArgumentError("options must be a dict")

    manager = "roll.pipeline.agentic.env_manager.traj_env_manager"
    load(monkeypatch, "roll_env", {manager: {"TrajEnvManager": RollManager}})
    gem.register("test:Misused-v0", Misused)
    try:
        env = gem.make(env_id="gem_text", env="test:Misused-v0")
        with pytest.raises(ArgumentError, match="options must be a dict"):
            env.reset(seed=1)
        env.close()
    finally:
        gem.registry.unregister("gem_text")
        gem.registry.unregister("test:Misused-v0")
