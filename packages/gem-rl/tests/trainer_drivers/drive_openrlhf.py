"""Whole episodes of the file for OpenRLHF in the package's own executor, with a scripted engine."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tiny_chat import tiny_tokenizer

import gem

tokenizer = tiny_tokenizer()
# As openrlhf/trainer/ray/vllm_engine.py loads it.
spec = importlib.util.spec_from_file_location("agent_module", Path(sys.argv[1]) / "openrlhf_agent.py")
assert spec is not None
assert spec.loader is not None
agent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(agent)
agent.tokenizer = lambda: tokenizer


class Engine:
    """Guesses one number after the other, and reports it as vLLM does: the text without the token that ended it."""

    def __init__(self) -> None:
        self.log: list[tuple[list[int], list[int]]] = []

    async def generate(self, prompt: list[int], params: Any, **fields: Any) -> Any:
        text = f"\\boxed{{{len(self.log) + 1}}}"
        ids = tokenizer.encode(text + "<|im_end|>", add_special_tokens=False)
        self.log.append((list(prompt), ids))
        logprobs = [{token: SimpleNamespace(logprob=-0.5)} for token in ids]
        output = SimpleNamespace(token_ids=ids, text=text, finish_reason="stop", logprobs=logprobs)
        return SimpleNamespace(outputs=[output])


found = []
for row in agent.rows("game:GuessTheNumber-v0-easy", 3):
    engine = Engine()
    params = SimpleNamespace(max_tokens=64, logprobs=1)
    result = asyncio.run(agent.AgentExecutor().execute(row["prompt"], row["label"], params, 4096, tokenizer, engine))
    ids = result["observation_tokens"]
    assert [ids[start:end] for start, end in result["action_ranges"]] == [sampled for _, sampled in engine.log]
    assert [ids[:start] for start, _ in result["action_ranges"]] == [prompt for prompt, _ in engine.log]
    text = tokenizer.decode(ids)
    assert text.startswith(f"<|im_start|>user\n{row['prompt']}<|im_end|>\n<|im_start|>assistant\n")
    assert "<|im_end|><|im_end|>" not in text
    assert text.count("<|im_start|>user") == text.count("<|im_start|>assistant") == len(engine.log)
    figures = {name: float(value) for name, value in result["extra_logs"].items()}
    found.append({"reward": float(result["reward"]), "scores": float(result["scores"]), **figures})


async def group(env_id: str, max_length: int, size: int = 3) -> list[dict[str, Any]]:
    """Play a group as OpenRLHF's engine does."""
    executor = agent.AgentExecutor()
    label = json.dumps({"env_id": env_id, "seed": 0})
    params = SimpleNamespace(max_tokens=64, logprobs=1)
    plays = (executor.execute("Begin.", label, params, max_length, tokenizer, Engine()) for _ in range(size))
    return list(await asyncio.gather(*plays))


(part,) = asyncio.run(group("game:GuessTheNumber-v0-easy", 600, size=1))
assert part["reward"] == part["scores"]
assert len(part["action_ranges"]) == part["extra_logs"]["turns"] < 10


class Gone(gem.Env[str, str]):
    """Cannot begin."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        raise OSError("the disk is full")

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        raise AssertionError("it never began")


gem.register("test:Gone-v0", Gone)
for lost in asyncio.run(group("test:Gone-v0", 4096)):
    assert (lost["reward"], lost["scores"]) == (0.0, 0.0)
    ((start, end),) = lost["action_ranges"]
    assert end - start == 1
    assert len(lost["observation_tokens"]) == len(lost["rollout_log_probs"]) == end
print(json.dumps(found))
