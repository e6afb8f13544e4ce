"""Environments of GEM as a task of the published Inspect, with the mock model that it ships."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = r"""
import json, re, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
import gem
from gem.errors import ArgumentError
from gem_bridges.inspect_ai.outward import gem_env

GUESS = "game:GuessTheNumber-v0-easy"

def halve(messages, tools, choice, config):
    low, high = 1, 10
    for said, told in zip(messages[1::2], messages[2::2]):
        guess = int(re.search(r"\{(\d+)\}", said.text)[1])
        low, high = (low, guess - 1) if "lower than" in told.text else (guess + 1, high)
    return usage(rf"Between {low} and {high}: \boxed{{{(low + high) // 2}}}")

def silent(messages, tools, choice, config):
    return usage("I do not know.")

def usage(text):
    # With it, the model needs no tokenizer, which it would download.
    output = ModelOutput.from_content("mockllm", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

def run(policy, task):
    model = get_model("mockllm/model", custom_outputs=policy)
    (log,) = eval(task, model=model, log_dir=sys.argv[1], display="none")
    samples = log.samples or []
    return {
        "status": log.status,
        "ids": [sample.id for sample in samples],
        "values": [sample.scores["gem_return"].value for sample in samples if sample.scores],
        "infos": [sample.scores["gem_return"].metadata for sample in samples if sample.scores],
        "texts": [[message.text for message in sample.messages] for sample in samples],
        "mean": log.results.scores[0].metrics["mean"].value if log.results else None,
    }

def ours(seed, texts):
    env = gem.make(GUESS)
    shown, total, seen = env.reset(seed)[0], 0.0, []
    for said in texts[1::2]:
        seen += [shown, said]
        shown, reward, *_ = env.step(said)
        total += reward
    return total, seen == texts

result = {"wins": run(halve, gem_env(GUESS, episodes=3, first_seed=5))}
result["replayed"] = [ours(seed, texts) for seed, texts in zip(result["wins"]["ids"], result["wins"]["texts"])]
result["loses"] = run(silent, gem_env(GUESS, episodes=2))
result["cut"] = run(halve, gem_env(GUESS, episodes=1, first_seed=6, max_turns=1))
try:
    gem_env("duel:Nim-v0")
except ArgumentError as error:
    result["several"] = str(error)
try:
    gem_env("game:NoSuch-v0")
except gem.errors.GemError as error:
    result["unknown"] = str(error)
print(json.dumps(result))
"""


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_inspect_plays_and_scores_an_environment(published: Callable[..., Path], tmp_path: Path) -> None:
    """A model that halves wins each seed, with GEM's own texts and rewards; one without an answer gets the penalty."""
    python = str(published("inspect-ai==0.3.285", ours=True))
    done = subprocess.run(
        [python, "-c", SCRIPT, str(tmp_path / "logs")], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    listed = subprocess.run(
        [python, "-m", "inspect_ai", "eval", "gem_bridges/gem_env", "-T", "env_id=game:NoSuch-v0"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    wins, loses = result["wins"], result["loses"]
    assert (wins["status"], wins["ids"], wins["values"], wins["mean"]) == ("success", [5, 6, 7], [1.0] * 3, 1.0)
    assert all(info["success"] for info in wins["infos"])
    assert result["replayed"] == [[1.0, True]] * 3
    assert (loses["status"], loses["values"]) == ("success", [-0.1] * 2)
    assert result["cut"]["values"] == [0.0]
    assert "several agents" in result["several"]
    assert "game:NoSuch-v0" in result["unknown"]
    assert "game:NoSuch-v0" in listed.stdout + listed.stderr
