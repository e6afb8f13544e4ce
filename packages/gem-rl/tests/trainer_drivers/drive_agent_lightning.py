"""Rollouts of the file for Agent Lightning: the package's manager, server, gateway and controller, a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import agent_lightning_agent
import fastapi
from agentlightning.client import AgentLightningAsyncClient
from agentlightning.controller.local_reconciler import LocalReconciler
from agentlightning.server.app import create_app
from agentlightning.verl.agl_rollout_manager import AglRolloutManager
from local_server import served
from omegaconf import OmegaConf

import gem
from gem_rl.adapters import rows_of_tasks

KEY = "the key"


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


class Agent(agent_lightning_agent.GemAgent):
    """The agent, in a process that knows the environment."""


model = fastapi.FastAPI()
asked: list[dict[str, Any]] = []


def token_ids(text: str) -> list[int]:
    return list(text.encode())


@model.post("/v1/chat/completions")
async def complete(body: dict[str, Any]) -> dict[str, Any]:
    """Guess one number after the other, with the ids and log-probabilities that vLLM reports."""
    asked.append(body)
    guesses = sum(message["role"] == "assistant" for message in body["messages"])
    text = f"\\boxed{{{guesses + 1}}}"
    ids = token_ids(text)
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
        "token_ids": ids,
        "logprobs": {"content": [{"token": chr(byte), "logprob": -0.5} for byte in ids]},
    }
    said = "".join(f"{message['role']}: {message['content']}\n" for message in body["messages"])
    prompt = token_ids(said + "assistant: ")
    return {
        "id": f"chat-{len(asked)}",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [choice],
        "prompt_token_ids": prompt,
        "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": len(prompt) + len(ids)},
    }


@contextlib.contextmanager
def controlled(url: str) -> Iterator[None]:
    """Run the local controller while the block runs."""
    config = OmegaConf.create(
        {
            "runner_type": "local",
            "agl_server": {"url": url, "key": KEY},
            "local_runner": {"maximum_size": 2, "poll_interval": 0.2},
        }
    )
    stop = threading.Event()

    async def control() -> None:
        async with AgentLightningAsyncClient(base_url=url, key=KEY) as api:
            reconciler = LocalReconciler(api=api, config=config)
            running = asyncio.create_task(reconciler.run())
            await asyncio.to_thread(stop.wait)
            reconciler.stop()
            await running

    thread = threading.Thread(target=asyncio.run, args=(control(),))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def main() -> None:
    rows = rows_of_tasks("game:GuessTheNumber-v0-easy", 3)
    batch = {name: [*(row[name] for row in rows)] for name in ("env_id", "seed")}
    batch["env_id"].append("test:Breaks-v0")
    batch["seed"].append(0)
    proxy = {"model_name": "served", "train": {"temperature": 1.0}, "val": {"temperature": 0.5}}
    with (
        served(create_app({"key": KEY, "default_proxy": proxy})) as url,
        served(model) as model_url,
        controlled(url),
        contextlib.redirect_stdout(sys.stderr),
    ):
        manager = AglRolloutManager(
            agl_base_url=url,
            agl_key=KEY,
            model="served",
            step=0,
            poll_interval_seconds=0.2,
            local_agent_class="drive_agent_lightning.Agent",
            local_env_map={"GEM_ENV_ID": "input.env_id", "GEM_SEED": "input.seed"},
        )
        manager.register_model([model_url + "/v1"])
        *done, lost = sorted(
            manager.enqueue_and_wait_until_completed(batch, is_train=True), key=lambda one: one.sample_idx_in_step
        )
    assert {body["model"] for body in asked} == {"served"}
    found = []
    for rollout in done:
        assert rollout.rollout_state == "succeeded", rollout.error_message
        assert rollout.final_reward is not None
        turns = rollout.triplets
        assert turns
        before: list[int] = []
        for number, turn in enumerate(turns, 1):
            prompt, answer = turn.prompt["token_ids"], turn.response["token_ids"]
            assert prompt[: len(before)] == before
            assert answer == token_ids(f"\\boxed{{{number}}}")
            assert turn.response["log_probs"] == [-0.5] * len(answer)
            before = prompt + answer
        shown = rows[rollout.sample_idx_in_step]["prompt"][-1]["content"]
        assert shown in bytes(turns[0].prompt["token_ids"]).decode()
        found.append({"return": rollout.final_reward, "turns": len(turns)})
    assert lost.rollout_state == "failed"
    assert (lost.final_reward, lost.triplets) == (None, [])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
