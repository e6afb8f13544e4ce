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
print(json.dumps(found))
