"""Groups of the file for verl in its own worker of trainer V1, with its post-processing and its advantages."""

from __future__ import annotations

import asyncio
import json
import statistics
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from tiny_chat import tiny_tokenizer
from verl import DataProto
from verl.experimental.agent_loop import agent_loop
from verl.trainer.ppo.core_algos import AdvantageEstimator
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories

import gem
from gem_rl.adapters import TextEpisode, rows_of_tasks

FORGETS = (
    "{%- for message in messages %}{%- set said = message.content.split('</think>')[-1] if not loop.last else"
    " message.content %}{{- '<|im_start|>' + message.role + '\n' + said + '<|im_end|>\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}"
)
"""Leaves the reasoning out of earlier answers, as the template of Qwen 3 does."""
tokenizer = tiny_tokenizer(FORGETS)


class Server:
    """Guesses from a number on that is another one for each episode, and notes what it sampled."""

    def __init__(self) -> None:
        self.episodes: dict[str, list[tuple[list[int], list[int]]]] = {}

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        calls = self.episodes.setdefault(request_id, [])
        first = list(self.episodes).index(request_id) + 1
        text = f"<think>Perhaps.</think>\\boxed{{{first + len(calls)}}}<|im_end|>"
        ids = tokenizer.encode(text, add_special_tokens=False)
        calls.append((list(prompt_ids), ids))
        version = len(calls)
        return SimpleNamespace(
            token_ids=ids,
            log_probs=[-0.5] * len(ids),
            stop_reason="completed",
            routed_experts=None,
            extra_fields={"global_steps": version, "min_global_steps": version, "max_global_steps": version},
        )


class Queue:
    """Keeps what the worker puts into TransferQueue."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.statuses: list[str] = []

    async def async_kv_put(self, *, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.statuses.append(tag["status"])

    async def async_kv_batch_put(self, *, keys: list[str], fields: Any, tags: list[Any], partition_id: str) -> None:
        for place, key in enumerate(keys):
            row = {name: fields[name][place] for name in ("prompts", "responses", "response_mask", "rollout_log_probs")}
            self.rows[key] = {**row, "rm_scores": fields["rm_scores"][place], "tag": tags[place]}


def played(history: str, env_id: str, size: int) -> tuple[Queue, Server]:
    """Play a group as ``AgentLoopWorkerTQ`` does, without its constructor, which connects to other processes."""
    agent_loop._agent_loop_registry["gem"] = OmegaConf.create(
        {"_target_": "verl_agent_loop.GemAgentLoop", "history": history}
    )
    queue, server = Queue(), Server()
    agent_loop_tq.tq = queue
    cls = agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class.__mro__[1]
    worker = cls.__new__(cls)
    rollout = {"prompt_length": 2000, "response_length": 4000, "n": size, "val_kwargs": {"n": 1}}
    worker.config = OmegaConf.create(
        {"trainer": {"use_v1": True}, "actor_rollout_ref": {"rollout": rollout}, "data": {}}
    )
    worker.rollout_config = worker.config.actor_rollout_ref.rollout
    worker.tokenizer, worker.processor, worker.hf_model_type = tokenizer, None, None
    worker.llm_client, worker.tools, worker.dataset_cls = server, [], None
    worker.reward_loop_worker_handles, worker.distillation_enabled = None, False
    worker.mm_processor_kwargs = {}
    (row,) = rows_of_tasks(env_id, 1, seed=3)
    prompt = {**row, "uid": "group", "raw_prompt": row["prompt"], "agent_name": "gem", "global_steps": 7, "index": 0}
    trajectory = {"step": 7, "sample_index": 0, "rollout_n": 0, "validate": False}
    asyncio.run(worker._run_prompt(prompt, {"temperature": 1.0}, trajectory))
    return queue, server


def advantages_of(rows: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return what verl's GRPO makes of a group: a number for each sequence, the same for all that was sampled in it."""

    def padded(name: str) -> torch.Tensor:
        return torch.nn.utils.rnn.pad_sequence([row[name] for row in rows.values()], batch_first=True)

    batch = {"response_mask": padded("response_mask"), "token_level_rewards": padded("rm_scores")}
    uids = np.array(["group"] * len(rows), dtype=object)
    data = DataProto(batch=TensorDict(batch, batch_size=len(rows)), non_tensor_batch={"uid": uids})
    done = compute_advantage_for_multi_trajectories(data, list(rows), AdvantageEstimator.GRPO, config=None)
    found = {}
    for place, key in enumerate(rows):
        trained = done.batch["response_mask"][place].bool()
        (value,) = set(done.batch["advantages"][place][trained].tolist())
        assert not done.batch["advantages"][place][~trained].any()
        found[key] = value
    return found


def replayed(calls: list[tuple[list[int], list[int]]]) -> float:
    """Return what the environment pays for the answers of these calls."""
    episode = TextEpisode("game:GuessTheNumber-v0-easy")
    episode.begin(3)
    for _, ids in calls:
        episode.step(tokenizer.decode(ids, skip_special_tokens=True))
    episode.close()
    return episode.trajectory.episode_return


class Breaks(gem.Env[str, str]):
    """Fails in its second turn."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return "Go on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        if self.turn == 2:
            raise OSError("the disk is full")
        return "Go on.", 0.5, False, False, {}


gem.register("test:Breaks-v0", Breaks)
printed = []
for history in ("sampled", "template"):
    queue, server = played(history, "game:GuessTheNumber-v0-easy", 4)
    assert queue.statuses == ["running", "finished"]
    found = advantages_of(queue.rows)
    sessions: dict[int, list[str]] = {}
    for key in queue.rows:
        sessions.setdefault(int(key.split("_")[1]), []).append(key)
    returns = {}
    for session, keys in sessions.items():
        sampled: list[int] = []
        for key in keys:
            row = queue.rows[key]
            mask = row["response_mask"].bool()
            sampled += row["responses"][mask].tolist()
            assert set(row["rollout_log_probs"][mask].tolist()) == {-0.5}
        # Every sampled token once, and in its order.
        (calls,) = [
            calls for calls in server.episodes.values() if [token for _, ids in calls for token in ids] == sampled
        ]
        for key in keys:
            row = queue.rows[key]
            whole = row["prompts"].tolist() + row["responses"].tolist()
            assert any(whole[: len(prompt) + len(ids)] == prompt + ids for prompt, ids in calls)
            assert (row["tag"]["min_global_steps"], row["tag"]["max_global_steps"]) == (1, len(calls))
        assert len(keys) == (len(calls) if history == "template" else 1)
        (returns[session],) = {float(queue.rows[key]["rm_scores"].sum()) for key in keys}
        assert abs(returns[session] - replayed(calls)) < 1e-6
    mean, spread = statistics.fmean(returns.values()), statistics.stdev(returns.values())
    assert spread > 0
    for session, keys in sessions.items():
        for key in keys:
            assert abs(found[key] - (returns[session] - mean) / (spread + 1e-6)) < 1e-5
    printed.append({"history": history, "rows": len(queue.rows), "episodes": len(sessions)})
queue, _ = played("template", "test:Breaks-v0", 2)
assert (queue.rows, queue.statuses) == ({}, ["running", "finished"])
print(json.dumps(printed))
